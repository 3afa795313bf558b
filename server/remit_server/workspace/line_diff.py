"""Finds the lines that two texts share, as a patience diff does; pure.

Lines that occur once on each side are matched first: the longest sequence of them with the same order on both sides.
The parts between them are compared again. So the time grows with the length of the texts and not with the product of
their changes.

Also finds a longest common subsequence of two sequences, with a few operations on integers for each element.

The integers have a bit for each element of the other sequence (Hyyrö 2004), so that two sequences of some thousand
elements take milliseconds, whatever the elements are.

Also takes a change back, hunk by hunk, out of a text that others have changed since (SES-05).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

MAX_COMPARED = 16_000
"""The limit of lines, none of them unique, that are compared with each other."""
MOST_PASSES = 40
"""The limit of how often, on average, a line takes part in a search for unique lines. A text can be crafted so that
each search finds one line only; past the limit, the rest counts as having nothing in common."""

_STRIDE = 64
_Lines = Sequence[str]


class Run(NamedTuple):
    """Common lines: `size` lines from line `old` and from line `new`, counted from 0."""

    old: int
    new: int
    size: int


class Edit(NamedTuple):
    """Lines `old` to `old_end` of the old text that became `new` to `new_end` of the new one; either may be empty."""

    old: int
    old_end: int
    new: int
    new_end: int


def common_runs(old: _Lines, new: _Lines) -> list[Run]:
    """Returns the maximal runs of common lines, in order."""
    runs: list[Run] = []
    for run in sorted(run for run in _runs(old, new) if run.size):
        last = runs[-1] if runs else Run(0, 0, 0)
        if runs and (last.old + last.size, last.new + last.size) == (run.old, run.new):
            runs[-1] = Run(last.old, last.new, last.size + run.size)
        else:
            runs.append(run)
    return runs


def line_edits(old: _Lines, new: _Lines) -> list[Edit]:
    """Returns the edits between the common lines, in order."""
    runs = [Run(0, 0, 0), *common_runs(old, new), Run(len(old), len(new), 0)]
    edits = (Edit(a.old + a.size, b.old, a.new + a.size, b.new) for a, b in pairwise(runs))
    return [edit for edit in edits if edit.old < edit.old_end or edit.new < edit.new_end]


def _runs(old: _Lines, new: _Lines) -> Iterator[Run]:
    """Yields all runs, in no order; one run may come in parts."""
    left = [(0, len(old), 0, len(new))]
    looks = MOST_PASSES * (len(old) + len(new))
    while left:
        start, end, new_start, new_end = left.pop()
        looks -= end - start + new_end - new_start
        if looks < 0:
            return
        head = _same(old, new, start, new_start, min(end - start, new_end - new_start))
        yield Run(start, new_start, head)
        start, new_start = start + head, new_start + head
        tail = _same_end(old, new, end, new_end, min(end - start, new_end - new_start))
        end, new_end = end - tail, new_end - tail
        yield Run(end, new_end, tail)
        if start == end or new_start == new_end:
            continue
        anchors = _anchors(old, new, range(start, end), range(new_start, new_end))
        if not anchors:
            yield from _compare(old, new, (start, end, new_start, new_end))
            continue
        for at, there in (*anchors, (end, new_end)):
            if at < start:  # the preceding run covers it
                continue
            back = _same_end(old, new, at, there, min(at - start, there - new_start))
            on = _same(old, new, at, there, min(end - at, new_end - there))
            yield Run(at - back, there - back, back + on)
            if start < at - back and new_start < there - back:
                left.append((start, at - back, new_start, there - back))
            start, new_start = at + on, there + on


def _anchors(old: _Lines, new: _Lines, here: range, there: range) -> list[tuple[int, int]]:
    """Returns the places of lines that are unique on both sides, as far as their order agrees."""
    once, once_new = _unique(old, here), _unique(new, there)
    pairs = [(at, once_new[line]) for line, at in once.items() if at >= 0 and once_new.get(line, -1) >= 0]
    return pairs if all(a[1] < b[1] for a, b in pairwise(pairs)) else _longest_increasing(pairs)


def _unique(lines: _Lines, places: range) -> dict[str, int]:
    """Maps each line to its place, or to -1 if it occurs several times."""
    found: dict[str, int] = {}
    for at in places:
        line = lines[at]
        found[line] = -1 if line in found else at
    return found


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the longest subsequence of the pairs in which the second numbers increase (Fredman 1975)."""
    tops: list[int] = []
    top_pairs: list[int] = []
    before: list[int] = []
    for at, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        tops[pile : pile + 1] = [place]
        top_pairs[pile : pile + 1] = [at]
        before.append(top_pairs[pile - 1] if pile else -1)
    chosen: list[tuple[int, int]] = []
    at = top_pairs[-1] if top_pairs else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]


