"""MOD-22: a model that only repeats itself is stopped, and no other."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from remit_server.models.remote.sameness import ENOUGH, LONGEST_PERIOD, goes_on_alike

PIECES = st.text(st.sampled_from("ab\n "), min_size=1, max_size=LONGEST_PERIOD + 20)


def is_alike(text: str) -> bool:
    """The obvious way: every period is tried."""
    tail = text[-ENOUGH:]
    periods = range(1, LONGEST_PERIOD + 1)
    return len(tail) == ENOUGH and any(tail[period:] == tail[:-period] for period in periods)


@given(PIECES, st.integers(0, 400), st.text(max_size=50))
@example("a", 0, "")
@example("a", 0, "b")
def test_MOD_22_it_is_found_as_the_obvious_way_finds_it(piece: str, more: int, behind: str) -> None:
    text = (piece * (ENOUGH + more))[: ENOUGH + more] + behind
    assert goes_on_alike(text, 0) == is_alike(text)


def test_MOD_22_it_is_not_looked_for_with_every_token() -> None:
    text = "ab" * ENOUGH
    assert goes_on_alike(text, 0)
    assert not goes_on_alike(text, len(text) - 1)
