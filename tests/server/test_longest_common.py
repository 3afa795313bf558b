"""The longest common subsequence is found with bounded work, and completely (APP-03, TOOL-04)."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from work_done import calls_made_by

from remit_server.workspace.line_diff import common_length, common_pairs

FEW = st.text("abc", max_size=30)


def most_in_common(old: str, new: str) -> int:
    """Returns the length of the longest common subsequence, in the obvious way."""
    before = [0] * (len(new) + 1)
    for one in old:
        now = [0]
        for at, other in enumerate(new):
            now.append(before[at] + 1 if one == other else max(before[at + 1], now[at]))
        before = now
    return before[-1]


@given(FEW, FEW)
def test_TOOL_04_the_most_is_found_that_the_obvious_way_finds(old: str, new: str) -> None:
    pairs = [*common_pairs(old, new)][::-1]
    assert len(pairs) == common_length(old, new) == most_in_common(old, new)
    assert all(old[at] == new[there] for at, there in pairs)
    assert all(one < other and before < behind for (one, before), (other, behind) in pairwise(pairs))


def test_TOOL_04_elements_that_repeat_themselves_take_no_more_work() -> None:
    old, new = "abc" * 1_000, "caa" * 1_000
    assert calls_made_by(lambda: list(common_pairs(old, new)), in_c=True) < 10 * len(old)
