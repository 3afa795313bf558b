"""Applies hunks to a text: every old line must be there exactly, but may be at another line than the diff says.

A hunk goes to the line that it names, or as far from there as the hunk before it had to go. If it fits neither, it goes
to the only place where it fits; if several places fit, it is refused, because a patch at the wrong place is worse than
none (`apply_diff`; TOOL-05).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Literal

from remit_server.tools.edit.patch.envelope import Hunk

Trouble = Literal["missing", "ambiguous", "overlaps", "repetitive"]

MOST_COMPARED = 1_000_000
"""How many lines are compared to place the hunks of one file. In a file of repeated lines, each hunk could fit at many
places."""
MOST_TOLD = 10


@dataclass(frozen=True, slots=True)
class Placed:
    """A hunk at its place: lines `start` to `end` (from 0, end exclusive), and `drift`, the distance from the named
    line."""

    hunk: Hunk
    start: int
    drift: int

    @property
    def end(self) -> int:
        """The line after the last old line."""
        return self.start + len(self.hunk.old)


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A hunk without a place. `lines` are the possible places, from 1, none of which is better than the others."""

    hunk: Hunk
    trouble: Trouble
    lines: tuple[int, ...] = ()


@dataclass(slots=True)
class _Text:
    lines: Sequence[str]
    where: Mapping[str, Sequence[int]] = field(default_factory=dict[str, list[int]])
    left: int = MOST_COMPARED

    def holds(self, hunk: Hunk, start: int) -> bool:
        """Returns whether a hunk's old lines are at a place; False if no comparisons are left."""
        end = start + len(hunk.old)
        self.left -= len(hunk.old)
        # Only a file's last line can lack a line end.
        fits = start >= 0 and self.left >= 0 and tuple(self.lines[start:end]) == hunk.old
        return fits and (not hunk.at_end or end == len(self.lines))


def place(content: str, hunks: Sequence[Hunk]) -> tuple[Placed | Unplaced, ...]:
    """Returns the place of each hunk in `content`, whose line ends are LF."""
    text = _read(content)
    found: list[Placed | Unplaced | None] = []
    drift = 0
    for hunk in hunks:
        at = _place(text, hunk, drift) if hunk.old else None
        drift = at.drift if isinstance(at, Placed) and hunk.start is not None else drift
        found.append(at)
    drifts = [each.drift if isinstance(each, Placed) and each.hunk.start is not None else None for each in found]
    placed: list[Placed | Unplaced] = []
    taken: list[Placed] = []
    for number, hunk in enumerate(hunks):
        each = found[number] or _insertion(text, hunk, _drift_bounds(drifts, number))
        if isinstance(each, Placed) and not _take(taken, each):
            each = Unplaced(hunk, "overlaps", (each.start + 1,))
        placed.append(each)
    return tuple(placed)


def _take(taken: list[Placed], each: Placed) -> bool:
    """Adds a place to the taken ones, which are in order. Returns False if it overlaps one, which must be a
    neighbour."""
    at = bisect_left(taken, (each.start, each.end), key=lambda other: (other.start, other.end))
    if any(_overlap(each, other) for other in taken[max(0, at - 2) : at + 2]):
        return False
    taken.insert(at, each)
    return True


def apply_hunks(content: str, placed: Sequence[Placed]) -> str:
    """Returns `content` with each hunk's old lines replaced by its new ones."""
    lines = content.split("\n")
    # A text that ends with a line end splits into one empty text at the end, which is no line.
    body, ended = (lines[:-1], True) if lines[-1] == "" else (lines, False)
    for each in sorted(placed, key=lambda p: (p.start, p.end), reverse=True):
        last = each.end >= len(body)
        body[each.start : each.end] = each.hunk.new
        if last:
            said = each.hunk.ended[1]
            ended = ended if said is None else said
    return "\n".join(body) + ("\n" if body and ended else "")


def _read(content: str) -> _Text:
    lines = content.split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    where: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        where[line].append(number)
    return _Text(lines, where)


def _place(text: _Text, hunk: Hunk, drift: int) -> Placed | Unplaced:
    named = None if hunk.start is None else hunk.start - 1
    if named is not None:
        # If both the named line and the line moved by the drift fit, neither is better.
        near = [shift for shift in dict.fromkeys((0, drift)) if text.holds(hunk, named + shift)]
        if len(near) > 1:
            return Unplaced(hunk, "ambiguous", tuple(sorted(named + shift + 1 for shift in near)))
        if near:
            return Placed(hunk, named + near[0], near[0])
    fitting = _fitting(text, hunk)
    if text.left < 0:
        return Unplaced(hunk, "repetitive")
    match fitting:
        case []:
            return Unplaced(hunk, "missing")
        case [start]:
            return Placed(hunk, start, 0 if named is None else start - named)
        case _:
            return Unplaced(hunk, "ambiguous", tuple(start + 1 for start in fitting))


def _drift_bounds(drifts: Sequence[int | None], number: int) -> tuple[int, int]:
    """Returns the drifts of the nearest placed hunks before and after one; the drift is 0 at the file's beginning."""
    before = next((drift for drift in reversed(drifts[:number]) if drift is not None), 0)
    return before, next((drift for drift in drifts[number:] if drift is not None), before)


def _insertion(text: _Text, hunk: Hunk, around: tuple[int, int]) -> Placed | Unplaced:
    """Returns the place of an insertion without context, by its line number and the drift of its neighbours."""
    if not text.lines or hunk.start == 0:
        return Placed(hunk, 0, 0)
    if hunk.start is None:
        return Unplaced(hunk, "missing")
    first, second = (hunk.start + drift for drift in around)
    if first != second:
        return Unplaced(hunk, "ambiguous", tuple(sorted((first + 1, second + 1))))
    if not text.holds(hunk, first) or first > len(text.lines):
        return Unplaced(hunk, "missing")
    return Placed(hunk, first, around[0])


def _fitting(text: _Text, hunk: Hunk) -> list[int]:
    """Returns the first places where the hunk's old lines are, found by the rarest of these lines."""
    rarest = min(range(len(hunk.old)), key=lambda n: len(text.where.get(hunk.old[n], ())))
    starts = (number - rarest for number in text.where.get(hunk.old[rarest], ()))
    within = takewhile(lambda _: text.left >= 0, starts)
    return list(islice((start for start in within if text.holds(hunk, start)), MOST_TOLD))


def _overlap(one: Placed, other: Placed) -> bool:
    if one.start == one.end or other.start == other.end:
        return (
            other.start < one.start < other.end
            or one.start < other.start < one.end
            or (one.start == other.start and one.end == other.end)
        )
    return one.start < other.end and other.start < one.end
