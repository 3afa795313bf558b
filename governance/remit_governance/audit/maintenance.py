"""Maintains one log (effect): has its end signed, closes its segments, deletes old ones, warns when room runs out, and
examines the log when it is opened (AUD-01); also the rules of how long and how large a log is kept (AUD-05).

All this is done on a thread of its own, so that no call waits for it; an error in it becomes a warning.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from remit_governance.audit.log.database import Segment, archives, connect, digest_of
from remit_governance.audit.proof.checkpoint import SignedCheckpoint
from remit_governance.audit.proof.checkpoint_file import Lines
from remit_governance.audit.proof.sealing import Notary
from remit_governance.audit.reading.report import examine_start
from remit_governance.audit.record import MAX_SUMMARY, AuditEvent, AuditKind, read_content
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError

DAY_MS = 86_400_000
SEGMENTS_AT_MOST = 64
"""A segment may take one part in this many of a full log, so that deleting the oldest one frees some room, and a search
in the active one, which has no indexes, takes a few milliseconds."""


@dataclass(frozen=True, slots=True)
class AuditRules:
    """The limits of a log: days and bytes that are kept, and records between two checkpoints."""

    retention_days: int = 90
    max_bytes: int = 1 << 30
    checkpoint_every: int = 250

    @property
    def segment_bytes(self) -> int:
        """The size at which the active segment is closed, whatever its age."""
        return self.max_bytes // SEGMENTS_AT_MOST


@dataclass(frozen=True, slots=True)
class Archive:
    """A closed segment: its file, its size, and the time of its last record (milliseconds since the epoch)."""

    ordinal: int
    path: Path
    bytes: int
    ended: int


class StorageLevel(StrEnum):
    """How full the room for a log is."""

    FINE = "fine"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Storage:
    """The room for a log, of which `used` bytes are taken. `why` says in words what limits it."""

    level: StorageLevel
    used: int
    why: str


def storage(used: int, free: int, rules: AuditRules) -> Storage:
    """Returns how full a log of `used` bytes is on a disk with `free` bytes left: above 80 % is a warning, above 95 %
    critical.

    Its room is `rules.max_bytes`, or the log and the free disk space together if that is less.
    """
    room = min(rules.max_bytes, used + free)
    share = used / room if room else 1.0
    level = StorageLevel.CRITICAL if share > 0.95 else StorageLevel.WARNING if share > 0.8 else StorageLevel.FINE
    limit = "the audit log may have" if room == rules.max_bytes else "are left for the audit log on its disk"
    return Storage(level, used, f"it takes {_size(used)} of the {_size(room)} that {limit}")


def due_for_closing(started: int, bytes_used: int, now: int, rules: AuditRules) -> bool:
    """Returns whether a segment begun at `started` is to be closed at `now` (milliseconds since the epoch), because a
    new UTC day has begun or it is too large. A clock that went back closes nothing."""
    return now // DAY_MS > started // DAY_MS or bytes_used > rules.segment_bytes


def to_delete(closed: Sequence[Archive], active_bytes: int, now: int, rules: AuditRules) -> tuple[Archive, ...]:
    """Returns which closed segments (given oldest first) to delete: those that are too old, and then the oldest ones as
    long as all together are too large.

    A full disk is no reason to delete, because otherwise anyone who fills the disk could erase the log.
    """
    used = active_bytes + sum(archive.bytes for archive in closed)
    gone: list[Archive] = []
    for archive in closed:
        if now - archive.ended <= rules.retention_days * DAY_MS and used <= rules.max_bytes:
            break
        gone.append(archive)
        used -= archive.bytes
    return tuple(gone)


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"


LOOK_EVERY = 1_000
"""The number of records after which sizes are checked again."""

PATIENCE_S = 15.0
"""How long `close` waits for the thread to finish its work."""

STANDARD_RULES = AuditRules()

KINDS = {
    StorageLevel.WARNING: AuditKind.AUDIT_STORAGE_WARNING,
    StorageLevel.CRITICAL: AuditKind.AUDIT_STORAGE_CRITICAL,
}
LEVELS = tuple(StorageLevel)
UNKEPT = "the maintenance of the audit log failed"

log = logging.getLogger(__name__)


def free_bytes(folder: Path) -> int:
    """Returns how many bytes are free on the folder's disk."""
    return shutil.disk_usage(folder).free


