"""Retention: how long a log is kept and how large it may become, and the messages when it is deleted or space runs out
(AUD-01)."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from audit_logs import DAY, Kept, edit, events
from messages import SAYS
from rows import rows

from remit_governance.audit.log.database import archive_path, archives
from remit_governance.audit.maintenance import Archive, AuditRules, StorageLevel, due_for_closing, storage, to_delete
from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.reading.verify import Broken, Verified, verify
from remit_governance.audit.record import AuditKind

MIB = 1 << 20


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept.over_four_days(tmp_path / "logs" / "audit.sqlite3")


def test_old_segments_are_deleted_recorded_and_not_missed(kept: Kept) -> None:
    kept.now += 89 * DAY
    kept.maintenance.upkeep()
    assert [ordinal for ordinal, _ in archives(kept.path)] == [2, 3, 4]
    kept.now += 2 * DAY
    kept.append(3)
    kept.maintenance.upkeep()
    kept.close()
    assert [ordinal for ordinal, _ in archives(kept.path)] == [4, 5]
    gone = [
        r.event.metadata["segment"] for r in query_audit(kept.path) if r.event.kind is AuditKind.AUDIT_ARCHIVE_DELETED
    ]
    assert gone[-2:] == ["2", "3"]
    report = kept.examined()
    assert (report.good, report.faults) == (True, ())
    assert report.agreed >= 3, "what is left hangs on the checkpoint at its start"


def test_thr_storage_deleted_beyond_what_was_recorded(kept: Kept) -> None:
    kept.now += 89 * DAY
    kept.maintenance.upkeep()
    kept.close()
    archive_path(kept.path, 2).unlink()
    result = verify(kept.path)
    assert isinstance(result, Broken)
    assert "records 1 to 23 are missing" in result.why


def test_thr_storage_start_recomputed_after_deletion(kept: Kept) -> None:
    """The oldest segment left names the last hash of a deleted one; a checkpoint vouches for that hash."""
    kept.now += 89 * DAY
    kept.maintenance.upkeep()
    kept.close()
    edit(archive_path(kept.path, 2), "UPDATE chain SET previous = 'forged'")
    numbers = {"before": 11, "previous": "forged"}
    rechain(kept.path, numbers)
    assert isinstance(verify(kept.path), Verified)
    assert not kept.examined().good


def rechain(path: Path, first: dict[str, object]) -> None:
    """Makes the chain whole again over the records that are left, beginning with `first`."""
    before, previous = first["before"], first["previous"]
    for file in (*(file for _, file in archives(path)), path):
        with closing(sqlite3.connect(file)) as database, database:
            (started,) = database.execute("SELECT started FROM chain").fetchone()
            database.execute("UPDATE chain SET before = ?, previous = ?", (before, previous))
            head = hashlib.sha256(f"genesis:{started}:{previous}".encode()).hexdigest()
            for number, content in database.execute("SELECT number, content FROM records ORDER BY number").fetchall():
                head = hashlib.sha256((head + content).encode()).hexdigest()
                database.execute("UPDATE records SET hash = ? WHERE number = ?", (head, number))
                before = number
            database.execute("UPDATE chain SET head = ?", (head,))
            previous = head


def archive(ordinal: int, days_ago: float, mib: float) -> Archive:
    return Archive(ordinal, Path(f"{ordinal}"), int(mib * MIB), int((1000 - days_ago) * DAY))


DELETED = {
    "nothing to do": ([(1, 90, 1), (2, 1, 1)], 1, []),
    "past its days": ([(1, 91, 1), (2, 90, 1)], 1, [1]),
    "all past their days": ([(1, 300, 1), (2, 200, 1)], 1, [1, 2]),
    "too large": ([(1, 3, 400), (2, 2, 400), (3, 1, 400)], 60, [1]),
    "much too large": ([(1, 3, 800), (2, 2, 800), (3, 1, 800)], 60, [1, 2]),
    "the active one alone is too large": ([(1, 3, 1), (2, 2, 1)], 2000, [1, 2]),
    "an older clock later": ([(1, 1, 1), (2, 300, 1)], 1, []),
    "closed in the future": ([(1, -5, 1)], 1, []),
}


@rows("name", DELETED)
def test_the_oldest_go_first_and_no_more_than_must(name: str) -> None:
    closed, active, expected = DELETED[name]
    gone = to_delete([archive(*values) for values in closed], active * MIB, 1000 * DAY, AuditRules())
    assert [a.ordinal for a in gone] == expected


ROOM = {
    "much": (100 * MIB, 1 << 40, StorageLevel.FINE),
    "80 %": (int(819.2 * MIB), 1 << 40, StorageLevel.FINE),
    "more than 80 %": (820 * MIB, 1 << 40, StorageLevel.WARNING),
    "more than 95 %": (980 * MIB, 1 << 40, StorageLevel.CRITICAL),
    "too much": (2000 * MIB, 1 << 40, StorageLevel.CRITICAL),
    "a small log on a full disk": (10 * MIB, 0, StorageLevel.CRITICAL),
    "a small log on a disk with little left": (10 * MIB, 2 * MIB, StorageLevel.WARNING),
    "nothing at all": (0, 0, StorageLevel.CRITICAL),
}


@rows("name", ROOM)
def test_room_is_what_the_rules_give_or_the_disk_has(name: str) -> None:
    used, free, level = ROOM[name]
    found = storage(used, free, AuditRules())
    assert found.level is level
    assert "MiB" in found.why


def test_running_out_of_room_is_said_and_recorded_once(kept: Kept) -> None:
    size = sum(file.stat().st_size for file in kept.path.parent.iterdir() if "lock" not in file.name)
    for free in (1 << 40, size // 6, size // 6, 0, 0):
        kept.free = free
        kept.maintenance.upkeep()
    kinds = [r.event.kind for r in query_audit(kept.path) if "storage" in r.event.kind]
    assert kinds == [AuditKind.AUDIT_STORAGE_WARNING, AuditKind.AUDIT_STORAGE_CRITICAL]
    assert len(kept.maintenance.warnings) == 2
    assert SAYS.are_left_for_the_audit in kept.maintenance.warnings[1]
    assert kept.maintenance.storage is not None
    assert kept.maintenance.storage.level is StorageLevel.CRITICAL
    assert len(archives(kept.path)) == 3, "a full disk deletes nothing"


@pytest.mark.slow
def test_too_large_a_log_loses_its_oldest_segment(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a", AuditRules(max_bytes=4 * MIB))
    for _ in range(22):
        for _ in range(40):
            kept.log.append(replace(events(1)[0], input_summary="x" * 8_000))
        kept.maintenance.upkeep()
    kept.close()
    ordinals = [ordinal for ordinal, _ in archives(kept.path)]
    assert ordinals[0] > 1
    assert sum(file.stat().st_size for file in kept.path.parent.iterdir()) < 5 * MIB
    assert kept.examined().good


def test_due_for_closing() -> None:
    rules = AuditRules()
    assert not due_for_closing(5 * DAY, 0, 6 * DAY - 1, rules)
    assert due_for_closing(5 * DAY, 0, 6 * DAY, rules)
    assert not due_for_closing(5 * DAY, 0, 1, rules)
    assert due_for_closing(5 * DAY, rules.max_bytes // 16 + 1, 5 * DAY, rules)
