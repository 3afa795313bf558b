"""The signed head also vouches for records after the last checkpoint, and tells a crash from an attack (AUD-01)."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from audit_logs import Kept, edit, events, recompute, written
from messages import SAYS

from remit_governance.audit.proof.checkpoint import Signer
from remit_governance.audit.proof.head import SLOT, Head, HeadFile, StoredHead, read_head, sign_head
from remit_governance.audit.proof.keys import FileVault
from remit_governance.audit.proof.proven import prove
from remit_governance.audit.proof.sealing import CheckpointFile, MemoryPlace, Notary, Sealer
from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.reading.report import examine
from remit_governance.audit.reading.verify import verify
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError

READ = AuditEvent(AuditKind.TOOL_INTENT, syscall_type="fs.read", policy_decision="allowed")
SERVER = AuditEvent(AuditKind.KERNEL_START, metadata={"server": "s1"})
KEY = bytes(range(32))
SAID = Head("a" * 32, 3, "b" * 64, 1, 2, 7)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A log of 20 records without a checkpoint, of a server that has not ended."""
    kept = Kept(tmp_path / "logs" / "audit.sqlite3")
    kept.notary.prepare()
    kept.append(20)
    return kept


def test_each_durable_write_is_vouched_for_at_once(kept: Kept) -> None:
    for number in range(21, 24):
        kept.append(1)
        report = kept.examined()
        assert (report.good, report.until, report.time) == (True, number, kept.now)


def test_a_cut_off_end_shows_without_a_checkpoint(kept: Kept) -> None:
    kept.log.close()
    recompute(kept.path, keep=15)
    (fault,) = kept.examined().faults
    assert (fault.record_number, fault.why) == (
        16,
        "the end was cut off: the signed head vouches for records 16 to 20, now missing",
    )


def test_going_on_after_a_cut_keeps_what_the_head_said_as_a_checkpoint(kept: Kept) -> None:
    kept.log.close()
    recompute(kept.path, keep=15)
    kept.open()
    kept.maintenance.start()
    kept.append(10)
    kept.close()
    assert any("vouches for record 20, which is not here" in warning for warning in kept.maintenance.warnings)
    assert (
        kept.examined().faults[0].why.startswith("the chain was recomputed: a checkpoint vouches for a different hash")
    )


def test_a_cut_under_a_running_server_is_found_by_its_next_record(kept: Kept) -> None:
    recompute(kept.path, keep=15)
    kept.append(1)
    assert any("vouches for record 20, which is not here" in warning for warning in kept.maintenance.warnings)
    kinds = [record.event.kind for record in query_audit(kept.path)]
    assert kinds[15:] == [AuditKind.TOOL_INTENT, AuditKind.AUDIT_CHAIN_BREAK]


def test_what_a_killed_server_could_not_sign_is_no_fault(kept: Kept) -> None:
    kept.log.append(SERVER)
    kept.log.close()
    written(kept.path, 1)  # as if the server were killed between the record and its signature
    report = kept.examined()
    assert (report.good, report.until) == (True, 21)
    assert report.notes[1].startswith("record 22: not vouched for yet")
    kept.open()
    kept.notary.prepare()
    kept.append(1)
    kept.close()
    report = kept.examined()
    assert report.good
    assert any("record 22: not vouched for: written when a server was killed" in note for note in report.notes)


def test_what_waited_for_the_disk_when_its_server_was_killed_is_no_trouble(kept: Kept) -> None:
    """A head is signed only after its records are on the disk, so that the last half second of reads has no
    signature."""
    kept.log.append(SERVER)
    kept.log.close()
    with AuditLog(kept.path) as killed:
        killed.write(READ)
    report = kept.examined()
    assert (report.good, report.until, report.count) == (True, 21, 22)
    kept.open()
    kept.notary.prepare()
    assert kept.log.settle() == 12, "ten calls of the bench, the server and the read"
    report = kept.examined()
    assert (report.faults, report.until) == ((), report.count)
    assert AuditKind.AUDIT_CHAIN_BREAK not in {record.event.kind for record in query_audit(kept.path)}
    assert kept.maintenance.warnings == ()
    kept.close()


