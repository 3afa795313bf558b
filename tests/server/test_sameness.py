"""MOD-22: a model that only repeats itself is stopped, and no other one."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from hypothesis import example, given
from hypothesis import strategies as st

from remit_server.models.local.provider import ended_alike
from remit_server.models.ports import Finished, ModelEvent, PromptRead, TextDelta
from remit_server.models.profile import TINY
from remit_server.models.sameness import ENOUGH, LONGEST_PERIOD, TIMES, Sameness, end_where_alike, goes_on_alike

PIECES = st.text(st.sampled_from("ab\n "), min_size=1, max_size=LONGEST_PERIOD + 20)


def is_alike(text: str, least: int) -> bool:
    """Returns whether the end of the text repeats itself, by trying every period."""
    tail = text[-least:]
    periods = range(1, min(LONGEST_PERIOD, least // TIMES) + 1)
    return len(tail) == least and any(tail[period:] == tail[:-period] for period in periods)


@given(PIECES, st.integers(0, 400), st.text(max_size=50), st.sampled_from([400, ENOUGH]))
@example("a", 0, "", 400)
@example("a", 0, "b", ENOUGH)
def test_MOD_22_it_is_found_as_the_obvious_way_finds_it(piece: str, more: int, behind: str, least: int) -> None:
    text = (piece * (least + more))[: least + more] + behind
    assert goes_on_alike(text, least) == is_alike(text, least)


@given(st.text("abcd(\n ", min_size=9, max_size=60), st.integers(0, 10_000), st.integers(0, 20))
def test_MOD_22_the_smallest_models_are_not_heard_while_they_count(piece: str, first: int, behind: int) -> None:
    """Only the smallest model is stopped: for larger ones it may be a long table in a program. So may a list of only
    numbers."""
    text = "".join(f"{piece}{first + number}" for number in range(400))
    cut = text[: len(text) - behind]
    assert goes_on_alike(cut, TINY.alike) == (sum(map(str.isalpha, piece)) >= 8)
    assert not goes_on_alike(cut, ENOUGH)
    assert not goes_on_alike(f"{cut} and so on", TINY.alike)


def test_MOD_22_it_is_not_looked_for_with_every_token() -> None:
    heard = Sameness()
    looked = [heard.take(TextDelta("a")) for _ in range(2 * ENOUGH)]
    assert looked.index(True) >= ENOUGH
    assert looked.count(True) < ENOUGH / 20
    assert heard.length == 2 * ENOUGH


async def said(*events: ModelEvent) -> AsyncGenerator[ModelEvent]:
    for event in events:
        yield event


async def test_MOD_22_a_model_on_this_machine_is_stopped_too() -> None:
    """The result has the tokens up to then; closing the stream stops the process."""
    alike = [TextDelta("ab, ") for _ in range(1_000)]
    heard = [
        each
        async for each in end_where_alike(said(PromptRead(9, 9), *alike, Finished("length")), TINY.alike, ended_alike)
    ]
    last = heard[-1]
    assert isinstance(last, Finished)
    assert (last.reason, last.prompt_tokens, last.completion_tokens) == ("alike", 9, len(heard) - 2)
    assert TINY.alike <= 4 * last.completion_tokens < TINY.alike + 100
    differing = [TextDelta(f"{number}, ") for number in range(1_000)]
    assert (
        len([each async for each in end_where_alike(said(*differing, Finished("stop")), TINY.alike, ended_alike)])
        == 1_001
    )
