"""A call whose process died between its two records gets the second one later (AUD-01)."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from remit_governance.audit.log.unfinished_calls import NOT_KNOWN, unfinished_calls
from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.reading.verify import Verified, verify
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog

BEGINS = """
import sys, time
from pathlib import Path
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
log = AuditLog(Path(sys.argv[1]))
log.append(AuditEvent(AuditKind.TOOL_INTENT, session_id="s", turn_id="1", tool_call_id="c", tool_name="write_file"))
print("begun", flush=True)
time.sleep(600)
"""


def event(kind: AuditKind, call: str, turn: str = "1") -> AuditEvent:
    return AuditEvent(kind, session_id="s", turn_id=turn, tool_call_id=call, input_summary="in")


def began(path: Path) -> subprocess.Popen[bytes]:
    """Starts a process that records the first half of a call and stays alive."""
    child = subprocess.Popen([sys.executable, "-c", BEGINS, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"begun\n"
    return child


def test_a_call_of_a_process_that_died_is_settled_once_nobody_else_uses_the_log(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with began(path) as child, AuditLog(path) as log:
        try:
            assert log.settle() == 0, "it may still be running"
        finally:
            child.send_signal(signal.SIGKILL)
        child.wait()
        assert log.settle() == 1
        assert log.settle() == 0
    before, after = (record.event for record in query_audit(path))
    assert (after.kind, after.tool_call_id, after.tool_name) == (AuditKind.TOOL_OUTCOME, "c", before.tool_name)
    assert after.output_summary == after.deny_reason == NOT_KNOWN
    assert isinstance(verify(path), Verified)


def test_AUD_07_tokens_and_sandboxes_of_a_process_that_died_are_ended_before_their_call(tmp_path: Path) -> None:
    call = event(AuditKind.TOOL_INTENT, "c")
    of_sandbox = {"sandbox": "b", "pid": "7"}
    over = replace(call, kind=AuditKind.CAPABILITY_ISSUED, capability_id="over")
    token = replace(call, kind=AuditKind.CAPABILITY_ISSUED, capability_id="t", metadata=of_sandbox)
    box = replace(call, kind=AuditKind.SANDBOX_CREATED, metadata=of_sandbox)
    gone = replace(box, metadata={"sandbox": "a"})
    with AuditLog(tmp_path / "a") as log:
        for begun in (call, over, replace(over, kind=AuditKind.CAPABILITY_EXPIRED), gone):
            log.append(begun)
        for begun in (replace(gone, kind=AuditKind.SANDBOX_FAILED), box, token):
            log.append(begun)
        assert (log.settle(), log.settle()) == (3, 0)
    *_, first, second, last = (record.event for record in query_audit(tmp_path / "a"))
    assert (first.kind, first.metadata["sandbox"]) == (AuditKind.SANDBOX_DESTROYED, "b")
    assert (second.kind, second.capability_id) == (AuditKind.CAPABILITY_ENDED, "t")
    assert (last.kind, last.tool_call_id) == (AuditKind.TOOL_OUTCOME, "c")


def test_a_log_open_twice_is_used_by_somebody_else(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "a") as one:
        one.append(event(AuditKind.TOOL_INTENT, "c"))
        with AuditLog(tmp_path / "a") as other:
            assert (one.settle(), other.settle()) == (0, 0)
        assert one.settle() == 1


def test_unended_are_calls_without_an_outcome_of_their_own() -> None:
    begin, end, asked = AuditKind.TOOL_INTENT, AuditKind.TOOL_OUTCOME, AuditKind.APPROVAL_REQUIRED
    lost, other_turn = event(begin, "b"), event(begin, "a", turn="2")
    assert unfinished_calls([]) == ()
    assert unfinished_calls([event(begin, "a"), event(end, "a")]) == ()
    assert unfinished_calls([event(begin, "a"), lost, event(end, "a"), event(asked, "c"), event(end, "d")]) == (lost,)
    assert unfinished_calls([event(begin, "a"), other_turn, event(end, "a")]) == (other_turn,)
    assert len(unfinished_calls([event(begin, "a"), event(begin, "a"), event(end, "a")])) == 1
