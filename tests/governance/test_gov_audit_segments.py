"""Segments: daily rotation with a chain across them, retention, and warnings about disk space (AUD-01)."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import pytest
from audit_logs import DAY, Kept, edit, events, recompute, second_opinion, written
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remit_governance.audit.log.database import archive_path, archives
from remit_governance.audit.maintenance import (
    AuditRules,
)
from remit_governance.audit.reading.query import AuditFilter, query_audit, stream_audit
from remit_governance.audit.reading.verify import Broken, Verified, verify
from remit_governance.audit.record import AuditEvent, AuditKind, AuditRecord
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError

MIB = 1 << 20


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept.over_four_days(tmp_path / "logs" / "audit.sqlite3")


def test_each_day_has_a_segment_and_the_chain_goes_on(kept: Kept) -> None:
    assert [ordinal for ordinal, _ in archives(kept.path)] == [1, 2, 3]
    assert kept.log.segment().ordinal == 4
    kept.close()
    report = kept.examined()
    assert (report.good, report.count, report.agreed) == (True, 47, 4)
    assert second_opinion(kept.path)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in kept.path.parent.iterdir())


def test_each_segment_ends_with_a_checkpoint(kept: Kept) -> None:
    """So a signed checkpoint still vouches for the start of the log after the oldest segment is deleted."""
    assert [line["count"] for line in kept.lines()] == [10, 22, 34]
    records = query_audit(kept.path)
    assert [r.number for r in records if r.event.kind is AuditKind.CHECKPOINT] == [11, 23, 35]


def test_records_are_found_in_every_segment(kept: Kept) -> None:
    everything = query_audit(kept.path)
    assert [r.number for r in everything] == list(range(1, 47))
    assert [b.prev_hash == a.hash for a, b in pairwise(everything)].count(False) == 3
    assert tuple(stream_audit(kept.path)) == everything
    assert query_audit(kept.path, AuditFilter(limit=15)) == everything[-15:]
    assert query_audit(kept.path, AuditFilter(limit=0)) == ()
    day_two = AuditFilter(since=20_001 * DAY, until=20_002 * DAY)
    # The checkpoint that ends a day's segment is made on the next day.
    assert [r.number for r in query_audit(kept.path, day_two)] == list(range(11, 23))
    assert len(query_audit(kept.path, AuditFilter(session_id="s1", limit=5))) == 5


@pytest.mark.parametrize(
    "wanted",
    [
        AuditFilter(session_id="s1"),
        AuditFilter(tool_call_id="c3"),
        AuditFilter(policy_decision="denied", session_id="s2"),
        AuditFilter(policy_decision="denied"),
        AuditFilter(policy_decision="review_required"),
        AuditFilter(kind=AuditKind.CHECKPOINT),
        AuditFilter(tool_name="x' OR 1=1 --"),
        AuditFilter(policy_rule_name="write-workspace", limit=3),
        AuditFilter(turn_id="t", since=20_001 * DAY, until=20_002 * DAY),
        AuditFilter(kind=AuditKind.TOOL_INTENT, until=20_002 * DAY, limit=12),
    ],
    ids=str,
)
def test_an_index_finds_what_reading_everything_finds(kept: Kept, wanted: AuditFilter) -> None:
    def fits(record: AuditRecord) -> bool:
        asked = {f.name: value for f in fields(wanted) if (value := getattr(wanted, f.name)) is not None}
        since, until, _ = asked.pop("since", 0), asked.pop("until", 1 << 62), asked.pop("limit", None)
        denied = record.event.denied_by is not None and asked.get("policy_decision") == "denied"
        rest = {k: v for k, v in asked.items() if not (denied and k == "policy_decision")}
        return since <= record.timestamp < until and all(getattr(record.event, k) == v for k, v in rest.items())

    everything = [record for record in query_audit(kept.path) if fits(record)]
    assert query_audit(kept.path, wanted) == tuple(everything[-(wanted.limit or 1000) :])
    assert list(stream_audit(kept.path, wanted)) == everything


@pytest.mark.parametrize("recorded", [True, False])
def test_thr_storage_an_index_that_hides_a_record_is_found(kept: Kept, *, recorded: bool) -> None:
    """It is found even after a crash between the closing of a segment and its record in the log."""
    if recorded:
        kept.close()
    else:
        kept.log.close_segment(4)
        kept.log.close()
    assert kept.examined().good
    edit(archive_path(kept.path, 3 if recorded else 4), "DELETE FROM fields WHERE value = 'denied' AND number % 2 = 0")
    (fault,) = kept.examined().faults
    assert fault.why.startswith(f"segment {3 if recorded else 4} was changed: its ")


def test_nothing_is_closed_before_its_time(kept: Kept) -> None:
    kept.maintenance.upkeep()
    kept.now += DAY - kept.now % DAY - 1
    kept.maintenance.upkeep()
    assert kept.log.segment().ordinal == 4
    kept.now -= 5 * DAY
    kept.maintenance.upkeep()
    assert kept.log.segment().ordinal == 4, "THR-storage-clock-back"


def test_a_large_segment_is_closed_the_same_day(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a", AuditRules(max_bytes=MIB))
    kept.append(1)
    for _ in range(200):
        kept.log.append(replace(events(1)[0], input_summary="x" * 500))
    kept.maintenance.upkeep()
    assert kept.log.segment().ordinal == 2
    kept.append(1)
    kept.maintenance.upkeep()
    assert kept.log.segment().ordinal == 2, "the room that the closed one left does not count"
    kept.close()
    assert kept.examined().good


def test_upkeep_is_done_by_itself(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a", AuditRules(checkpoint_every=10))
    kept.maintenance.start()
    kept.append(30)
    until(lambda: kept.place.data is not None)
    kept.now += DAY
    kept.append(1)
    until(lambda: kept.log.segment().ordinal == 2)
    kept.append(1)
    kept.close()
    report = kept.examined()
    assert report.good
    assert report.agreed >= 3, "by number, by day, and at the end"
    assert kept.maintenance.warnings == ()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


TAMPERING: dict[str, tuple[Callable[[Path], object], int, str]] = {
    "THR-storage-segment-changed": (
        lambda path: edit(archive_path(path, 2), "UPDATE records SET content = content || ' ' WHERE number = 15"),
        15,
        "record 15 does not match its hash",
    ),
    "THR-storage-segment-truncated": (
        lambda path: edit(archive_path(path, 2), "DELETE FROM records WHERE number > 20"),
        21,
        "the chain's end says 23 records, but there are 20",
    ),
    "THR-storage-segment-removed": (lambda path: archive_path(path, 2).unlink(), 12, "segment 2 is missing"),
    "THR-storage-segment-last-removed": (lambda path: archive_path(path, 3).unlink(), 24, "segment 3 is missing"),
    "THR-storage-segment-first-removed": (
        lambda path: archive_path(path, 1).unlink(),
        1,
        "records 1 to 11 are missing, and no record says that they were deleted for their age",
    ),
    "THR-storage-segment-moved": (
        lambda path: archive_path(path, 2).replace(archive_path(path, 1)),
        1,
        "audit.sqlite3.000001 is not segment 1 of this log",
    ),
    "THR-storage-segment-of-another-log": (
        lambda path: edit(archive_path(path, 2), "UPDATE chain SET log = 'x'"),
        12,
        "audit.sqlite3.000002 is not segment 2 of this log",
    ),
    "THR-storage-segment-start-moved": (
        lambda path: edit(archive_path(path, 2), "UPDATE chain SET before = 12"),
        12,
        "segment 2 does not continue where the one before it ended",
    ),
    "THR-storage-segment-no-database": (
        lambda path: archive_path(path, 2).write_bytes(b"nothing" * 100),
        12,
        "the database is damaged here",
    ),
    "THR-storage-segment-first-starts-late": (
        lambda path: edit(archive_path(path, 1), "UPDATE chain SET before = 1"),
        1,
        "the first segment says that records came before it",
    ),
    "THR-storage-active-goes-on-elsewhere": (
        lambda path: edit(path, "UPDATE chain SET previous = 'x'"),
        36,
        "segment 4 does not continue where the one before it ended",
    ),
    "THR-storage-earlier-record-in-active": (
        lambda path: edit(path, "INSERT INTO records VALUES (5, '{}', 'x')"),
        5,
        "record 5 is in segment 4, which begins after 35",
    ),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_thr_storage_segments(name: str, kept: Kept) -> None:
    kept.log.close()
    attack, number, why = TAMPERING[name]
    attack(kept.path)
    result = verify(kept.path)
    assert isinstance(result, Broken)
    assert (result.record_number, why in result.why) == (number, True), result


def test_thr_storage_recomputed_segment(kept: Kept) -> None:
    """THR-storage-recomputed: every segment from the second on is recomputed, so that the chain is whole again."""
    kept.log.close()
    recompute(kept.path, lambda record: record.update(tool_name="x") if record["number"] == 15 else None)
    assert isinstance(verify(kept.path), Verified)
    assert second_opinion(kept.path)
    report = kept.examined()
    assert (report.good, report.faults[0].record_number) == (False, 11)
    assert "records 11 to 22" in report.faults[0].why


CRASH = """
import os, signal, sqlite3, sys
from pathlib import Path
from remit_governance.audit.store import AuditLog
log = AuditLog(Path(sys.argv[1]), clock=lambda: int(sys.argv[2]))
steps = iter(range(10**9))
def step(*ignored):
    if next(steps) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(lambda name, arguments: step() if name in ("open", "os.rename", "os.remove", "sqlite3.connect") else None)