@pytest.mark.parametrize("forged", [events(1)[0], READ], ids=["a call", "a read that may wait"])
def test_a_record_appended_after_an_orderly_end_is_a_fault_for_ever(kept: Kept, forged: AuditEvent) -> None:
    kept.log.append(SERVER)
    kept.log.append(AuditEvent(AuditKind.KERNEL_SHUTDOWN, metadata={"server": "s1"}))
    kept.close()
    count = kept.examined().count
    with AuditLog(kept.path) as log:
        log.append(forged)
    (fault,) = kept.examined().faults
    assert fault.record_number == count + 1
    kept.open()
    kept.append(3, checkpoint=True)
    kept.close()
    (fault,) = kept.examined().faults
    assert fault.record_number == count + 1
    assert SAYS.every_server_had_ended_in in fault.why


def test_records_from_before_the_key_could_be_had_are_the_servers_own(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "logs" / "audit.sqlite3")
    kept.append(5, checkpoint=True)
    kept.close()
    kept.open()  # the notary has no key yet
    kept.append(5)
    assert kept.examined().until == 6
    kept.close()
    report = kept.examined()
    assert (report.faults, [r.event.kind for r in query_audit(kept.path) if "break" in r.event.kind]) == ((), [])
    assert report.until == report.count


def test_AUD_04_a_server_ends_signed_so_that_one_killed_as_it_ended_is_no_forger(kept: Kept) -> None:
    """A short command could end before its key was there and be killed before it signed; its own end then looked
    forged."""
    kept.close()
    kept.open()  # the notary has no key yet
    for kind in (AuditKind.KERNEL_START, AuditKind.KERNEL_SHUTDOWN):
        kept.log.write(AuditEvent(kind, metadata={"server": "s2"}))
    kept.log.close()  # nothing more, as after a kill
    assert kept.examined().good
    kept.open()
    kept.notary.prepare()
    kept.append(1)
    kept.close()
    assert (kept.examined().faults, kept.maintenance.warnings) == ((), ())


class Killed(SystemExit):
    """Ends a process or thread at this very place; a thread that raises it prints nothing."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the log's thread may be killed
@pytest.mark.parametrize("started", ["signed", "unsigned"])
@pytest.mark.parametrize("at", range(14))
def test_AUD_04_who_is_killed_while_settling_for_a_killed_server_is_no_forger(
    kept: Kept, at: int, started: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settling server is killed before each of its signatures in turn: after a record and before its signature."""
    # Otherwise a timer's thread might be killed instead, if half a second passes.
    monkeypatch.setattr(AuditLog, "_wake_later", lambda _: None)
    call = AuditEvent(AuditKind.TOOL_INTENT, session_id="s", turn_id="t", tool_call_id="c")
    for event in (SERVER, call) if started == "signed" else ():
        kept.log.append(event)
    kept.log.close()
    with AuditLog(kept.path) as unsigned:
        for event in (SERVER, call) if started == "unsigned" else ():
            unsigned.append(event)
    kept.open()
    kept.notary.prepare()
    left = iter(range(at))
    seal = Sealer.seal

    def sealed_or_killed(*given: Any, **named: Any) -> Any:
        if next(left, None) is None:
            raise Killed
        return seal(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Sealer, "seal", sealed_or_killed)
        with suppress(Killed):
            kept.log.settle()
        with suppress(Killed):  # an open log would be in the way; it signs nothing more
            kept.log.close()
    kept.open()
    kept.notary.prepare()
    kept.append(1)
    kept.close()
    assert kept.examined().faults == ()


def test_a_log_from_before_there_were_heads_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path / "logs" / "audit.sqlite3", 5)
    kept = Kept(path)
    kept.append(2, checkpoint=True)
    kept.close()
    report = kept.examined()
    assert (report.faults, report.until) == ((), report.count)


def test_THR_storage_head_one_byte(kept: Kept) -> None:
    """Each byte of the newer half of the file is changed in turn; the older half does not count any more."""
    kept.log.close()
    data = kept.heads.data or b""
    result = verify(kept.path, frozenset({19, 20}))
    assert not hasattr(result, "why")
    evidence, ours = result.evidence, kept.notary.signers()  # type: ignore[union-attr]
    assert prove(StoredHead.read(data), ours, evidence, 0, ()).faults == ()
    newest = StoredHead.read(data).signed
    assert newest is not None
    begin = data.index(newest.line)
    for at in range(begin, begin + len(newest.line)):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        proof = prove(StoredHead.read(changed), ours, evidence, 0, ())
        assert proof.faults or proof.notes, changed[max(0, at - 20) : at + 20]


