"""The active database of a log, open for writing (effect): adds records to the chain, and closes segments.

Several processes may have the database open. Each transaction reads the chain's head itself, so there is one chain.
`kill -9` at any moment leaves whole records only. Also finds in the latest records which servers started and ended.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from remit_governance.audit.log.database import (
    APPLICATION_ID,
    BUSY_TIMEOUT_MS,
    SCHEMA_VERSION,
    Segment,
    archive_path,
    connect,
    create,
    create_index,
    live_segment,
    newest,
    sync_folder,
    upgrade,
    write_segment,
)
from remit_governance.audit.record import AuditEvent, AuditKind, AuditRecord, Entry, chain_hash, read_content
from remit_governance.errors import AuditError

LOOKED_BACK = 10_000
"""How many of the active segment's latest records are searched for those about servers and the log."""

_SQL = (
    "SELECT content FROM records WHERE number > (SELECT coalesce(max(number), 0) FROM records) - ?"
    """ AND (instr(content, '"kind":"kernel_') OR instr(content, '"kind":"audit_')) ORDER BY number"""
)

Said = tuple[int, AuditEvent]


def records_about_log(connection: sqlite3.Connection) -> list[Said]:
    """Returns the records about servers and about the log, oldest first. Raises sqlite3.Error, ValueError."""
    contents = connection.execute(_SQL, (LOOKED_BACK,)).fetchall()
    return [(number, event) for number, _, event in (read_content(content) for (content,) in contents)]


def open_servers(records: Iterable[Said]) -> tuple[int, ...]:
    """Returns the record numbers of the starts of servers whose end is not recorded."""
    return tuple(_servers(records)[0].values())


def ended_servers(records: Iterable[Said]) -> tuple[tuple[int, int], ...]:
    """Returns the record numbers of start and end, for servers that have both."""
    return tuple(_servers(records)[1])


def _servers(records: Iterable[Said]) -> tuple[dict[str, int], list[tuple[int, int]]]:
    begun: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for number, event in records:
        server = event.metadata.get("server")
        if server and event.kind is AuditKind.KERNEL_START:
            begun[server] = number
        elif server and event.kind is AuditKind.KERNEL_SHUTDOWN and server in begun:
            found.append((begun.pop(server), number))
    return begun, found


HEAD_KEPT = '"head":"signed"'
"""In the metadata of a `checkpoint` record: a signed head is kept besides the checkpoints."""

_LAST = "SELECT number, hash FROM records ORDER BY number DESC LIMIT 1"
_GOES_ON = "count = before OR head = (SELECT hash FROM records WHERE number = count)"
"""SQL that is true if the record at the noted end is still there, so that nothing up to it was removed."""
_WHOLE = f"SELECT 1 FROM chain WHERE {_GOES_ON}"  # noqa: S608 no input in it
_NOTE = f"UPDATE chain SET count = ?, head = ? WHERE {_GOES_ON}"  # noqa: S608 no input in it


