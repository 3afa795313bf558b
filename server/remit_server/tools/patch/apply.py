"""Hunks applied to a text: every old line has to be there, exactly; where it stands may differ from what the diff says.

A hunk goes to the line it names. Where that is not it, it goes to the only place that fits; where several fit it is
refused, since a patch at the wrong place is worse than none (agent.md §2, `apply_diff`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from remit_server.tools.patch.parse import Hunk

Trouble = Literal["missing", "ambiguous", "overlaps"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A hunk at its place: lines `start` to `end` (from 0, end exclusive), and how far that is from the named line."""

    hunk: Hunk
    start: int
    drift: int

    @property
    def end(self) -> int:
        """The line after the last old one."""
        return self.start + len(self.hunk.old)


@dataclass(frozen=True, slots=True)
class Failed:
    """A hunk without a place. `lines` are the places, from 1, of which none can be preferred."""

    hunk: Hunk
    trouble: Trouble
    lines: tuple[int, ...] = ()


@dataclass(slots=True)
class _Text:
    lines: Sequence[str]
    where: Mapping[str, Sequence[int]] = field(default_factory=dict[str, list[int]])


def place(content: str, hunks: Sequence[Hunk]) -> tuple[Placed | Failed, ...]:
    """Where each hunk goes in `content`, whose line ends are LF."""
    text = _read(content)
    placed: list[Placed | Failed] = []
    drift = 0
    for hunk in hunks:
        found = _place(text, hunk, drift)
        if isinstance(found, Placed):
            drift = found.drift
            if any(isinstance(other, Placed) and _overlap(found, other) for other in placed):
                found = Failed(hunk, "overlaps", (found.start + 1,))
        placed.append(found)
    return tuple(placed)


def applied(content: str, placed: Sequence[Placed]) -> str:
    """`content` with each hunk's old lines replaced by its new ones."""
    lines = content.split("\n")
    # A text that ends with a line end has nothing behind it; one that does not, has a last line without one.
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


def _place(text: _Text, hunk: Hunk, drift: int) -> Placed | Failed:
    if not hunk.old:
        # An insertion without context can only go by its number.
        at = 0 if not text.lines else hunk.start
        if at is None or at > len(text.lines):
            return Failed(hunk, "missing")
        return Placed(hunk, at, 0)
    named = None if hunk.start is None else hunk.start - 1
    if named is not None:
        for shift in dict.fromkeys((0, drift)):
            if _fits(text.lines, hunk.old, named + shift):
                return Placed(hunk, named + shift, shift)
    fitting = _fitting(text, hunk.old)
    match fitting:
        case []:
            return Failed(hunk, "missing")
        case [start]:
            return Placed(hunk, start, 0 if named is None else start - named)
        case _:
            return Failed(hunk, "ambiguous", tuple(start + 1 for start in fitting[:10]))


def _fitting(text: _Text, old: Sequence[str]) -> list[int]:
    """Every place at which these lines stand, looked for by the rarest of them."""
    rarest = min(range(len(old)), key=lambda n: len(text.where.get(old[n], ())))
    starts = (number - rarest for number in text.where.get(old[rarest], ()))
    return [start for start in starts if _fits(text.lines, old, start)]


def _fits(lines: Sequence[str], old: Sequence[str], start: int) -> bool:
    return start >= 0 and tuple(lines[start : start + len(old)]) == tuple(old)


def _overlap(one: Placed, other: Placed) -> bool:
    if one.start == one.end or other.start == other.end:
        return (
            other.start < one.start < other.end
            or one.start < other.start < one.end
            or (one.start == other.start and one.end == other.end)
        )
    return one.start < other.end and other.start < one.end
