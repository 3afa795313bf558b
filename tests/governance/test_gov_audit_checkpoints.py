"""Signed checkpoints find what a chain cannot show by itself (AUD-01)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from audit_logs import Kept, edit, recompute, written
from messages import SAYS

from remit_governance.audit.proof.checkpoint import Checkpoint, SignedCheckpoint, Signer, make, read_line
from remit_governance.audit.proof.checkpoint_file import Lines, judge
from remit_governance.audit.proof.keys import MemoryVault
from remit_governance.audit.proof.sealing import CheckpointFile, MemoryPlace, Notary
from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.reading.report import examine, examine_start
from remit_governance.audit.reading.verify import Verified, verify
from remit_governance.audit.record import AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A log of 40 records, with checkpoints after 20, 31 (which includes the first one's own record) and 42."""
    kept = Kept(tmp_path / "logs" / "audit.sqlite3")
    for count in (20, 10, 10):
        kept.append(count, checkpoint=True)
    kept.close()
    assert [line["count"] for line in kept.lines()] == [20, 31, 42]
    return kept


def test_a_log_that_was_left_alone_is_good(kept: Kept) -> None:
    report = kept.examined()
    assert (report.good, report.count, report.agreed, report.notes) == (True, 43, 3, ())
    assert examine_start(kept.path, kept.notary) == ()
    claimed = [r.event.metadata for r in query_audit(kept.path) if r.event.kind is AuditKind.CHECKPOINT]
    assert [claim["digest"] for claim in claimed] == [s.digest for s in Lines.read(kept.place.data or b"").signed if s]


def truncated(kept: Kept) -> None:
    recompute(kept.path, keep=25)


def emptied(kept: Kept) -> None:
    recompute(kept.path, keep=0)


def rewritten(kept: Kept) -> None:
    recompute(kept.path, lambda record: record.update(policy_decision="allowed"))


def last_rewritten(kept: Kept) -> None:
    recompute(kept.path, lambda record: record.update(tool_name="read_file") if record["number"] == 41 else None)


def cut_off_and_filled_up(kept: Kept) -> None:
    recompute(kept.path, keep=25)
    written(kept.path, 30)


def replaced(kept: Kept) -> None:
    kept.path.unlink()
    written(kept.path, 50)


def given_another_name(kept: Kept) -> None:
    edit(kept.path, "UPDATE chain SET log = 'another'")


def started_at_another_time(kept: Kept) -> None:
    edit(kept.path, "UPDATE chain SET started = started + 1")
    recompute(kept.path)