class Chain:
    """One open log; only one thread may use it at a time."""

    def __init__(self, path: Path, now: int) -> None:
        """Opens the database at `path`; in an empty file begins a new log at the time `now`. Raises AuditError."""
        self.path = path
        self.begun: Segment | None = None
        """The empty first segment, if this object began the log."""
        with failing(path, "opened"):
            self._connection = connect(path, read_only=False)
            self._file = _identity(path)
            # Make these once, because every append uses them.
            self._cursor = self._connection.cursor()
            self._writing, self._transaction = (
                failing(path, "written"),
                _Transaction(self._connection, self._cursor.execute),
            )
            self._syncs = False
            try:
                segment = self._prepare(now)
                self.log, self.started = segment.log, segment.started
                self.end = self.before = self._carried = (segment.count, segment.last_hash)
            except BaseException:
                self._connection.close()
                raise

    def append(self, entries: Sequence[Entry], *, durable: bool = True, note_end: bool = True) -> AuditRecord | None:
        """Adds the entries to the chain, all or none; returns the last record, or None if there are no entries.

        The records then outlive the process; with `durable`, they and all before them also outlive a power cut.
        `note_end` also notes where the chain ends now, so that a removed end is noticed; that writes one page more.
        Afterwards `end` is the number and hash of the last record, and `before` is the same from before this call.
        Raises AuditError if none was recorded.
        """
        execute = self._cursor.execute
        previous = ""
        rows: list[tuple[int, str, str]] = []
        with self._writing, self._synced(durable=durable):
            last = execute(_LAST).fetchone()
            number, head = last or self._start()
            before = last or self._carried
            for entry in entries:
                number += 1
                content = entry.content(number)
                previous, head = head, chain_hash(head, content)
                rows.append((number, content.decode(), head))
            self._cursor.executemany("INSERT INTO records VALUES (?, ?, ?)", rows)
            if note_end:
                # Move the noted end only if its record is still there, so that a log cut short is still noticed.
                execute(_NOTE, (number, head))
        self.before, self.end = before, (number, head) if rows else before
        if not entries:
            return None
        return AuditRecord(number, entries[-1].timestamp, previous, head, entries[-1].event)

    def segment(self) -> Segment:
        """Returns the active segment as it is now. Raises AuditError."""
        with failing(self.path, "read"):
            return live_segment(self._connection)

    def used_bytes(self) -> int:
        """Returns how many bytes the active segment takes, without the free pages that a closed one left in the file.
        Raises AuditError."""
        with failing(self.path, "read"):
            pages, free, size = (
                self._connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * size)

    def latest(self, limit: int) -> list[AuditEvent]:
        """Returns the events of the last records of the active segment, oldest first. Skips unreadable records, which
        `verify` reports. Raises AuditError."""
        with failing(self.path, "read"):
            sql = "SELECT content FROM records ORDER BY number DESC LIMIT ?"
            rows = self._connection.execute(sql, (limit,)).fetchall()
        events: list[AuditEvent] = []
        for (content,) in reversed(rows):
            try:
                events.append(read_content(content)[2])
            except ValueError:
                continue
        return events

    def close_segment(self, ordinal: int, now: int) -> Path | None:
        """Moves the records of segment `ordinal` into a closed segment, and begins an empty one at the time `now`.

        Returns the closed segment's file, or None if the segment is empty or no longer the active one. The file is on
        the disk before anything leaves the active database. Raises AuditError.
        """
        with failing(self.path, "rotated"), self._synced(durable=True):
            segment = live_segment(self._connection)
            if segment.ordinal != ordinal or segment.count == segment.before:
                return None
            if not self._cursor.execute(_WHOLE).fetchone():
                raise sqlite3.DatabaseError("its end is not the one that was recorded")
            archive = archive_path(self.path, ordinal)
            _write_archive(archive, segment, self._connection)
            self._connection.execute("DELETE FROM records")
            write_segment(self._connection, segment.next(now))
        return archive

    def in_place(self) -> bool:
        """Returns whether the open file is still the one at its path, because records written to a removed or replaced
        file are lost."""
        try:
            return _identity(self.path) == self._file
        except OSError:
            return False

    def hash_at(self, number: int) -> str | None:
        """Returns the hash of a record, or None if it is not in the active segment. Raises AuditError."""
        with failing(self.path, "read"):
            segment = live_segment(self._connection)
            if number in {segment.before, segment.count}:
                return segment.last_hash if number == segment.count else segment.previous or segment.genesis
            row = self._cursor.execute("SELECT hash FROM records WHERE number = ?", (number,)).fetchone()
        return row[0] if row else None

    def open_servers(self, own: Sequence[tuple[int, int]], until: int) -> tuple[int, ...]:
        """Returns the starts of servers whose end is not recorded, among the latest records except those in `own`; if
        there are none, the starts of servers that had not ended at record `until`. Raises AuditError."""
        with failing(self.path, "read"):
            records = records_about_log(self._connection)
        still = open_servers((n, event) for n, event in records if not any(a <= n <= b for a, b in own))
        return still or open_servers((n, event) for n, event in records if n <= until)

    def every(self, first: int, last: int, fits: Callable[[AuditEvent], bool]) -> bool:
        """Returns whether each record from `first` to `last` is in the active segment and fits. Raises AuditError."""
        sql = "SELECT content FROM records WHERE number BETWEEN ? AND ?"
        with failing(self.path, "read"):
            found = [fits(read_content(content)[2]) for (content,) in self._connection.execute(sql, (first, last))]
        return len(found) == last - first + 1 and all(found)

    def says_head(self) -> bool:
        """Returns whether the newest `checkpoint` record of the active segment says that a head is kept. Raises
        AuditError."""
        with failing(self.path, "read"):
            content = newest(self._connection, AuditKind.CHECKPOINT)
        return content is not None and HEAD_KEPT in content

    def close(self) -> None:
        """Closes the file. Idempotent."""
        if self.in_place():
            self._connection.close()
        else:
            _abandon(self._connection)

    def _prepare(self, now: int) -> Segment:
        execute = self._connection.execute
        # Refuse a database that is no audit log before anything is written to it.
        (tables,) = execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
            raise sqlite3.DatabaseError(f"it is not an audit log of format {SCHEMA_VERSION}")
        # Each append writes one to three pages, so make them small; only a new file takes this setting.
        execute("PRAGMA page_size = 2048")
        self._write_ahead()
        with self._synced(durable=True):
            if execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
                self.begun = Segment.first(now)
                create(self._connection, self.begun)
            (identity,) = execute("PRAGMA application_id").fetchone()
            (version,) = execute("PRAGMA user_version").fetchone()
            if (identity, version) == (APPLICATION_ID, 1):
                upgrade(self._connection)
            elif version != SCHEMA_VERSION:
                raise sqlite3.DatabaseError(f"it is not an audit log of format {SCHEMA_VERSION}")
            return live_segment(self._connection)

    def _write_ahead(self) -> None:
        """Switches to a write-ahead log. SQLite does not wait while another process does the same, so try again."""
        end = time.monotonic() + BUSY_TIMEOUT_MS / 1000
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return

    def _synced(self, *, durable: bool) -> _Transaction:
        """Returns a transaction whose commit waits for the disk (FULL), or leaves that to a later one (NORMAL)."""
        if durable is not self._syncs:
            self._cursor.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._syncs = durable
        return self._transaction

    def _start(self) -> tuple[int, str]:
        """Returns the number and hash after which the first record of an empty active segment is chained."""
        segment = live_segment(self._connection)
        self._carried = (segment.count, segment.last_hash)
        self.started = segment.started
        return segment.count, segment.head


