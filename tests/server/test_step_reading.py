"""A step that arrives as one JSON value is read while it arrives (MOD-12)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.rows import rows

from remit_server.errors import ModelFailed
from remit_server.models.ports import CallProposed, TextDelta
from remit_server.models.steps.held import StepReader


def read(pieces: Sequence[str], ended: str = "stop") -> tuple[str, list[str] | str]:
    """Returns the text, and the names of the calls or the reason why the answer is no step."""
    reader, told = StepReader(), ""
    for piece in pieces:
        told += "".join(delta.text for delta in reader.feed(piece))
    try:
        rest = list(reader.finish(ended))  # type: ignore[arg-type]
    except ModelFailed as error:
        return told, error.why
    told += "".join(each.text for each in rest if isinstance(each, TextDelta))
    return told, [each.call.name for each in rest if isinstance(each, CallProposed)]


def cut(text: str, places: Sequence[int]) -> list[str]:
    return [text[begin:end] for begin, end in pairwise([0, *sorted(at % (len(text) + 1) for at in places), len(text)])]


ANSWERS = st.text(max_size=40) | st.text(alphabet='a"\\/\n\t{}é😀', max_size=40)
BEFORE = st.sampled_from(
    ["", "  \n", '"intent": "CODE", ', '"a": "\\"answer\\": \\"", ', '"a": {"answer": "no"}, ', '"answer":"a",']
)


@given(ANSWERS, BEFORE, st.booleans(), st.lists(st.integers(0, 200), max_size=8))
@example("😀", "", True, [13, 16, 19, 22])
@example("a\\", "", True, [12, 13, 14])
@settings(max_examples=200)
def test_MOD_12_an_answer_is_told_the_same_however_it_is_cut(
    answer: str, before: str, escaped: bool, places: Sequence[int]
) -> None:
    more, space = (before, "") if before.strip() else ("", before)
    text = f'{space}{{{more}"answer": {json.dumps(answer, ensure_ascii=escaped)}}}'
    try:
        text.encode()
    except UnicodeEncodeError:
        return  # a lone surrogate, which JSON text cannot hold
    whole = read([text])
    assert read(cut(text, places)) == whole == read(list(text))
    if '"answer":"a"' not in more:
        assert whole == (answer, [])


@given(st.text(alphabet='{}[]":,\\answer u0d83e\n', max_size=60), st.lists(st.integers(0, 200), max_size=8))
def test_MOD_12_what_is_no_step_is_told_the_same_however_it_is_cut(text: str, places: Sequence[int]) -> None:
    assert read(cut(text, places)) == read([text])
    assert read(cut('{"answer": "' + text, places), "length") == read(['{"answer": "' + text], "length")


@rows("text", [r'{"answer": "a\ud83d"}', '{"answer": "a\nb"}', r'{"answer": "a\x"}', '{"answer": "a" b}'])
def test_MOD_12_an_answer_is_told_as_far_as_it_is_json_and_is_no_step(text: str) -> None:
    told, why = read(list(text))
    assert told == "a"
    assert isinstance(why, str)