def _compare(old: _Lines, new: _Lines, part: tuple[int, int, int, int]) -> Iterable[Run]:
    """Compares lines none of which is unique, each with each; past the limit it reports nothing in common."""
    start, end, new_start, new_end = part
    if end - start + new_end - new_start > MAX_COMPARED:
        return
    pairs = common_pairs(old[start:end], new[new_start:new_end])
    yield from (Run(start + at, new_start + there, 1) for at, there in pairs)


def _same(old: _Lines, new: _Lines, at: int, there: int, most: int) -> int:
    """Counts the equal lines from two places on, at most `most`."""
    size = 0
    while size < most and old[at + size : at + size + _STRIDE] == new[there + size : there + size + _STRIDE]:
        size += _STRIDE
    while size < most and old[at + size] == new[there + size]:
        size += 1
    return min(size, most)


def _same_end(old: _Lines, new: _Lines, end: int, new_end: int, most: int) -> int:
    """Counts the equal lines before two places, at most `most`."""
    size = 0
    while size < most and old[end - 1 - size] == new[new_end - 1 - size]:
        size += 1
    return size


def common_pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Yields the places of the common elements in both, the last ones first."""
    rows = list(_rows(old, new))
    at, there = len(old), len(new)
    while at and there:
        if rows[at - 1] >> (there - 1) & 1:
            there -= 1
        elif at > 1 and not rows[at - 2] >> (there - 1) & 1:
            at -= 1
        else:
            at, there = at - 1, there - 1
            yield at, there


def common_length(old: Sequence[Hashable], new: Sequence[Hashable]) -> int:
    """Returns how many elements both have in common, in the same order."""
    last = deque(_rows(old, new), maxlen=1)
    return len(new) - last[0].bit_count() if last else 0


def _rows(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[int]:
    """Yields for each prefix of the old sequence a number in which a bit is clear where the common length grows."""
    places: dict[Hashable, int] = defaultdict(int)
    for at, each in enumerate(new):
        places[each] |= 1 << at
    row = all_ones = (1 << len(new)) - 1
    for each in old:
        matched = row & places.get(each, 0)
        row = (row + matched | row - matched) & all_ones
        yield row


@dataclass(frozen=True, slots=True)
class Merged:
    """A text in which `done` hunks were taken back, and `left` were not: others changed the same lines."""

    data: bytes
    done: int
    left: int


def take_back(after: bytes, before: bytes, now: bytes) -> Merged:
    """Takes the change from `before` to `after` out of `now`. Lines that others changed stay as they are.

    A hunk is taken back whole or not at all. A hunk that others have taken back already is not counted.
    """
    base, wanted, current = _lines(after), _lines(before), _lines(now)
    theirs = line_edits(base, current)
    out: list[str] = []
    at = done = left = 0
    for mine in line_edits(base, wanted):
        meeting = [edit for edit in theirs if _meet(mine, edit)]
        start = mine.old + _shift(theirs, mine)
        end = start + mine.old_end - mine.old
        piece = wanted[mine.new : mine.new_end]
        if meeting or not _fits(current[start - 1 : start], piece, current[end : end + 1]):
            left += 0 if _is_out(mine, meeting, wanted, current) else 1
            continue
        out += [*current[at:start], *piece]
        at = end
        done += 1
    return Merged("".join([*out, *current[at:]]).encode("latin-1"), done, left)


def _meet(one: Edit, other: Edit) -> bool:
    """Returns whether both edits change one line, or both insert at the same place."""
    if one.old == one.old_end and other.old == other.old_end:
        return one.old == other.old
    return one.old < other.old_end and other.old < one.old_end


def _is_out(mine: Edit, meeting: list[Edit], wanted: list[str], current: list[str]) -> bool:
    """Returns whether the only meeting edit of the others is the same as `mine`."""
    if len(meeting) != 1:
        return False
    (edit,) = meeting
    same = (edit.old, edit.old_end) == (mine.old, mine.old_end)
    return same and current[edit.new : edit.new_end] == wanted[mine.new : mine.new_end]


def _fits(above: list[str], piece: list[str], below: list[str]) -> bool:
    """Returns whether inserting `piece` joins no two lines; that happens because the last line of a text may have no
    line end. `above` and `below` hold at most one line."""
    return not piece or ((not above or _ends(above)) and (not below or _ends(piece)))


def _ends(lines: list[str]) -> bool:
    return lines[-1].endswith("\n")


def _shift(theirs: list[Edit], mine: Edit) -> int:
    """Returns by how many lines the others' edits moved the place of `mine`. What they inserted right before it stays
    there."""
    return sum((edit.new_end - edit.new) - (edit.old_end - edit.old) for edit in theirs if edit.old_end <= mine.old)


def _lines(data: bytes) -> list[str]:
    """Returns lines with their ends; each byte is a character, so that no encoding matters."""
    *whole, last = data.decode("latin-1").split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])