log._chain._connection.set_trace_callback(step)
log.close_segment(log.segment().ordinal)
print("closed", flush=True)
"""


@pytest.mark.slow
def test_thr_storage_kill_in_the_middle_of_closing_a_segment(tmp_path: Path) -> None:
    """THR-storage-kill-rotation: killed at every statement and every file operation, the log is whole and goes on."""
    closed = 0
    for step in range(40):
        path = written(tmp_path / str(step) / "audit.sqlite3", 12)
        run = subprocess.run(
            [sys.executable, "-c", CRASH, str(path), str(30_000 * DAY), str(step)], capture_output=True, check=False
        )
        assert run.returncode in {0, -signal.SIGKILL}, run.stderr
        assert verify(path).count == 12, step  # type: ignore[union-attr]
        assert len(query_audit(path)) == 12
        with AuditLog(path) as log:
            log.append(events(1)[0])
            log.close_segment(log.segment().ordinal)
            log.append(events(1)[0])
        assert verify(path).count == 14  # type: ignore[union-attr]
        assert second_opinion(path)
        closed += run.stdout == b"closed\n"
        if closed == 2:
            break
    assert step > 8, "it has as many steps to be killed at"
    assert closed == 2


def test_a_checkpoint_of_a_log_whose_active_segment_is_empty(kept: Kept) -> None:
    """Another process has closed the segment meanwhile."""
    kept.log.close_segment(4)
    assert kept.maintenance.checkpoint() is not None
    kept.close()
    report = kept.examined()
    assert (report.faults, report.agreed) == ((), 4)


def test_thr_storage_truncated_segment_is_not_closed(kept: Kept) -> None:
    """If it were closed or continued, its end would look right."""
    kept.log.flush()
    edit(kept.path, "DELETE FROM records WHERE number > 40")
    with pytest.raises(AuditError, match="its end is not the one that was recorded"):
        kept.log.close_segment(4)
    kept.append(10)
    kept.log.close()
    result = verify(kept.path)
    assert isinstance(result, Broken)
    assert (result.record_number, result.why) == (46, "record 46 is not the one that the chain's end names")


def test_the_end_is_noted_within_half_a_second(tmp_path: Path) -> None:
    """So a removed end is noticed even before there is a checkpoint; a note for each append would cost another page."""
    path = tmp_path / "a"
    with AuditLog(path) as log:
        for event in events(30):
            log.append(event)
        until(lambda: noted(path) == 30)


def noted(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT count FROM chain").fetchone()[0]


def test_two_processes_close_a_segment_once(kept: Kept) -> None:
    with AuditLog(kept.path, clock=lambda: kept.now) as other:
        ordinal = kept.log.segment().ordinal
        assert kept.log.close_segment(ordinal) == archive_path(kept.path, ordinal)
        assert other.close_segment(ordinal) is None
        other.append(events(1)[0])
    assert kept.log.close_segment(ordinal + 1) is not None
    assert kept.log.close_segment(ordinal + 2) is None, "an empty one is not closed"
    assert verify(kept.path).count == 47  # type: ignore[union-attr]


def test_a_segment_that_cannot_be_closed_leaves_the_log_as_it_was(kept: Kept) -> None:
    blocked = archive_path(kept.path, 4)
    (blocked / "x").mkdir(parents=True)
    with pytest.raises(AuditError, match="cannot be rotated"):
        kept.log.close_segment(4)
    kept.now += DAY
    kept.maintenance.upkeep()
    assert "the audit log cannot be rotated" in kept.maintenance.warnings[0]
    kept.append(1)
    shutil.rmtree(blocked)
    kept.maintenance.upkeep()
    assert kept.log.segment().ordinal == 5
    assert isinstance(verify(kept.path), Verified)


# the chain, compared with the second implementation

TEXT = st.text(max_size=8)
EVENT = st.builds(
    AuditEvent, kind=st.sampled_from(AuditKind), input_summary=TEXT, metadata=st.dictionaries(TEXT, TEXT, max_size=1)
)
COLUMNS = ("content", "hash", "number", "before", "previous", "started", "count", "head")


@pytest.mark.slow
@given(st.lists(EVENT | st.none(), max_size=12), st.integers(0, 10**6), st.sampled_from(COLUMNS), st.booleans())
@example([None, AuditEvent(AuditKind.APPROVAL_REFUSED), None], 0, "count", True)
@settings(max_examples=examples(60), deadline=None)
def test_two_implementations_agree_whatever_is_recorded_and_changed(
    tmp_path_factory: pytest.TempPathFactory, said: list[AuditEvent | None], luck: int, column: str, damaged: bool
) -> None:
    """None in `said` closes a segment; afterwards one value in some database is changed if `damaged`."""
    path = tmp_path_factory.mktemp("audit") / "a"
    with AuditLog(path) as log:
        for event in said:
            if event is None:
                log.close_segment(log.segment().ordinal)
            else:
                log.append(event)
    if damaged:
        change(path, luck, column)
    assert isinstance(verify(path), Verified) is second_opinion(path)


def change(path: Path, luck: int, column: str) -> None:
    files = [*(file for _, file in archives(path)), path]
    table = "records" if column in COLUMNS[:3] else "chain"
    with closing(sqlite3.connect(files[luck % len(files)])) as database, database:
        rows = database.execute(f"SELECT rowid, {column} FROM {table} ORDER BY rowid").fetchall()
        if not rows:
            return
        row, value = rows[luck % len(rows)]
        new = value + 1_000 if isinstance(value, int) else value[:-1] + ("0" if value[-1:] != "0" else "1")
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))


@pytest.mark.slow
def test_thr_storage_one_byte_at_every_position(tmp_path: Path) -> None:
    """THR-storage-audit-one-byte: each byte of each record and its hash is changed in the file, in two segments."""
    path = written(tmp_path / "a", 3)
    with AuditLog(path) as log:
        log.close_segment(1)
        log.append(events(1)[0])
    for file in (archive_path(path, 1), path):
        sound = file.read_bytes()
        with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as database:
            rows = database.execute("SELECT number, content, hash FROM records").fetchall()
        for number, content, digest in rows:
            text = (content + digest).encode()
            start = sound.index(text)
            for at in range(start, start + len(text), random.Random(number).choice((1, 2))):
                file.write_bytes(sound[:at] + bytes([sound[at] ^ 0x04]) + sound[at + 1 :])
                result = verify(path)
                assert isinstance(result, Broken), at
                assert result.record_number == number, (at, result)
        file.write_bytes(sound)
    assert isinstance(verify(path), Verified)