def test_the_half_that_a_power_cut_left_is_noted(kept: Kept) -> None:
    kept.log.append(SERVER)
    data = kept.heads.data or b""
    kept.log.close()
    newest = StoredHead.read(data).signed
    assert newest is not None
    at = newest.head.serial % 2 * SLOT
    kept.heads.data = data[:at] + bytes(SLOT) + data[at + SLOT :]
    assert kept.examined().until == 20
    kept.heads.data = data[:at] + data[at : at + 100].ljust(SLOT, b"\0") + data[at + SLOT :]
    report = kept.examined()
    assert report.good
    assert any(note.startswith("one of the two copies of the signed head is damaged") for note in report.notes)


def test_a_line_has_one_written_form() -> None:
    line = sign_head(SAID, Signer(KEY)).line
    assert read_head(line) == sign_head(SAID, Signer(KEY))
    for other in (
        line + b" ",
        line.replace(b'"count":3', b'"count":"3"'),
        line.replace(b'"serial":7', b'"serial":7.0'),
    ):
        assert read_head(other) is None
    odd = Head('a"\udcff', 3, "é\n", 1, 2, 7)
    signed = read_head(sign_head(odd, Signer(KEY)).line)
    assert signed is not None
    assert signed.holds(Signer(KEY))
    assert not signed.holds(Signer(bytes(32)))


def test_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    file = HeadFile(tmp_path / "data" / "w.head")
    assert file.read() is None
    signed = sign_head(SAID, Signer(KEY))
    with file.held():
        file.write(signed, b"", durable=True)
    assert StoredHead.read(file.read() or b"").signed == signed
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.parent.stat().st_mode & 0o777 == 0o700
    file.close()
    file.path.unlink()
    file.path.mkdir()
    with pytest.raises(AuditError, match="the signed head of the audit log cannot be read"):
        file.read()


def test_a_head_that_cannot_be_written_stops_no_record(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "logs" / "audit.sqlite3")
    file = HeadFile(tmp_path / "w.head")
    kept.notary.heads = file
    kept.notary.prepare()
    file.path.mkdir()
    kept.append(3)
    assert len(query_audit(kept.path)) == 3
    kept.close()
    assert any("the signed head of the audit log cannot be read" in warning for warning in kept.maintenance.warnings)


CHILD = """
import os, sys
from pathlib import Path
from remit_governance.audit.proof.head import HeadFile
from remit_governance.audit.proof.keys import FileVault
from remit_governance.audit.proof.sealing import CheckpointFile, Notary
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.proof.sealing import Sealer
from remit_governance.audit.store import AuditLog, wall_clock_ms
folder = Path(sys.argv[1])
notary = Notary(CheckpointFile(folder / "c"), FileVault(folder / "key"), HeadFile(folder / "head"))
notary.prepare()
log = AuditLog(folder / "a", sealer=Sealer(notary, wall_clock_ms), known=notary.last_said)
log.settle()
log.append(AuditEvent(AuditKind.KERNEL_START, metadata={"server": sys.argv[2]}))
for i in range(100_000):
    record = log.append(AuditEvent(kind=AuditKind.TOOL_INTENT, input_summary="x" * (i % 3000)))
    os.write(1, f"{record.number}\\n".encode())
"""


@pytest.mark.slow
def test_THR_storage_kill_9_is_never_taken_for_an_attack(tmp_path: Path) -> None:
    """20 servers are killed at a random record; all records that they reported are vouched for, except perhaps the last
    one."""
    notary = Notary(CheckpointFile(tmp_path / "c"), FileVault(tmp_path / "key"), HeadFile(tmp_path / "head"))
    chance = random.Random(7)
    for number in range(20):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path), str(number)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        for _ in range(chance.randrange(1, 40)):
            line = child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        said = [line, *child.stdout.read().splitlines(keepends=True)]
        child.wait()
        child.stdout.close()
        reported = max(int(text) for text in said if text.endswith(b"\n"))
        report = examine(tmp_path / "a", notary)
        assert report.good, report
        assert reported <= report.until <= report.count <= report.until + 1


def test_an_unknown_place_of_checkpoints_still_has_its_head(tmp_path: Path) -> None:
    """Checkpoints and head are both examined, whichever of them is missing."""
    kept = Kept(tmp_path / "logs" / "audit.sqlite3")
    kept.append(3, checkpoint=True)
    kept.close()
    kept.notary = Notary(MemoryPlace(), kept.vault, kept.heads)
    report = kept.examined()
    assert (report.until, report.good) == (report.count, False)
    edit(kept.path, "DELETE FROM records WHERE number = 4")
    assert kept.examined().faults
    with AuditLog(kept.path) as log:
        log.append(events(1)[0])
