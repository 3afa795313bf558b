"""A rule that denies a command covers every spelling of it; a rule that allows one covers exactly its words
(CMD-03)."""

from __future__ import annotations

import pytest
from rows import rows

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy

ALLOWED = "version: 1\ncapabilities:\n  - { name: all, match: { syscall: [process.exec, fs.write] }, action: allow }\n"


def verdict(policy: str, command: str) -> str:
    action = parse_action({"syscall": "process.exec", "command": command})
    return evaluate(compile_policy([Source("policy.yaml", policy)]), action).verdict.word


@rows(
    "command",
    [
        "rm -rf x",
        "rm -fr x",
        "rm -r -f x",
        "rm -rfv x",
        "rm x -rf",
        "rm --recursive --force x",
        "rm --force -R x",
        "rm --rec --forc x",
        "rm --r --f x",
        "/bin/rm -fr x",
        "nice rm -fr x",
        "true && rm -fr x",
    ],
)
def test_THR_shell_a_denied_command_is_denied_in_every_spelling(command: str) -> None:
    denied = "  - { name: no-rm, match: { syscall: process.exec, command: rm -rf }, action: deny }\n"
    assert verdict(ALLOWED + denied, command) == "deny"


@pytest.mark.parametrize("command", ["rm x", "rm -f x", "rm -r x", "ls -rf x"])
def test_a_denied_command_denies_no_other(command: str) -> None:
    denied = "  - { name: no-rm, match: { syscall: process.exec, command: rm -rf }, action: deny }\n"
    assert verdict(ALLOWED + denied, command) == "allow"


@pytest.mark.parametrize("command", ["/tmp/pytest -q", "./pytest", "pytest -x -q"])
def test_an_allowed_command_is_exactly_its_words(command: str) -> None:
    allowed = "  - { name: tests, match: { syscall: process.exec, command: pytest -q }, action: allow }\n"
    assert verdict("version: 1\ncapabilities:\n" + allowed, command) == "deny"
