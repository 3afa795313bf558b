"""What `remit` tells about a command is what it did: checked by exit code, the messages to the model, files and audit
log (AGT-15, CLI-01, CLI-09, CLI-17, CLI-18)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from command_line import CommandLine

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

DONE, FAILED, USAGE, DENIED = 0, 1, 2, 3
SAYS_SO = ({"text": "I say so."},)
WRITES = ({"calls": [intent("CODE"), call("write_file", path="new.py", content="x = 1\n")]}, {"text": "I wrote it."})


@dataclass(frozen=True)
class Case:
    """The words and standard input of a command that runs after the commands in `before`, and the steps of its model;
    then what is expected: the exit code, what the last message to the model contains (`sent`) and does not contain
    (`unsent`), and the new files.

    If `sent` is None, the model was not asked.
    """

    words: Sequence[str]
    code: int
    steps: Sequence[Mapping[str, Any]] = SAYS_SO
    stdin: str = ""
    before: Sequence[Sequence[str]] = ()
    sent: str | None = None
    unsent: Sequence[str] = ()
    new: frozenset[str] = frozenset()
    audited: Mapping[str, str] = field(default_factory=dict)


READ = ("run-tool", "read_file", '{"path": "README.md"}', "--intent", "READ_FILE")
CASES = {
    "a single call, then --continue": Case(("--continue", "go on"), FAILED, before=(READ,)),
    "a conversation, then --continue": Case(("--continue", "go on"), DONE, before=(("ask", "hello"),), sent="go on"),
    "allowed by a flag": Case(
        ("ask", "--approve", "session", "write"),
        DONE,
        WRITES,
        sent="write",
        new=frozenset({"new.py"}),
        audited={"by": "beforehand", "decision": "allow"},
    ),
    "nobody to ask": Case(
        ("ask", "--approve", "never", "write"),
        DENIED,
        WRITES,
        sent="write",
        audited={"by": "unavailable", "decision": "deny"},
    ),
    "denied by the mode": Case(
        ("ask", "--mode", "strict", "--approve", "session", "write"), DENIED, WRITES, sent="write"
    ),
    "no answer": Case(("ask", "say it"), FAILED, ({"text": ""},), sent="say it"),
    "a file goes along": Case(("ask", "--attach", "README.md", "what is it?"), DONE, sent="what is it?"),
    "a file that is not there": Case(("ask", "--attach", "nosuch.txt", "what is it?"), USAGE),
    "a file that is mentioned and not there": Case(("ask", "what is in @nosuch.txt?"), DONE, sent="@nosuch.txt"),
    "standard input alone": Case((), DONE, stdin="what is this?\n", sent="what is this?"),
    "standard input by a dash": Case(("ask", "-"), DONE, stdin="what is this?\n", sent="what is this?", unsent=("-",)),
    "standard input after words": Case(("explain it",), DONE, stdin="E1 at line 7\n", sent="E1 at line 7"),
    "standard input with ask": Case(("ask", "explain it"), DONE, stdin="E1 at line 7\n", sent="E1 at line 7"),
    "an empty standard input": Case(("ask", "-"), USAGE),
    "too much of it": Case(("explain it",), USAGE, stdin="x" * 200_000),
    "one word that is no command": Case(("hi",), USAGE),
}


@pytest.mark.parametrize("name", CASES)
def test_AGT_15_what_a_command_does_is_told(remit: CommandLine, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    script, record = tmp_path / "script.json", tmp_path / "record.jsonl"
    script.write_text(json.dumps(case.steps))
    for words in case.before:
        assert remit(*words, REMIT_MODEL=f"script:{script}").code == DONE
    there = files(remit.workspace)
    model = ("--model", f"script:{script}", "--record", str(record))
    done = remit(*case.words, *model, stdin=case.stdin)
    assert done.code == case.code, f"{done.out}\n{done.err}"
    assert bool(done.err) is (case.sent is None), done.err

    asked = messages(record)
    assert bool(asked) is (case.sent is not None)
    if case.sent is not None:
        assert case.sent in asked[-1]
        assert not any(each == asked[-1] for each in case.unsent)
    assert files(remit.workspace) - there == case.new
    assert ("+1" in done.out.partition("I wrote it.")[2]) is bool(case.new)
    if case.audited:
        (answered,) = (each for each in remit("audit", "log", "--json").lines if each["kind"] == "approval_resolved")
        assert case.audited.items() <= answered["metadata"].items()


def files(folder: Path) -> frozenset[str]:
    return frozenset(path.relative_to(folder).as_posix() for path in folder.rglob("*") if ".git" not in path.parts)


def messages(record: Path) -> list[str]:
    """Returns the person's messages in all requests to the model."""
    lines = record.read_text().splitlines() if record.is_file() else []
    requests = [line["request"] for line in map(json.loads, lines) if line["kind"] == "request"]
    return [each["text"] for request in requests for each in request["messages"] if each["role"] == "user"]
