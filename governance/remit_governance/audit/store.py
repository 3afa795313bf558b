"""Writing the audit log (effect): each record is on disk before `append` returns (003 §Audit Log Module, Storage).

Several processes may append to one file: each append reads the chain's head inside its own write transaction, so there
is one chain. `kill -9` at any moment leaves whole records only.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from remit_governance.audit.database import APPLICATION_ID, SCHEMA, SCHEMA_VERSION, connect
from remit_governance.audit.record import (
    AuditEvent,
    AuditRecord,
    chain_hash,
    genesis_hash,
    record_content,
)
from remit_governance.errors import AuditError


def wall_clock_ms() -> int:
    """Milliseconds since the epoch. It may go back; the chain's order is the records' numbers."""
    return time.time_ns() // 1_000_000


class AuditLog:
    """One open audit log. Methods may be called from any thread, one at a time goes on."""

    def __init__(self, path: Path, clock: Callable[[], int] = wall_clock_ms) -> None:
        """Open the log at `path`, creating it (0600) and its folder (0700) where missing. Raises AuditError."""
        self.path = path
        self._clock = clock
        self._lock = threading.Lock()
        with self._failing("opened"):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Created here and not by SQLite, which would use the process's umask.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._connection = connect(path, read_only=False)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def append(self, event: AuditEvent) -> AuditRecord:
        """Chain the event to the log and make it durable. Raises AuditError, and then nothing was recorded."""
        with self._lock, self._failing("written"), self._transaction():
            count, head = self._connection.execute("SELECT count, head FROM chain").fetchone()
            number, timestamp = count + 1, self._clock()
            content = record_content(number, timestamp, event)
            digest = chain_hash(head, content)
            self._connection.execute("INSERT INTO records VALUES (?, ?, ?)", (number, content.decode(), digest))
            self._connection.execute("UPDATE chain SET count = ?, head = ?", (number, digest))
        return AuditRecord(number, timestamp, head, digest, event)

    def close(self) -> None:
        """Close the file. Idempotent."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            if self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
                for statement in SCHEMA.values():
                    self._connection.execute(statement)
                started = self._clock()
                self._connection.execute("INSERT INTO chain VALUES (1, ?, 0, ?)", (started, genesis_hash(started)))
                self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
            head = self._connection.execute("SELECT count, head FROM chain").fetchone()
            if version != SCHEMA_VERSION or head is None:
                raise sqlite3.DatabaseError(f"it is no audit log of format {SCHEMA_VERSION}")

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # SQLite may have rolled back by itself, as it does on a full disk.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _failing(self, done: str) -> Generator[None]:
        """Say of any failure of the file or the database what it means and how to fix it."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise AuditError(f"the audit log cannot be {done}", f"{self.path}: {error}", _fix(error)) from error


def _fix(error: Exception) -> str:
    # Only what SQLite itself reports has a code; our own complaint about the format has none.
    code = str(getattr(error, "sqlite_errorname", "" if isinstance(error, OSError) else "SQLITE_NOTADB"))
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")):
        return "run `remit audit verify`, then move the file away to start a new log"
    if code.startswith("SQLITE_FULL"):
        return "free some disk space"
    if code.startswith("SQLITE_BUSY"):
        return "end the process that holds the log"
    return "make the file and its folder writable, with space left on the disk"
