"""Rules that are programs, without running any: their files, the questions they get, the meaning of answers
(EXT-01)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows
from rule_programs import rule

from remit_governance.errors import ExtensionError, PolicyError
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.extension import ScriptedRules, extension_of, facts_of, reasons_of, with_extension
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.load import load_rules
from remit_governance.values import Action, Intent, Verdict

ABSTAINS = rule("def rule(action):\n    return 'pass'\n")
WRITES = rule("SYSCALLS = ('fs.write',)\n\n\ndef rule(action):\n    return 'deny'\n", "writes")
POLICY = compile_policy([Source("p", "version: 1\ncapabilities:\n  - { name: all, match: {}, action: allow }\n")])
WRITE = Action("fs.write", path="src/a.py")


@rows(
    ("text", "said"),
    [
        ("def rule(action)\n    return 'allow'\n", "rules/rule.py:1:17: expected ':'; correct the Python"),
        ("\n\nreturn 3\n", "rules/rule.py:3:1: 'return' outside function; correct the Python"),
        ("def rule(action):\n    return 'a'\n\0", "source code string cannot contain null bytes; correct the Python"),
        ("", "rules/rule.py:1:1: the file defines no rule; add `def rule(action):`"),
        ("rule = print\n", "rules/rule.py:1:1: the file defines no rule; add `def rule(action):`"),
        ("async def rule(action): ...\n", "rules/rule.py:1:1: `rule` is async; write `def rule(action):`"),
        ("def rule(): ...\n", "rules/rule.py:1:1: `rule` has to take one argument; write `def rule(action):`"),
        (
            "X = 1\ndef rule(a, b): ...\n",
            "rules/rule.py:2:1: `rule` has to take one argument; write `def rule(action):`",
        ),
        ("def rule(a, *, b): ...\n", "rules/rule.py:1:1: `rule` has to take one argument; write `def rule(action):`"),
        ("SYSCALLS = 'fs.write'\ndef rule(a): ...\n", "rules/rule.py:1:1: `SYSCALLS` is not a tuple of words"),
        ("SYSCALLS = ()\ndef rule(a): ...\n", "rules/rule.py:1:1: `SYSCALLS` is not a tuple of words"),
        ("def rule(a): ...\nSYSCALLS = [1]\n", "rules/rule.py:2:1: `SYSCALLS` is not a tuple of words"),
        ("SYSCALLS = (open('x'),)\ndef rule(a): ...\n", "rules/rule.py:1:1: `SYSCALLS` is not a tuple of words"),
    ],
)
def test_a_file_that_is_no_rule_is_a_policy_error_with_its_place(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as refused:
        rule(text)
    assert said in str(refused.value.problems[0])


def test_reading_a_rule_runs_nothing_of_it(tmp_path: Path) -> None:
    rule(f"open({str(tmp_path / 'made')!r}, 'w')\ndef rule(action, more=1): ...\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("written", ["('a', 'b')", "['a', 'b']", "{'b', 'a'}"])
def test_syscalls_narrow_what_a_rule_is_asked_about(written: str) -> None:
    assert rule(f"SYSCALLS = {written}\ndef rule(action): ...\n").syscalls == {"a", "b"}
    assert rule(f"SYSCALLS: tuple = {written}\ndef rule(*action): ...\n").syscalls == {"a", "b"}


def test_rules_of_a_folder_are_found_by_name_and_all_problems_are_told(tmp_path: Path) -> None:
    assert load_rules(tmp_path / "none") == ()
    for name, text in {
        "b.py": "def rule(a): ...",
        "a.py": "\ndef rule(a): ...",
        "notes.txt": "no",
    }.items():
        (tmp_path / name).write_text(text)
    assert [(r.name, r.file, r.line) for r in load_rules(tmp_path)] == [
        ("extension.a", str(tmp_path / "a.py"), 2),
        ("extension.b", str(tmp_path / "b.py"), 1),
    ]
    (tmp_path / "c d.py").write_text("def rule(a): ...")
    (tmp_path / "e.py").write_text("oh no")
    (tmp_path / "f.py").write_bytes(b"\xff")
    (tmp_path / "g.py").symlink_to("nowhere")
    (tmp_path / "h.py").mkdir()
    (tmp_path / "i.py").write_text("#" * 300_000)
    with pytest.raises(PolicyError) as refused:
        load_rules(tmp_path)
    assert [Path(p.file).name for p in refused.value.problems] == ["c d.py", "e.py", "f.py", "g.py", "h.py", "i.py"]
    with pytest.raises(PolicyError, match="the folder cannot be read"):
        load_rules(tmp_path / "a.py")


def test_a_rule_is_told_everything_policy_knows_of_an_action() -> None:
    action = Action(
        "process.exec",
        path="./src/../a",
        tool="run_command",
        intent=Intent.EXECUTE,
        command=("rm", "x"),
        cwd="src",
        host="h",
        size=3,
        caller_tags=frozenset({"b", "a"}),
        state="idle",
        mode="strict",
    )
    assert facts_of(action) == {
        "syscall": "process.exec",
        "path": "a",
        "tool": "run_command",
        "intent": "EXECUTE",
        "command": ["rm", "x"],
        "cwd": "src",
        "host": "h",
        "size": 3,
        "caller_tags": ["a", "b"],
        "state": "idle",
        "mode": "strict",
        "risk": "medium",
    }


def test_what_no_rule_wants_to_hear_of_is_not_asked() -> None:
    ask = ScriptedRules({"extension.writes": {"verdict": "deny", "reason": "no"}})
    policy = with_extension(POLICY, [WRITES], ask)
    assert evaluate(policy, Action("fs.read", path="a")).allowed
    assert ask.asked == []
    decision = evaluate(policy, WRITE)
    assert (decision.verdict, decision.rules) == (Verdict.DENY, ("extension.writes",))
    assert (decision.deciding.file, decision.deciding.line) == ("rules/writes.py", 4)
    assert len(ask.asked) == 1


def test_the_texts_of_the_rules_count_for_the_version_of_the_policy() -> None:
    ask = ScriptedRules({})
    other = rule("def rule(action):\n    return 'pass'  # really\n")
    versions = {with_extension(POLICY, rules, ask).version for rules in ([], [ABSTAINS], [other], [WRITES, ABSTAINS])}
    assert len(versions) == 4
    assert with_extension(POLICY, [], ask) is POLICY


@rows(
    ("answer", "verdict", "codes"),
    [
        ({"verdict": "pass", "reason": None}, "allow", []),
        ({"verdict": "allow", "reason": None}, "allow", ["rule_allow"]),
        ({"verdict": "require_review", "reason": "look"}, "require_review", ["rule_review"]),
        ({"verdict": "deny", "reason": "no"}, "deny", ["rule_deny"]),
        ({"error": "KeyError: 'x' (line 3)"}, "deny", ["rule_error"]),
        ({"verdict": "maybe"}, "deny", ["extension_failed"]),
        ({"verdict": ["deny"]}, "deny", ["extension_failed"]),
        ({"verdict": "allow", "reason": 3}, "deny", ["extension_failed"]),
        ({}, "deny", ["extension_failed"]),
        ("allow", "deny", ["extension_failed"]),
        (None, "deny", ["extension_failed"]),
    ],
)
def test_what_an_answer_means(answer: Any, verdict: str, codes: list[str]) -> None:
    policy = with_extension(POLICY, [ABSTAINS], ScriptedRules({"extension.rule": answer}))
    decision = evaluate(policy, WRITE)
    assert decision.verdict.word == verdict
    assert [r.code for r in decision.reasons if r.layer == "extension"] == codes


def test_a_command_that_only_a_shell_understands_is_never_allowed_by_a_rule_either() -> None:
    nothing = compile_policy([Source("p", "version: 1\n")])
    policy = with_extension(nothing, [ABSTAINS], ScriptedRules({"extension.rule": {"verdict": "allow"}}))
    assert evaluate(policy, Action("process.exec", command=("ls",))).allowed
    assert evaluate(policy, Action("process.exec", command=("sh", "-c", "ls; $X"))).verdict is Verdict.REQUIRE_REVIEW


def test_a_reason_is_short_and_shows_what_is_hidden_in_it() -> None:
    answer = {"verdict": "deny", "reason": "no \u202e\x1b[2J" + "x" * 10_000}
    (reason,) = reasons_of([ABSTAINS], WRITE, [answer])
    assert reason.message.startswith("no \u27e8U+202E\u27e9\u27e8U+001B\u27e9[2Jx")
    assert len(reason.message) == 500


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["allow", "deny", "pass", "verdict"]) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["verdict", "reason", "error"]), inner),
    max_leaves=8,
)


@given(json_values)
def test_whatever_is_answered_is_a_verdict_or_a_deny(answers: Any) -> None:
    try:
        reasons = reasons_of([ABSTAINS], WRITE, answers)
    except ExtensionError:
        extension = extension_of([ABSTAINS], lambda names, facts: answers)
        denied = evaluate(with_extension(POLICY, [ABSTAINS], lambda names, facts: answers), WRITE)
        assert denied.verdict is Verdict.DENY
        with pytest.raises(ExtensionError):
            extension(WRITE)
    else:
        assert len(reasons) <= 1
