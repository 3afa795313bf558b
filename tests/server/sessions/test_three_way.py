"""SES-05: a change is taken back out of a text, hunk by hunk; what others have written since stays."""

from __future__ import annotations

from collections import Counter

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from obvious_undo import obvious_take_back
from rows import rows

from remit_server.workspace.line_diff import take_back

LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"\xff\x00", b"d\r"]), max_size=12).map(b"\n".join)


@st.composite
def unique_texts(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    """Draws a text, the text before a change, and the text after others have edited it; no line occurs twice."""
    after = [f"l{n}" for n in range(draw(st.integers(0, 10)))]
    return after, edited(draw, after, "b"), edited(draw, after, "o")


def edited(draw: st.DrawFn, lines: list[str], mark: str) -> list[str]:
    made: list[str] = []
    for number, line in enumerate([*lines, None]):
        made += [f"{mark}{number}.{n}" for n in range(draw(st.sampled_from([0, 0, 0, 1, 2])))]
        if line is not None and draw(st.sampled_from([True, True, True, False])):
            made.append(line)
    return made


def text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.slow
@given(unique_texts())
@settings(max_examples=examples(1_000), deadline=None)
def test_SES_05_taken_back_as_a_second_implementation_does(texts: tuple[list[str], list[str], list[str]]) -> None:
    after, before, now = texts
    assert take_back(text(after), text(before), text(now)).data == text(obvious_take_back(after, before, now))


@given(LINES, LINES, LINES)
@settings(max_examples=examples(500), deadline=None)
def test_SES_05_no_line_that_somebody_typed_is_lost(after: bytes, before: bytes, now: bytes) -> None:
    kept = Counter(take_back(after, before, now).data.split(b"\n"))
    typed = Counter(now.split(b"\n")) - Counter(after.split(b"\n"))
    assert not typed - kept, "what is new in it is there still"


@given(LINES, LINES)
@settings(max_examples=examples(300), deadline=None)
def test_SES_05_what_nobody_changed_is_taken_back_whole_and_once(after: bytes, before: bytes) -> None:
    found = take_back(after, before, after)
    assert (found.data, found.left) == (before, 0)
    again = take_back(after, before, before)
    assert (again.data, again.left) == (before, 0)


@rows(
    ("after", "before", "now", "result"),
    [
        ("1 x 3", "1 2 3", "0 1 x 3 4", "0 1 2 3 4"),
        ("1 x 3", "1 2 3", "1 y 3", "1 y 3"),
        ("1 2 3", "1 3", "1 2 3 4", "1 3 4"),
        ("1 3", "1 2 3", "1 mine 3", "1 mine 3"),
        ("a x c y e", "a b c d e", "a x c mine e", "a b c mine e"),
        ("", "1 2", "mine", "mine"),
        ("new", "", "new mine", "mine"),
    ],
)
def test_SES_05_by_hand(after: str, before: str, now: str, result: str) -> None:
    found = take_back(*(text(each.split()) for each in (after, before, now)))
    assert found.data == text(result.split())


def test_SES_05_a_last_line_without_an_end_runs_into_nothing() -> None:
    found = take_back(b"1\n2", b"1\n2\n3", b"1\n2\nmine")
    assert found.data == b"1\n2\nmine"
    assert found.left == 1


def test_the_second_implementation_is_held_by_hand_too() -> None:
    assert obvious_take_back(["1", "x", "3"], ["1", "2", "3"], ["0", "1", "x", "3"]) == ["0", "1", "2", "3"]
    assert obvious_take_back(["1", "x", "3"], ["1", "2", "3"], ["1", "y", "3"]) == ["1", "y", "3"]