ATTACKS: dict[str, tuple[Callable[[Kept], None], int, str]] = {
    "THR-storage-truncated": (truncated, 26, "the end was cut off: a checkpoint vouches for records 26 to 31"),
    "THR-storage-emptied": (emptied, 1, "the end was cut off: a checkpoint vouches for records 1 to 20"),
    "THR-storage-recomputed": (rewritten, 1, "the chain was recomputed: a checkpoint vouches for a different hash"),
    "THR-storage-recomputed-end": (last_rewritten, 32, "a different hash of records 32 to 42"),
    "THR-storage-truncated-and-filled-up": (cut_off_and_filled_up, 21, "a different hash of records 21 to 31"),
    "THR-storage-replaced": (replaced, 1, "it was replaced: the log last vouched for was another one, with 42 records"),
    "THR-storage-renamed": (given_another_name, 1, "it was replaced"),
    "THR-storage-restarted": (started_at_another_time, 1, "the chain was recomputed"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_thr_storage_whole_chain(name: str, kept: Kept) -> None:
    """After each attack the chain itself still verifies."""
    attack, number, why = ATTACKS[name]
    attack(kept)
    assert isinstance(verify(kept.path), Verified), "this is what checkpoints are for"
    report = kept.examined()
    assert (report.faults[0].record_number, report.good) == (number, False), report
    assert why in report.faults[0].why
    assert examine_start(kept.path, kept.notary), "it is seen at the start too"


def test_thr_storage_replaced_log_is_not_made_good_by_going_on(kept: Kept) -> None:
    """A server that goes on in the attacker's log signs new records, but that does not vouch for the log's
    beginning."""
    replaced(kept)
    kept.open()
    kept.maintenance.checkpoint()
    kept.close()
    assert SAYS.it_was_replaced in kept.examined().faults[0].why


def test_thr_storage_recomputed_log_is_not_made_good_by_going_on(kept: Kept) -> None:
    rewritten(kept)
    kept.open()
    kept.append(5, checkpoint=True)
    kept.close()
    assert kept.examined().faults[0].record_number == 1


def test_aud_04_a_log_begun_while_a_checkpoint_is_made_is_vouched_for_from_its_beginning(kept: Kept) -> None:
    kept.open()
    kept.append(1, checkpoint=True)
    kept.append(1)
    kept.log.flush()
    for end in ("", "-wal", "-shm"):
        kept.path.with_name(kept.path.name + end).unlink()
    # The checkpoint notices while it seals that the log is gone, and begins another one.
    assert kept.maintenance.checkpoint() is not None
    kept.append(3, checkpoint=True)
    kept.close()
    assert kept.examined().faults == ()


def test_a_log_begun_anew_here_is_good_and_the_earlier_one_is_not_forgotten(kept: Kept) -> None:
    kept.path.unlink()
    kept.open()
    kept.maintenance.start()
    kept.append(3)
    kept.close()
    assert kept.maintenance.warnings == (
        "a new audit log was started: an earlier one with 43 records is no longer here",
    )
    report = kept.examined()
    assert (report.good, report.agreed >= 2) == (True, True), "one at the start, one at the end, or more"
    assert report.notes[0] == "an earlier log of 43 records is no longer here"
    assert "started anew: an earlier one with 43 records is no longer here" in report.notes[1]


def lines_of(kept: Kept) -> list[bytes]:
    return (kept.place.data or b"").splitlines(keepends=True)


def forged(kept: Kept, key: bytes) -> bytes:
    """Returns the last line with the content that the attacker wants, signed with `key`."""
    said = read_line(lines_of(kept)[-1].strip()).checkpoint
    return make(Checkpoint(said.log, 10, "x", said.started, said.time, said.previous), Signer(key)).line + b"\n"


def with_old_signature(kept: Kept) -> bytes:
    last = json.loads(lines_of(kept)[-1])
    signed = SignedCheckpoint(read_line(forged(kept, KEY).strip()).checkpoint, last["key"], last["signature"])
    return signed.line + b"\n"


FILES: dict[str, tuple[Callable[[Kept], bytes], str]] = {
    "THR-storage-checkpoint-first-removed": (
        lambda kept: b"".join(lines_of(kept)[1:]),
        "the first lines of the checkpoint file were removed",
    ),
    "THR-storage-checkpoint-middle-removed": (
        lambda kept: lines_of(kept)[0] + lines_of(kept)[2],
        "line 2 of the checkpoint file does not follow the line before",
    ),
    "THR-storage-checkpoint-last-removed": (
        lambda kept: b"".join(lines_of(kept)[:2]),
        "record 43 says that a checkpoint was made that is not in the checkpoint file",
    ),
    "THR-storage-checkpoint-emptied": (lambda kept: b"", "record 43 says that a checkpoint was made that is not in"),
    "THR-storage-checkpoint-moved": (
        lambda kept: b"".join(lines_of(kept)[i] for i in (1, 0, 2)),
        "the first lines of the checkpoint file were removed",
    ),
    "THR-storage-checkpoint-forged": (
        lambda kept: b"".join(lines_of(kept)[:2]) + forged(kept, OTHER_KEY),
        "which is not one of ours",
    ),
    "THR-storage-checkpoint-old-signature": (
        lambda kept: b"".join(lines_of(kept)[:2]) + with_old_signature(kept),
        "line 3 of the checkpoint file has a wrong signature",
    ),
    "THR-storage-checkpoint-rubbish": (
        lambda kept: b"{}\n" + (kept.place.data or b""),
        "line 1 of the checkpoint file",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_thr_storage_checkpoint_file(name: str, kept: Kept) -> None:
    attack, why = FILES[name]
    kept.place.data = attack(kept)
    report = kept.examined()
    assert any(why in fault.why for fault in report.faults), report


@pytest.mark.slow
def test_thr_storage_checkpoint_one_byte(kept: Kept) -> None:
    """Each byte of the checkpoint file is changed in turn."""
    data = kept.place.data or b""
    evidence = verify(kept.path, frozenset({20, 31, 42})).evidence  # type: ignore[union-attr]
    trusted = kept.notary.trusted()
    assert judge(Lines.read(data), trusted, evidence).faults == ()
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        judgement = judge(Lines.read(changed), trusted, evidence)
        assert judgement.faults or judgement.notes, changed[max(0, at - 20) : at + 20]
        assert judgement.faults or at == len(data) - 1, "only the last line break looks like a crash"


def test_thr_storage_checkpoint_file_removed_is_said(kept: Kept) -> None:
    kept.place.data = None
    report = kept.examined()
    assert [fault.why for fault in report.faults] == [
        "the checkpoint file was removed, though record 43 says that a checkpoint was made"
    ]


def test_without_any_checkpoint_that_is_said(tmp_path: Path) -> None:
    report = examine(written(tmp_path / "a"), Notary(MemoryPlace(), MemoryVault()))
    assert report.good
    assert report.notes[0].startswith("no checkpoint was made yet")


def test_a_checkpoint_made_after_the_file_was_read_is_no_fault(kept: Kept) -> None:
    """A running server makes a checkpoint between the two reads, that of the file and that of the log."""
    early = kept.place.data
    kept.open()
    kept.append(5, checkpoint=True)
    kept.close()
    evidence = verify(kept.path, Lines.read(early or b"").numbers).evidence  # type: ignore[union-attr]
    judgement = judge(Lines.read(early or b""), kept.notary.trusted(), evidence, Lines.read(kept.place.data or b""))
    assert judgement.faults == ()


def test_without_our_key_nothing_is_believed(kept: Kept) -> None:
    stranger = Notary(kept.place, MemoryVault(OTHER_KEY))
    assert SAYS.which_is_none_of_ours in examine(kept.path, stranger).faults[0].why
    locked = Notary(kept.place, MemoryVault(broken=True))
    assert SAYS.the_vault_is_locked in examine(kept.path, locked).faults[0].why
    assert SAYS.the_vault_is_locked in examine_start(kept.path, locked)[0].why


def test_a_chain_that_is_broken_is_named_before_its_checkpoints(kept: Kept) -> None:
    edit(kept.path, "UPDATE records SET hash = 'x' WHERE number = 7")
    report = kept.examined()
    assert (report.count, report.faults[0].record_number) == (6, 7)


def test_the_start_looks_at_all_of_a_small_log_and_from_the_last_checkpoint_on_at_a_large_one(kept: Kept) -> None:
    kept.open()
    kept.append(6)
    kept.log.close()
    edit(kept.path, "UPDATE records SET hash = 'x' WHERE number = 7")
    assert [fault.record_number for fault in examine_start(kept.path, kept.notary)] == [7]
    assert examine_start(kept.path, kept.notary, most=1_000) == ()
    edit(kept.path, "UPDATE records SET hash = 'x' WHERE number = 46")
    (fault,) = examine_start(kept.path, kept.notary)
    assert fault.record_number == 46


def test_a_broken_chain_at_the_start_is_recorded_and_blocks_nothing(kept: Kept) -> None:
    """AUD-04: it is logged as a warning."""
    edit(kept.path, "UPDATE records SET content = content || ' ' WHERE number = 43")
    kept.open()
    kept.maintenance.start()
    kept.append(1)
    kept.close()
    assert kept.maintenance.warnings == ("the audit log is not whole: record 43 does not match its hash",)
    found = [r.event for r in query_audit(kept.path) if r.event.kind is AuditKind.AUDIT_CHAIN_BREAK]
    assert [event.metadata for event in found] == [{"record": "43"}]


# the file


def test_the_file_is_the_owners_alone_and_outside_the_logs_folder(tmp_path: Path) -> None:
    file = CheckpointFile(tmp_path / "data" / "checkpoints" / "w.jsonl")
    assert file.read() is None
    notary = Notary(file, MemoryVault(KEY))
    with AuditLog(tmp_path / "state" / "audit.sqlite3") as log:
        first = notary.vouch(log.segment(), 1)
        second = notary.vouch(log.segment(), 2)
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.parent.stat().st_mode & 0o777 == 0o700
    assert (first.checkpoint.previous, second.checkpoint.previous) == ("", first.digest)
    assert file.read() == first.line + b"\n" + second.line + b"\n"


def test_a_line_that_a_crash_cut_off_is_noted_and_then_dropped(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "state" / "audit.sqlite3")
    file = CheckpointFile(tmp_path / "w.jsonl")
    kept.maintenance._notary = kept.notary = Notary(file, kept.vault)
    kept.append(5, checkpoint=True)
    with file.path.open("ab") as out:
        out.write(b'{"count":7,"he')
    report = kept.examined()
    assert (report.good, report.notes) == (True, (SAYS.the_last_line_of_the,))
    kept.append(5, checkpoint=True)
    kept.close()
    report = kept.examined()
    assert (report.good, report.agreed, report.notes) == (True, 2, ())


def test_a_file_that_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "state" / "audit.sqlite3", 3)
    (tmp_path / "folder").mkdir()
    notary = Notary(CheckpointFile(tmp_path / "folder"), MemoryVault(KEY))
    report = examine(path, notary)
    assert (report.good, report.faults[0].why) == (
        False,
        f"the checkpoint file cannot be read: {tmp_path / 'folder'}: is a directory",
    )
    with AuditLog(path) as log, pytest.raises(AuditError, match="no checkpoint can be made"):
        notary.vouch(log.segment(), 1)


def test_a_log_of_the_first_format_goes_on(tmp_path: Path) -> None:
    """Format 1 had no segments: its chain table is replaced, and its records and their hashes stay."""
    path = written(tmp_path / "a", 5)
    before = [(r.number, r.hash) for r in query_audit(path)]
    (started, count, head), *_ = sqlite3.connect(path).execute("SELECT started, count, head FROM chain").fetchall()
    edit(
        path,
        "DROP TABLE chain",
        "CREATE TABLE chain (id INTEGER PRIMARY KEY CHECK (id = 1), started INTEGER NOT NULL,"
        " count INTEGER NOT NULL, head TEXT NOT NULL) STRICT",
        f"INSERT INTO chain VALUES (1, {started}, {count}, '{head}')",
        "PRAGMA user_version = 1",
    )
    written(path, 2)
    assert verify(path).count == 7  # type: ignore[union-attr]
    assert [(r.number, r.hash) for r in query_audit(path)][:5] == before


@pytest.mark.parametrize(
    "metadata", [[], "x", 5, {"digest": 5}, {"digest": {"a": "b"}}, {"digest": None}, {"a": [[]]}], ids=str
)
def test_thr_storage_recomputed_around_nonsense(metadata: object, kept: Kept) -> None:
    """A record that Remit did not write gives a finding, never a traceback."""
    recompute(kept.path, lambda record: record.update(metadata=metadata) if record["kind"] == "checkpoint" else None)
    assert not kept.examined().good
    with pytest.raises(AuditError, match="cannot be read"):
        query_audit(kept.path)
    with AuditLog(kept.path) as log:
        assert log.settle() >= 0


def test_thr_storage_recomputed_around_something_deep(kept: Kept) -> None:
    deep: list[object] = []
    for _ in range(900):
        deep = [deep]
    recompute(kept.path, lambda record: record.update(metadata={"a": deep}) if record["number"] == 43 else None)
    assert not kept.examined().good