@dataclass(frozen=True, slots=True)
class failing:  # noqa: N801 it reads as a statement
    """Turns any failure of the file or the database into an AuditError, which says what it means and how to fix it."""

    path: Path
    done: str

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # A damaged file may hold numbers instead of text, text instead of numbers, or the highest possible number.
        if isinstance(error, sqlite3.Error | OSError | TypeError | AttributeError | ValueError | OverflowError):
            what = f"the audit log cannot be {self.done}"
            raise AuditError(what, f"{self.path}: {_reason(error, self.path)}", _fix(error)) from error


@dataclass(frozen=True, slots=True)
class _Transaction:
    """Commits all statements or none. It is a class, because a generator would cost a tenth of a durable append."""

    connection: sqlite3.Connection
    execute: Callable[[str], object]

    def __enter__(self) -> None:
        self.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                self.execute("COMMIT")
        finally:
            # SQLite may have rolled back by itself, as it does when the disk is full.
            if self.connection.in_transaction:
                self.execute("ROLLBACK")


def _abandon(connection: sqlite3.Connection) -> None:
    """Leaves a connection open until the process ends, and never closes it.

    When the last connection to a database is closed, SQLite removes the write-ahead log by its name. This database was
    renamed or removed, and a file of that name may be the write-ahead log of another database that is in use.
    """
    if connection.in_transaction:
        connection.rollback()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _identity(path: Path) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 it is on the way of every record, and a Path costs as much again
    return status.st_dev, status.st_ino


def _write_archive(archive: Path, segment: Segment, source: sqlite3.Connection) -> None:
    """Copies all records into a database of their own, replacing one of this name that a crash left behind."""
    temporary = archive.with_name(f"{archive.name}.new")
    temporary.unlink(missing_ok=True)
    os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    target = connect(temporary, read_only=False)
    try:
        target.execute("PRAGMA synchronous = FULL")
        # Large pages, because the file is written once and read from end to end, which is faster with them.
        target.execute("PRAGMA page_size = 65536")
        target.execute("BEGIN")
        create(target, segment)
        target.executemany("INSERT INTO records VALUES (?, ?, ?)", source.execute("SELECT * FROM records"))
        create_index(target)
        target.execute("COMMIT")
    finally:
        target.close()
    temporary.replace(archive)
    sync_folder(archive.parent)


def _reason(error: Exception, path: Path) -> str:
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    named = "" if error.filename is None else str(error.filename)
    return error.strerror.lower() + (f" ({named})" if named not in {"", str(path)} else "")


def _fix(error: Exception) -> str:
    # Errors of SQLite itself have a code; our own error about the format has none.
    code = str(getattr(error, "sqlite_errorname", "" if isinstance(error, OSError) else "SQLITE_NOTADB"))
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")):
        return "run `remit audit verify`, then move the file away to start a new log"
    if code.startswith("SQLITE_FULL"):
        return "free some disk space"
    if code.startswith("SQLITE_BUSY"):
        return "end the process that is using the log"
    return "make the file and its folder writable, with space left on the disk"
