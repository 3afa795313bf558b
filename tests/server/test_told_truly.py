"""What a person is told of a turn is what happened: every call with every answer, compared with the files, the audit log
and the wire, on the surfaces that the server words itself (AGT-15, CLI-01, LSP-05).

VS Code, Neovim and Emacs draw the same events: their own tests hold them to these.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import SHOP, Answering, Bench, call, intent

from remit_governance.audit.record import AuditKind
from remit_server.cli.commands.ask import EXIT_CODES
from remit_server.cli.console import draw_event
from remit_server.cli.main import DENIED, DONE, FAILED
from remit_server.contract import ApprovalAnswer, ApprovalRequired, LeftOut
from remit_server.transports.lsp.command_turn import describe_ending

TWO = "".join(f"{number}\n" for number in range(40))
"""A file in which two lines far apart are two hunks."""


@dataclass(frozen=True)
class Call:
    """A call of the model, and what it leaves where it is allowed: the names of the files that differ."""

    intent: str
    call: dict[str, Any]
    changes: frozenset[str] = frozenset()
    asks: bool = True
    parts: int = 1
    fails: bool = False


CALLS = {
    "read": Call("READ_FILE", call("read_file", path="a.py"), asks=False),
    "search": Call("ANALYZE", call("search_files", pattern="nothing has this"), asks=False),
    "create": Call("WRITE_FILE", call("write_file", path="new/b.py", content="1\n2\n"), frozenset({"new/b.py"})),
    "edit": Call("CODE", call("edit_file", path="a.py", old_text="for n", new_text="for m"), frozenset({"a.py"})),
    "hunks": Call(
        "CODE",
        call("write_file", path="two.txt", content=TWO.replace("\n3\n", "\nthree\n").replace("\n30\n", "\nthirty\n")),
        frozenset({"two.txt"}),
        parts=2,
    ),
    "delete": Call("CODE", call("delete_file", path="two.txt"), frozenset({"two.txt"})),
    "move": Call("CODE", call("move_file", path="two.txt", new_path="moved.txt"), frozenset({"moved.txt", "two.txt"})),
    "already so": Call("CODE", call("write_file", path="a.py", content=SHOP), asks=False),
    "cannot": Call("CODE", call("edit_file", path="a.py", old_text="not there", new_text="x"), asks=False, fails=True),
    "denied": Call("CODE", call("write_file", path=".git/config", content="x"), asks=False, fails=True),
    "outside": Call("CODE", call("write_file", path="../b.py", content="x"), asks=False, fails=True),
    "run": Call("EXECUTE", call("run_command", command="true")),
    "run fails": Call("EXECUTE", call("run_command", command="exit 3")),
    "run writes": Call("EXECUTE", call("run_command", command="echo 1 > made.txt"), frozenset({"made.txt"})),
}


@dataclass
class Answer(Answering):
    """An answer of a person, or what comes in its place."""

    words: str | None = None
    half: bool = False

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        self.asked.append(question)
        if self.decision == "none":
            return None
        scope = self.scope if self.scope in question.scopes else "once"
        left = (LeftOut(path=question.diffs[0].path, hunk=0),) if self.half and question.by_hunk else ()
        return ApprovalAnswer(
            approval_id=question.approval_id,
            decision="allow" if self.decision == "allow" else "deny",
            scope="once" if left else scope,  # type: ignore[arg-type]
            left_out=left,
            comment=self.words,
        )


ANSWERS = {
    "once": Answer,
    "session": lambda: Answer(scope="session"),
    "edits": lambda: Answer(scope="edits"),
    "half": lambda: Answer(half=True),
    "no": lambda: Answer("deny"),
    "no with words": lambda: Answer("deny", words="use a set"),
    "closed": lambda: Answer("none"),
    "beforehand": lambda: Answer(style="beforehand"),
    "nobody": lambda: Answer(style="never"),
    "too late": lambda: Answer(style="stream"),
}
SAID_YES = frozenset({"once", "session", "edits", "half", "beforehand"})
BY = {"beforehand": "beforehand", "nobody": "unavailable", "too late": "deadline"}


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git/" not in f"{path.relative_to(folder).as_posix()}/"
    }


def drawn(bench: Bench) -> str:
    return "\n".join(line for event in bench.events for line in draw_event(event))  # type: ignore[arg-type]


def check_wire(bench: Bench, result: Any) -> None:
    """The last event is the result, and every question has one answer, which says who gave it."""
    assert bench.kinds()[-1] == "run_completed"
    assert bench.events[-1].result == result  # type: ignore[attr-defined]
    questions = [event.approval_id for event in bench.of("approval_required")]
    answered = [event.approval_id for event in bench.of("approval_resolved")]
    assert sorted(questions) == sorted(each for each in answered if each in questions)
    assert json.loads(result.model_dump_json())["status"] == result.status


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", CALLS)
async def test_AGT_15_what_is_told_is_what_happened(make_bench: Any, name: str, answer: str) -> None:
    made = CALLS[name]
    patience = {"approval_timeout_s": 0.05} if answer == "too late" else {}
    steps = ({"calls": [intent(made.intent), made.call]}, {"text": "All of it is done."})
    bench: Bench = await make_bench(*steps, **patience)
    (bench.workspace / "two.txt").write_text(TWO)
    before = files(bench.workspace)
    asker = ANSWERS[answer]()
    result = await bench.ask("do it", asker=asker)
    after, said = files(bench.workspace), drawn(bench)
    yes = answer in SAID_YES

    # the files
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    wanted = made.changes if made.asks and yes else frozenset[str]()
    assert changed == wanted
    named = {each.path for each in result.changes} | {each.moved_from for each in result.changes if each.moved_from}
    assert named == changed
    for each in result.changes:
        if each.how == "changed" and each.added is not None:
            old, new = before[each.path].splitlines(), after[each.path].splitlines()
            assert each.added - (each.removed or 0) == len(new) - len(old)
    assert ("changed" in said.rpartition("All of it is done.")[2]) is bool(changed)
    if answer == "half" and made.parts > 1:
        assert after["two.txt"] == TWO.replace("\n30\n", "\nthirty\n").encode()

    # who answered, on the wire and in the audit log
    assert bool(bench.of("approval_required")) is made.asks
    told = [(event.decision, event.by) for event in bench.of("approval_resolved")]
    kept = [record.event.metadata for record in bench.audit() if record.event.kind is AuditKind.APPROVAL_RESOLVED]
    assert told == [(each["decision"], each["by"]) for each in kept]
    for decision, by in told:
        assert decision == ("allow" if yes else "deny")
        assert by in {BY.get(answer, "person"), "standing_answer"}

    # how it ended: in the result, by the exit code, in words
    refused = made.asks and not yes
    if refused or name == "denied":
        assert (result.status, EXIT_CODES[result.status]) == ("denied", DENIED)
    elif name == "outside":
        assert EXIT_CODES[result.status] in {DENIED, FAILED, DONE}
    else:
        assert (result.status, EXIT_CODES[result.status]) == ("completed", DONE)
    whole = result.status == "completed" and result.reason is None and result.error is None
    ended = said.rpartition("All of it is done.")[2]
    assert ("✗" in ended or "∅" in ended or "error" in said) is not whole, said
    assert (name == "run fails" and yes) is ("exit code 3" in (result.reason or ""))
    if refused:
        assert not re.search(r"\b(changed|renamed|created|wrote)\b.*\n?$", ended)
    if answer == "no with words" and made.asks:
        assert "use a set" in said
    plain = describe_ending(result)
    assert all(each.path in plain for each in result.changes)
    assert ("Changed:" in plain) is bool(changed)
    check_wire(bench, result)
