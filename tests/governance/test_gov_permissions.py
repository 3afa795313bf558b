"""Standing answers: they follow the seed's order, and only tighten (APP-06)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from rows import rows

from remit_governance.permissions.permissions import (
    PermissionConfig,
    Standing,
    StandingRule,
    decide,
    permits_standing,
    remember,
    standing_rule,
)
from remit_governance.permissions.remembered import sentence
from remit_governance.values import Action, Decision, Reason, Verdict

OURS = frozenset({"model", "core_plugin", "trusted_write"})
WRITE = Action("fs.write", path="src/a.py", tool="write_file", caller_tags=OURS)
RUN = Action("process.exec", tool="run_command", command=("pytest", "-q"), cwd=".")
RULE = standing_rule(WRITE)
assert RULE is not None


def said(verdict: Verdict, code: str = "rule") -> Decision:
    return Decision(verdict, (Reason(code, "because", verdict, "yaml", rule="r"),))


ALLOW, DENY = said(Verdict.ALLOW), said(Verdict.DENY, "rule_deny")
REVIEW, EACH_TIME = said(Verdict.REQUIRE_REVIEW, "rule_review"), said(Verdict.REQUIRE_REVIEW, "rule_review_each_time")
ALL = ({"tool": "write_file"},)


def config(**lists: object) -> PermissionConfig:
    return PermissionConfig.model_validate(lists)


def word(configured: PermissionConfig, memory: Standing, decision: Decision, action: Action = WRITE) -> tuple[str, str]:
    answer = decide(configured, memory, action, decision)
    return answer.word, answer.source


EMPTY = Standing()
REMEMBERED = remember(EMPTY, (RULE,), "allow")
REFUSED = remember(EMPTY, (RULE,), "deny")
EDITS = Standing(edits=True)

ORDER = [
    # every later stage says the opposite of the stage that must win
    (
        {"final_deny": ALL, "overrides": [{"tool": "write_file", "answer": "allow"}], "allow": ALL},
        REMEMBERED,
        ("final_deny", "final_deny"),
    ),
    ({"overrides": [{"tool": "write_file", "answer": "allow"}], "allow": ALL}, REFUSED, ("deny", "session")),
    (
        {"overrides": [{"tool": "write_file", "answer": "deny"}], "default_action": "deny"},
        REMEMBERED,
        ("allow", "session"),
    ),
    ({"overrides": [{"tool": "write_file", "answer": "allow"}], "deny": ALL}, EMPTY, ("allow", "override")),
    ({"deny": ALL, "allow": ALL, "default_action": "allow"}, EMPTY, ("deny", "deny")),
    ({"allow": ALL, "default_action": "deny"}, EMPTY, ("allow", "allow")),
    ({"default_action": "deny"}, EMPTY, ("deny", "default")),
    ({"default_action": "ask"}, EMPTY, ("ask", "default")),
    ({}, EMPTY, ("allow", "default")),
    ({"final_deny": ALL}, EDITS, ("final_deny", "final_deny")),
    ({}, remember(EDITS, (RULE,), "deny"), ("deny", "session")),
    ({"overrides": [{"tool": "write_file", "answer": "ask"}]}, EDITS, ("ask", "override")),
    ({"deny": ALL}, EDITS, ("deny", "deny")),
    ({"default_action": "deny"}, EDITS, ("deny", "default")),
    ({"default_action": "ask"}, EDITS, ("allow", "edits")),
    ({}, EDITS, ("allow", "edits")),
]


@rows(("lists", "memory", "expected"), ORDER)
def test_order(lists: dict[str, object], memory: Standing, expected: tuple[str, str]) -> None:
    assert word(config(**lists), memory, ALLOW) == expected


def test_always_never_outranks_an_explicit_deny() -> None:
    """THR-approvals-always-beats-deny."""
    assert word(config(deny=ALL), REMEMBERED, ALLOW) == ("deny", "deny")
    assert word(config(final_deny=ALL), REMEMBERED, REVIEW) == ("final_deny", "final_deny")


def test_CMD_04_an_answer_that_denies_another_name_of_a_command_denies_it_and_one_that_allows_it_does_not() -> None:
    jest = Action("process.exec", command=("jest", "--ci"), also=(("npx", "jest", "--ci"),))
    assert decide(config(deny=({"command": "npx jest"},)), EMPTY, jest, ALLOW).word == "deny"
    assert decide(config(deny=({"command": "npx vitest"},)), EMPTY, jest, ALLOW).word == "allow"
    assert decide(config(allow=({"command": "npx jest"},)), EMPTY, jest, REVIEW).word == "ask"
    assert decide(config(allow=({"command": "jest"},)), EMPTY, jest, REVIEW).word == "allow"


def test_default_configuration_allows_what_policy_allows_and_asks_for_reviews() -> None:
    assert word(config(), EMPTY, ALLOW)[0] == "allow"
    assert word(config(), EMPTY, REVIEW) == ("ask", "policy")


def test_standing_answers_reviews_only_where_the_rule_permits() -> None:
    for configured, memory in ((config(allow=ALL), EMPTY), (config(), REMEMBERED)):
        assert word(configured, memory, REVIEW)[0] == "allow"
        assert word(configured, memory, EACH_TIME) == ("ask", "policy")


MATCHING = st.sampled_from([(), ALL, ({"command": "pytest"},), ({"path_glob": "src/**"},), ({"tool": "other"},)])
CONFIGS = st.builds(
    lambda f, o, a, d, y, n: config(
        final_deny=f, overrides=[{**r, "answer": a} for r in o], deny=d, allow=y, default_action=n
    ),
    MATCHING,
    MATCHING,
    st.sampled_from(["allow", "ask", "deny"]),
    MATCHING,
    MATCHING,
    st.sampled_from(["allow", "ask", "deny"]),
)


@given(CONFIGS, st.sampled_from([EMPTY, REMEMBERED, REFUSED, EDITS]), st.sampled_from([WRITE, RUN]))
def test_nothing_is_ever_laxer_than_policy(configured: PermissionConfig, memory: Standing, action: Action) -> None:
    assert word(configured, memory, DENY, action)[0] in ("deny", "final_deny")
    assert word(configured, memory, EACH_TIME, action)[0] != "allow"
    strict = ("allow", "ask", "deny", "final_deny").index
    assert strict(word(configured, memory, ALLOW, action)[0]) <= strict(word(configured, memory, EACH_TIME, action)[0])


@rows(
    ("action", "decision", "expected"),
    [
        (WRITE, REVIEW, "allow"),
        (replace(WRITE, path="another", tool="move_file"), REVIEW, "allow"),
        (WRITE, EACH_TIME, "ask"),
        (WRITE, DENY, "deny"),
        (RUN, REVIEW, "ask"),
        # writes of a command, and calls of another agent, are not edits of ours
        (replace(WRITE, tool="run_command", caller_tags=frozenset({"model", "core_plugin"})), REVIEW, "ask"),
        (replace(WRITE, caller_tags=frozenset({"model", "third_party"})), REVIEW, "ask"),
        (replace(WRITE, syscall="git.commit"), REVIEW, "ask"),
        (replace(WRITE, syscall="policy.update"), REVIEW, "ask"),
    ],
)
def test_APP_15_edits_of_the_session_are_allowed_and_nothing_else(
    action: Action, decision: Decision, expected: str
) -> None:
    assert word(config(), EDITS, decision, action)[0] == expected


def test_session_memory_is_exact() -> None:
    """THR-approvals-broader-than-shown: another path, tool, argument or folder makes another action."""
    run = standing_rule(RUN)
    assert run is not None
    memory = remember(EMPTY, (RULE, run), "allow")
    assert word(config(), memory, REVIEW, Action("fs.write", path="./src//a.py", tool="write_file"))[0] == "allow"
    for other in (
        Action("fs.write", path="src/b.py", tool="write_file"),
        Action("fs.write", path="src/a.py", tool="edit_file"),
        Action("fs.delete", path="src/a.py", tool="write_file"),
        Action("process.exec", tool="run_command", command=("pytest", "-q", "-x"), cwd="."),
        Action("process.exec", tool="run_command", command=("pytest",), cwd="."),
        Action("process.exec", tool="run_command", command=("pytest", "-q"), cwd="sub"),
    ):
        assert word(config(), memory, REVIEW, other)[0] == "ask"


def test_what_is_not_exact_is_not_remembered() -> None:
    assert standing_rule(Action("fs.write", path="a")) is None
    assert standing_rule(Action("net.connect", host="example.org")) is None
    assert decide(config(), EMPTY, Action("made.up"), ALLOW).word == "allow"


def test_the_latest_answer_counts() -> None:
    assert remember(REMEMBERED, (RULE,), "deny") == REFUSED
    assert remember(REFUSED, (RULE,), "allow") == REMEMBERED


def test_the_rule_is_shown_word_for_word() -> None:
    assert RULE is not None
    assert sentence((RULE,)) == "writing `src/a.py` with write_file, any change"
    hostile = StandingRule("run_command", "process.exec", command=("echo", "a\u202eb"), cwd="x")
    assert sentence((hostile,)) == "running `echo 'a⟨U+202E⟩b'` in `x`, even if its files change"
    lines = StandingRule("run_command", "process.exec", command=("echo", "a\nb"), cwd="x")
    assert sentence((lines,)).startswith("running exactly this command (10 characters, sha256:")


@rows(
    "lists",
    [
        {"allows": []},
        {"allow": [{"tol": "x"}]},
        {"allow": [{"path_glob": "./x"}]},
        {"default_action": "final_deny"},
        {"overrides": [{"tool": "x"}]},
        {"deny": [{"command": "'"}]},
    ],
)
def test_bad_configuration_is_refused(lists: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        config(**lists)


def test_a_decision_without_reviews_permits_everything() -> None:
    assert permits_standing(ALLOW)
