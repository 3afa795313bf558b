"""What a model is shown at a cursor, and what of its answer is offered (LSP-12)."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from rows import rows

from remit_server.models.ports import Gap
from remit_server.runtime.gap import MOST_AFTER, MOST_BEFORE, STEP, fit, gap_at, has_ended

TEXTS = st.text(st.sampled_from("ab ()\n\t:}é🙂\u200b\u202e\x1b\r"), max_size=200)
GAPS = st.builds(Gap, TEXTS, TEXTS)

ANSWERS = {
    "up to a blank line": (Gap("def f():\n    ", ""), "x = 1\n    y = 2\n\n    z = 3", "x = 1\n    y = 2"),
    "while it is not further to the left": (Gap("def f():\n    ", "\n"), "return 1\ndef g():", "return 1"),
    "one line where more follows in it": (Gap("f(", ")\ng()"), "1, 2\nx", "1, 2"),
    "not what follows": (Gap("f(", ")\n"), "1, 2)", "1, 2"),
    "nor whole lines that follow": (Gap("if a:\n    ", "\n    return b\n"), "b = 1\n    return b", "b = 1"),
    "nor those behind a blank line": (Gap("a = [\n    ", "\n\n]\n"), "1,\n    ]", "1,"),
    "nothing where only that was said": (Gap("f(1", ")"), ")", ""),
    "without what hides": (Gap("x = ", ""), "a\u202e\x1b[31mb\u200b\r\n", "a[31mb"),
    "a new line below the cursor's": (Gap("def f():", ""), "\n    return 1\n    ", "\n    return 1"),
    "tabs count": (Gap("if a {\n\t", "\n}"), "b()\n\tc()\n}", "b()\n\tc()"),
}


@rows("case", ANSWERS)
def test_LSP_12_an_answer_is_offered(case: str) -> None:
    gap, said, offered = ANSWERS[case]
    assert fit(said, gap) == offered


@given(TEXTS, GAPS)
def test_LSP_12_what_is_offered_is_a_beginning_of_the_answer_and_hides_nothing(said: str, gap: Gap) -> None:
    offered = fit(said, gap)
    clean = "".join(c for c in said if c not in "\u200b\u202e\x1b\r")
    assert clean.startswith(offered)
    assert "\n\n" not in offered.removeprefix("\n")
    if gap.after.split("\n", 1)[0].strip():
        assert "\n" not in offered


@given(TEXTS, GAPS)
def test_LSP_12_what_the_document_has_behind_the_cursor_is_not_offered_again(said: str, gap: Gap) -> None:
    assert len(fit(said + gap.after, gap)) <= len(said)


@given(TEXTS, TEXTS, GAPS)
def test_LSP_12_an_answer_that_has_ended_is_offered_the_same_however_it_goes_on(said: str, more: str, gap: Gap) -> None:
    if has_ended(said, gap):
        assert fit(said, gap) == fit(said + more, gap)


@given(st.integers(0, 30), st.integers(0, 400), st.integers(0, 30_000), st.none() | st.integers(64, 20_000))
@example(28, 219, 229, 64)  # the cursor's line alone is longer than what may be shown
def test_LSP_12_a_bounded_part_of_the_document_is_shown(
    width: int, lines: int, offset: int, window: int | None
) -> None:
    text = ("x" * width + "\n") * lines
    offset = min(offset, len(text))
    gap = gap_at(text, offset, window)
    assert text[:offset].endswith(gap.before)
    assert text[offset:].startswith(gap.after)
    assert len(gap.before) <= MOST_BEFORE
    assert len(gap.after) <= MOST_AFTER
    if window is not None:
        assert len(gap.before) + len(gap.after) <= 2 * window
    if len(gap.before) < offset:
        assert "\n" not in gap.before or text[offset - len(gap.before) - 1] == "\n"


def test_LSP_12_the_beginning_that_is_shown_stays_the_same_over_many_keys() -> None:
    """So that what the model has read of it is used again."""
    text = "a line of code\n" * 2_000
    begins = {offset - len(gap_at(text, offset).before) for offset in range(20_000, 20_000 + STEP)}
    assert len(begins) <= 2
