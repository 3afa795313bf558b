"""The text around the cursor that a model gets, and the part of its answer that is offered (LSP-12)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rows import rows

from remit_governance.secrets.redaction import Redactor
from remit_server.models.ports import Gap
from remit_server.runtime.completing import MOST_AFTER, MOST_BEFORE, STEP, fit, gap_at, has_ended, redacted_gap

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
@example("\n\x1b", " :", Gap(" ", ""))  # hidden characters are no line to the left
def test_LSP_12_an_answer_that_has_ended_is_offered_the_same_however_it_goes_on(said: str, more: str, gap: Gap) -> None:
    if has_ended(said, gap):
        assert fit(said, gap) == fit(said + more, gap)


@given(st.integers(0, 30), st.integers(0, 400), st.integers(0, 30_000), st.none() | st.integers(64, 20_000))
@example(28, 219, 229, 64)  # the line with the cursor alone is longer than the limit
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
    """So that the model can reuse what it has already read."""
    text = "a line of code\n" * 2_000
    begins = {offset - len(gap_at(text, offset).before) for offset in range(20_000, 20_000 + STEP)}
    assert len(begins) <= 2


TOKEN = "ghp_" + "aB3dE5fG7h" * 3 + "xyz123"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + f"{'aB3d+5fG' * 8}\n" * 60 + "-----END RSA PRIVATE KEY-----\n"
LINE = "value = compute(1)\n"


@pytest.mark.parametrize("secret", [TOKEN, PEM], ids=["token", "pem"])
@pytest.mark.parametrize("filling", [LINE, "x"], ids=["lines", "one long line"])
@given(st.integers(-1_100, 100), st.sampled_from(["begin", "middle", "end"]), st.booleans())
def test_SEC_01_a_secret_is_whole_when_it_is_looked_for_wherever_a_completion_is_cut(
    secret: str, filling: str, nudge: int, part: str, behind: bool
) -> None:
    """The secret lies anywhere around the two cuts and the cursor; no eight characters of it in a row are shown."""
    far = (filling * 20_000)[:20_000]
    edge = (MOST_AFTER if behind else MOST_BEFORE) + nudge
    inner = {"begin": 0, "middle": len(secret) // 2, "end": len(secret)}[part]
    near = (filling * edge)[: max(0, edge - inner)]
    planted = f"\n{secret}\n" if filling == LINE else f" {secret} "
    text, offset = (
        (far + near + planted + far, len(far)) if behind else (far + planted + near, len(far + planted + near))
    )
    gap = redacted_gap(text, offset, Redactor().redact)
    assert gap is not None
    shown = gap.before + gap.after
    body = secret.replace("-----BEGIN RSA PRIVATE KEY-----", "").replace("-----END RSA PRIVATE KEY-----", "")
    assert not any(body[at : at + 8] in shown for at in range(min(len(body), 100) - 8))


@pytest.mark.parametrize("secret", [TOKEN, PEM], ids=["token", "pem"])
def test_SEC_01_nothing_is_completed_within_a_secret(secret: str) -> None:
    for at in range(1, len(secret) - 1, 1 + len(secret) // 60):
        gap = redacted_gap(f"k = '\n{secret}\n'", 6 + at, Redactor().redact)
        assert gap is None or secret[at - 4 : at + 4] not in gap.before + gap.after