class Maintenance:
    """Maintains `log` by `rules`. Without a notary no checkpoints are made."""

    def __init__(
        self,
        log: AuditLog,
        notary: Notary | None = None,
        rules: AuditRules = STANDARD_RULES,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        """Does no maintenance until `start`, or one of the other methods, is called. Raises AuditError."""
        self.log, self._notary, self.rules, self._free = log, notary, rules, free
        self.warnings: tuple[str, ...] = ()
        for message in log.notices:
            self._warn(message)
        log.notify = self._told
        self.storage: Storage | None = None
        self._opened = log.segment()
        self._vouched = ("", 0)
        self._began = ""
        self._due = False
        self._vouching = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="remit-audit", daemon=True)
        self._next_look = self._opened.count + min(LOOK_EVERY, rules.checkpoint_every)
        self._day = self._opened.started // DAY_MS

    def start(self) -> None:
        """Starts the thread, which examines the log as it is now and then maintains it."""
        self.log.on_append = self._grown
        self.log.on_security_event = self._secure
        self._wake.set()
        self._thread.start()

    def close(self) -> None:
        """Makes a checkpoint of the log's end, and closes the log. Idempotent. Raises AuditError if records are
        lost."""
        if self._closing:
            return
        self._closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(PATIENCE_S)
        with self._warning("the audit log was closed without a checkpoint"):
            self.checkpoint()
            self.log.seal(durable=True)
        self.log.close()

    def checkpoint(self) -> SignedCheckpoint | None:
        """Makes a checkpoint of all records, and records that; returns None if there is one already or no notary.
        Raises AuditError."""
        with self._vouching:
            if self._notary is None:
                return None
            self.log.flush()
            segment = self.log.segment()
            if segment.count <= self._vouched_until(segment.log):
                return None
            self._notary.prepare()
            segment = self._sealed()
            signed = self._notary.vouch(segment, self.log.clock())
            metadata = {"count": str(segment.count), "digest": signed.digest, "key": signed.key}
            if self._notary.heads is not None:
                metadata["head"] = "signed"
            record = self.log.append(AuditEvent(AuditKind.CHECKPOINT, metadata=metadata))
            # Another thread may have added records between the two, and the checkpoint does not cover those.
            alone = record.number == segment.count + 1
            self._vouched = (segment.log, record.number if alone else segment.count)
            return signed

    def upkeep(self) -> None:
        """Does now what is due: a checkpoint, closing the segment, deleting old ones, a warning about room."""
        with self._warning(UNKEPT):
            now, segment, rules = self.log.clock(), self.log.segment(), self.rules
            self._next_look = segment.count + min(LOOK_EVERY, rules.checkpoint_every)
            self._day = max(self._day, now // DAY_MS)
            to_close = due_for_closing(segment.started, self.log.used_bytes(), now, rules)
            due, self._due = self._due, False
            if to_close or due or segment.count - self._vouched_until(segment.log) >= rules.checkpoint_every:
                self.checkpoint()
            if to_close and (archive := self.log.close_segment(segment.ordinal)):
                # The chain protects the segment's records; this digest protects its indexes too.
                metadata = {"segment": str(segment.ordinal), "digest": digest_of(archive)}
                self.log.append(AuditEvent(AuditKind.AUDIT_SEGMENT_CLOSED, metadata=metadata))
            self._delete_old(now)
            self._measure()

    def _grown(self, number: int) -> None:
        if number >= self._next_look or self.log.clock() // DAY_MS > self._day:
            self._wake.set()

    def _run(self) -> None:
        with self._warning(UNKEPT):
            if self._notary is not None:
                self._notary.prepare()
                self._begin()
        with self._warning(UNKEPT):
            self._look()
        with self._warning(UNKEPT):
            self.log.seal()
        while not self._closing:
            self._wake.wait()
            self._wake.clear()
            if not self._closing:
                self.upkeep()

    def _secure(self) -> None:
        self._due = True
        self._wake.set()

    def _told(self, message: str) -> None:
        """Warns of what the log reports about itself; has a checkpoint made soon, because the log may be new."""
        self._warn(message)
        self._secure()

    def _look(self) -> None:
        """Examines the log at the start; warns of faults and records them, but blocks nothing (AUD-01, OBS-04)."""
        for fault in examine_start(self.log.path, self._notary):
            if fault.damaged:
                self.log.renew(fault.why)
                continue
            state = "cannot be relied on" if fault.record_number is None else "is not whole"
            where = {} if fault.record_number is None else {"record": str(fault.record_number)}
            self._break(f"the audit log {state}: {fault.why}", fault.why, where)

    def _break(self, message: str, why: str, metadata: Mapping[str, str]) -> None:
        self._warn(message)
        event = AuditEvent(AuditKind.AUDIT_CHAIN_BREAK, output_summary=why[:MAX_SUMMARY], metadata=metadata)
        self.log.append(event)

    def _sealed(self) -> Segment:
        """Returns the active segment of a log whose beginning is vouched for, once the signed head is on the disk,
        because the head must not be older than a checkpoint."""
        while True:
            self._begin()
            self.log.seal(durable=True)
            segment = self.log.segment()
            begun = self.log.begun
            # Each write may find that the log is gone, and begin a new one.
            if begun is None or begun.log == self._began:
                return segment

    def _begin(self) -> None:
        """Makes a checkpoint of a new, still empty log, which proves that Remit began it in place of an earlier one,
        and nobody put it there."""
        begun = self.log.begun
        if self._notary is None or begun is None or begun.log == self._began:
            return
        self._began = begun.log
        # This turns the head of an earlier log into a checkpoint.
        self.log.seal()
        signed = [s.checkpoint for s in Lines.read(self._notary.place.read() or b"").signed if s]
        if not signed or begun.log in {c.log for c in signed}:
            return
        self._notary.vouch(begun, self.log.clock())
        if begun.log == self.log.set_aside:
            return  # the first record of the new log says so already
        why = f"an earlier one with {signed[-1].count} records is no longer here"
        self._break(f"a new audit log was started: {why}", f"started anew: {why}", {"log": signed[-1].log})

    def _vouched_until(self, log: str) -> int:
        """Returns the number of the last record that a known checkpoint covers, or of the `checkpoint` record that
        follows it."""
        if self._vouched[0] != log and self._notary is not None:
            signed = Lines.read(self._notary.place.read() or b"").signed
            ours = (s.checkpoint.count + 1 for s in signed if s and s.checkpoint.log == log)
            self._vouched = (log, max(ours, default=0))
        return self._vouched[1]

    def _delete_old(self, now: int) -> None:
        path = self.log.path
        active = self.log.segment().ordinal
        closed = [_archive(ordinal, file) for ordinal, file in archives(path) if ordinal < active]
        for archive in to_delete(closed, self.log.used_bytes(), now, self.rules):
            # Record it first, because an archive that is gone without a record would look stolen.
            metadata = {"segment": str(archive.ordinal), "bytes": str(archive.bytes), "ended": str(archive.ended)}
            self.log.append(AuditEvent(AuditKind.AUDIT_ARCHIVE_DELETED, metadata=metadata))
            archive.path.unlink(missing_ok=True)

    def _measure(self) -> None:
        path = self.log.path
        files = [path, path.with_name(f"{path.name}-wal"), *(file for _, file in archives(path))]
        used = sum(file.stat().st_size for file in files if file.exists())
        before = self.storage.level if self.storage else StorageLevel.FINE
        self.storage = storage(used, self._free(path.parent), self.rules)
        level = self.storage.level
        if LEVELS.index(level) > LEVELS.index(before):
            self._warn(f"the audit log is running out of room: {self.storage.why}")
            self.log.append(AuditEvent(KINDS[level], output_summary=self.storage.why))

    def _warn(self, message: str) -> None:
        if message in self.warnings:
            return
        self.warnings = (*self.warnings, message)
        log.warning("%s", message)

    @contextmanager
    def _warning(self, what: str) -> Generator[None]:
        try:
            yield
        except (AuditError, sqlite3.Error, OSError, ValueError) as error:
            self._warn(f"{what}: {error}")


def _archive(ordinal: int, file: Path) -> Archive:
    """Returns a closed segment with the time of its last record, or that of the file if the record cannot be read."""
    size = file.stat()
    try:
        with closing(connect(file, read_only=True)) as connection:
            row = connection.execute("SELECT content FROM records ORDER BY number DESC LIMIT 1").fetchone()
            ended = read_content(row[0])[1]
    except (sqlite3.Error, ValueError, TypeError):
        ended = int(size.st_mtime * 1000)
    return Archive(ordinal, file, size.st_size, ended)
