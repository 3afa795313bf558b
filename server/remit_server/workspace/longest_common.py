"""Finds a longest common subsequence of two sequences, in a few operations on whole numbers for each element; pure.

The numbers have a bit for each element of the other sequence (Hyyrö 2004), so that two of some thousand elements take
milliseconds, whatever is in them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence


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
    """Yields for each beginning of the old sequence a number without the bits where the common length grows."""
    places: dict[Hashable, int] = defaultdict(int)
    for at, each in enumerate(new):
        places[each] |= 1 << at
    row = all_ones = (1 << len(new)) - 1
    for each in old:
        matched = row & places.get(each, 0)
        row = (row + matched | row - matched) & all_ones
        yield row
