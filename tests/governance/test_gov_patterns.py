"""The `redact` patterns of a policy file, which describe the person's own secrets (POL-01)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_governance.errors import PolicyError
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.load import default_source
from remit_governance.rulebook import Rulebook
from remit_governance.secrets.redaction import Redactor
from remit_governance.secrets.secret_patterns import MAX_LENGTH, SecretPattern

TICKET = "redact:\n  - { name: ticket, pattern: 'TICKET-\\d+' }\n"
BADGE = "redact: [{ name: staff badge, pattern: '(?i)badge [0-9]{4}(\\s[0-9]{4})+' }]\n"


def redactor(*texts: str, project: str = "") -> Redactor:
    sources = [*(Source(f"{n}.yaml", text) for n, text in enumerate(texts)), Source("project.yaml", project, True)]
    return Redactor(in_force=Rulebook(compile_policy(sources)))


def test_a_pattern_of_the_policy_is_taken_out_and_named() -> None:
    redacted = redactor(TICKET, BADGE).redact("see TICKET-42, badge 1234 5678 and ghp_" + "a1" * 18)
    assert redacted == "see [redacted ticket], [redacted staff badge] and [redacted github token]"


def test_a_projects_policy_may_add_patterns_and_takes_none_away() -> None:
    both = redactor(TICKET, project=BADGE)
    assert both.redact("TICKET-1 badge 1234 5678") == "[redacted ticket] [redacted staff badge]"
    assert redactor(TICKET, project="redact: []\n").redact("TICKET-1") == "[redacted ticket]"


def test_a_reload_replaces_the_patterns_of_a_redactor_in_use() -> None:
    rulebook = Rulebook(compile_policy([Source("p", TICKET)]))
    using = Redactor(in_force=rulebook)
    assert using.redact("TICKET-1 badge 1234 5678") == "[redacted ticket] badge 1234 5678"
    changed = compile_policy([Source("p", BADGE)])
    rulebook.replace(changed, rulebook.permissions)
    assert using.redact("TICKET-1 badge 1234 5678") == "TICKET-1 [redacted staff badge]"


def test_what_follows_keeps_its_line() -> None:
    assert redactor(BADGE).redact("badge 1234\n5678\nend", keep_lines=True) == "[redacted staff badge]\n\nend"


@rows("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*x", "(?s).*.*.*=z", "a{1,300}b{1,300}c"])
def test_THR_redaction_no_pattern_takes_exponential_time(pattern: str) -> None:
    """A backtracking engine would need years; a pattern that takes too long fails by the test's time-out."""
    SecretPattern("x", pattern).redact(b"a" * 500_000 + b"!", keep_lines=False)


@rows(
    "pattern",
    [
        "(?=x)y",
        "(?<!x)y",
        "(\\w)\\1",
        "(",
        "x{1001}",
        "(((x{30}){30}){30}){30}",
        "a{1000}b{1000}",
        "x*",
        "x" * (MAX_LENGTH + 1),
        "\ud800",
    ],
)
def test_a_pattern_that_cannot_be_relied_on_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="the pattern"):
        SecretPattern("x", pattern)


@rows(
    ("text", "message"),
    [
        ("redact: [{ name: a, pattern: '(' }]", "the pattern `(` cannot be used"),
        ("redact: [{ name: a, patern: x }]", "unknown key `patern`"),
        ("redact: [{ name: a }]", "the key `pattern` is missing"),
        ("redact: [{ name: '[x]', pattern: x }]", "`name: [x]` is not right"),
        ("redact: [{ name: a, pattern: 7 }]", "`pattern: 7` is not right"),
        ("redact: { name: a, pattern: x }", "`redact` is not right"),
    ],
)
def test_a_wrong_entry_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(PolicyError) as refused:
        compile_policy([Source("p.yaml", text)])
    assert any(message in problem.message and problem.file == "p.yaml" for problem in refused.value.problems)


def test_another_pattern_is_another_policy() -> None:
    one, two = (compile_policy([default_source(), Source("p", text)]) for text in (TICKET, BADGE))
    assert one.version != two.version
    assert one.redact == (SecretPattern("ticket", "TICKET-\\d+"),)


@given(st.text(alphabet="TICKET-0123 \n\ud800é€\0", max_size=80))
def test_text_of_any_kind_comes_out_without_a_match(text: str) -> None:
    """The text may contain lone surrogates; a text without a match comes out unchanged."""
    redacted = redactor(TICKET).redact(text)
    assert "TICKET-0" not in redacted
    assert redacted == text or "[redacted ticket]" in redacted
