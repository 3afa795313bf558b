"""A person is told what really happened in a turn: every call with every answer is compared with the files, the audit
log and the wire, on the surfaces whose words come from the server (AGT-15, CLI-01, LSP-05).

`tests/e2e/test_told_in_editors.py` checks what VS Code, Neovim and Emacs draw, `tests/server/chat/test_told_in_chat.py`
what the commands of a chat print, and `tests/e2e/test_told_by_commands.py` what `remit` prints.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import SHOP, Bench
from told import ALL_DONE, ANSWERS, BY, CALLS, SAID_YES, TWO, play

from remit_governance.audit.reading.query import AuditFilter
from remit_governance.audit.record import AuditKind
from remit_server.cli.commands.governance.audit import line
from remit_server.cli.commands.turns.ask import EXIT_CODES
from remit_server.cli.console import draw_ending, draw_event
from remit_server.cli.main import DENIED, DONE, FAILED
from remit_server.contract import ErrorCode, ErrorEvent, ErrorPayload, RunResult
from remit_server.runtime.audit.audit_service import query
from remit_server.transports.lsp.commands.command_turn import describe_ending

pytestmark = pytest.mark.slow


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


def check_audit(bench: Bench, arguments: dict[str, Any], decision: str) -> None:
    """The audit view shows each answer and call, and a token that ended with its call."""
    records = query(bench.settings.audit_database, AuditFilter())
    kinds = [each["kind"] for each in records]
    assert kinds.count("capability_issued") == kinds.count("capability_ended")
    assert "capability_revoked" not in kinds
    shown = {str(each["kind"]): line(each) for each in records}
    assert "approval_resolved" not in shown or f"decision: {decision}" in shown["approval_resolved"]
    assert str(next(iter(arguments.values()), ""))[:10] in shown["tool_intent"]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", CALLS)
async def test_AGT_15_what_is_told_is_what_happened(make_bench: Any, name: str, answer: str) -> None:
    made = CALLS[name]
    bench, result = await play(make_bench, name, answer)
    before = {"a.py": SHOP.encode(), "two.txt": TWO.encode()}
    after, said = files(bench.workspace), drawn(bench)
    yes = answer in SAID_YES

    # the files
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    allowed = made.half if answer == "half" and made.half is not None else made.changes
    wanted = allowed if made.asks and yes else frozenset[str]()
    assert changed == wanted
    named = {each.path for each in result.changes} | {each.moved_from for each in result.changes if each.moved_from}
    assert named == changed
    for each in result.changes:
        if each.how == "changed" and each.added is not None:
            old, new = before[each.path].splitlines(), after[each.path].splitlines()
            assert each.added - (each.removed or 0) == len(new) - len(old)
    assert ("changed" in said.rpartition(ALL_DONE)[2]) is bool(changed)
    if answer == "half" and made.parts > 1:
        assert after["two.txt"] == TWO.replace("\n30\n", "\nthirty\n").encode()

    # whether the call was done
    (done,) = (event.ok for event in bench.of("tool_result") if event.tool != "select_active_intent")
    assert done is not (made.fails or (made.asks and not yes))

    # who answered, on the wire and in the audit log
    assert bool(bench.of("approval_required")) is made.asks
    told = [(event.decision, event.by) for event in bench.of("approval_resolved")]
    kept = [record.event.metadata for record in bench.audit() if record.event.kind is AuditKind.APPROVAL_RESOLVED]
    assert told == [(each["decision"], each["by"]) for each in kept]
    for decision, by in told:
        assert decision == ("allow" if yes else "deny")
        assert by in {BY.get(answer, "person"), "standing_answer"}

    # how the turn ended: in the result, in the exit code, in words
    refused = made.asks and not yes
    if refused or name == "denied":
        assert (result.status, EXIT_CODES[result.status]) == ("denied", DENIED)
    elif name == "outside":
        assert EXIT_CODES[result.status] in {DENIED, FAILED, DONE}
    else:
        assert (result.status, EXIT_CODES[result.status]) == ("completed", DONE)
    whole = result.status == "completed" and result.reason is None and result.error is None
    ended = said.rpartition(ALL_DONE)[2]
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
    check_audit(bench, made.call["arguments"], "deny" if refused else "allow")
    used = [event.usage.completion_tokens for event in bench.of("usage")]
    assert result.usage.completion_tokens == sum(used)


def test_CLI_01_the_persons_own_stop_is_no_error_and_a_long_reason_is_told_once() -> None:
    error = ErrorPayload.model_construct(
        code=ErrorCode.CANCELLED, message="the turn was stopped", what="a", why="b", fix="ask again to go on"
    )
    stopped = ErrorEvent.model_construct(kind="error", sub_agent=None, error=error)
    assert [*draw_event(stopped)] == ["stopped: ask again to go on"]
    reason = "cannot run the tests with pytest: `pytest` was not found where a sandbox can look"
    result = RunResult(
        session_id="s", turn_id="t", status="declined", final_output=f"I stopped: {reason}.", reason=reason,
        error=None, usage=None,
    )  # fmt: skip
    assert "\n".join(draw_ending(result)).count("pytest") == 2
    assert reason in "\n".join(draw_ending(result.model_copy(update={"final_output": "I stopped."})))


@pytest.mark.parametrize(
    ("answer", "printed"),
    [
        ("```py\na = 1\n\nb = 2\n```", "a = 1\n\nb = 2"),
        ("````md\n```\nx\n```\n````", "```\nx\n```"),
        ("Here:\n\n```\nx\n```", "Here:\n\n```\nx\n```"),
        ("```\nx\n```\n\n```\ny\n```", "```\nx\n```\n\n```\ny\n```"),
    ],
)
def test_CLI_01_an_answer_that_is_one_block_is_printed_without_its_fence(answer: str, printed: str) -> None:
    result = RunResult(
        session_id="s", turn_id="t", status="completed", final_output=answer, error=None, usage=None
    )  # fmt: skip
    assert next(iter(draw_ending(result))) == printed
