"""Checking an audit log from its first record to its last (003 §Audit Log Module, Chain integrity).

Finds any change of a record, a removed or reordered one, a missing end, and a damaged file. Without a key it cannot
find a chain that was recomputed as a whole.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from remit_governance.audit.database import APPLICATION_ID, SCHEMA, SCHEMA_VERSION, connect
from remit_governance.audit.record import chain_hash, genesis_hash, read_content
from remit_governance.audit.wal import damaged_frame


@dataclass(frozen=True, slots=True)
class Verified:
    """The chain holds: `count` records, the last one's hash in `head`."""

    count: int
    head: str


@dataclass(frozen=True, slots=True)
class Broken:
    """The chain does not hold. `record_number` is the first record that is wrong, missing or out of reach."""

    record_number: int
    why: str


def verify(path: Path) -> Verified | Broken:
    """Check the database at `path` without changing it; never raises for what is wrong with it."""
    if not path.is_file():
        return Broken(1, f"there is no audit log at {path}")
    try:
        connection = connect(path, read_only=True)
    except sqlite3.Error as error:
        return Broken(1, f"the database cannot be opened: {error}")
    walk = _Walk(connection)
    try:
        # One read transaction: what is appended meanwhile is not looked at.
        connection.execute("BEGIN")
        return walk.shape() or walk.chain() or walk.end(path) or Verified(walk.count, walk.head)
    except (sqlite3.Error, OSError, UnicodeError, OverflowError) as error:
        return Broken(walk.count + 1, f"the database is damaged here: {error}")
    finally:
        connection.close()


class _Walk:
    """One pass over a database: how far it came, and the hash it came to."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.count = 0
        self.head = ""

    def shape(self) -> Broken | None:
        """Whether the database is what we would have created."""
        found = dict(self._connection.execute("SELECT name, sql FROM sqlite_schema WHERE type != 'index'"))
        if found != SCHEMA:
            return Broken(1, "the tables are not those of an audit log")
        identity = (self._pragma("application_id"), self._pragma("user_version"))
        if identity != (APPLICATION_ID, SCHEMA_VERSION):
            return Broken(1, "the file's header is not that of an audit log")
        return None

    def chain(self) -> Broken | None:
        """Every record from the first, each hashed after the one before it."""
        rows = self._connection.execute("SELECT started FROM chain").fetchall()
        if len(rows) != 1:
            return Broken(1, "the start of the chain is missing")
        self.head = genesis_hash(rows[0][0])
        for number, content, digest in self._records():
            expected = self.count + 1
            if number != expected:
                return Broken(expected, f"record {expected} is missing: record {number} follows")
            if not isinstance(content, str) or not isinstance(digest, str):
                return Broken(expected, f"record {expected} is not text")
            if chain_hash(self.head, content.encode()) != digest:
                return Broken(expected, f"record {expected} does not match its hash")
            fault = _content_fault(content, number)
            if fault is not None:
                return Broken(expected, fault)
            self.count, self.head = expected, digest
        return None

    def end(self, path: Path) -> Broken | None:
        """Whether the chain ends where it said it would, and the rest of the file is sound."""
        count, head = self._connection.execute("SELECT count, head FROM chain").fetchone()
        if (count, head) != (self.count, self.head):
            why = f"the chain's end says {count} records, {self.count} are there"
            return Broken(min(count, self.count) + 1 if count != self.count else self.count, why)
        state = self._pragma("integrity_check")
        if state != "ok":
            return Broken(self.count + 1, f"the database is damaged: {state}")
        frame = damaged_frame(Path(f"{path}-wal"))
        if frame is not None:
            return Broken(self.count + 1, f"frame {frame} of the write-ahead log is damaged, what followed is lost")
        return None

    def _records(self) -> Iterator[tuple[int, object, object]]:
        yield from self._connection.execute("SELECT number, content, hash FROM records ORDER BY number")

    def _pragma(self, name: str) -> object:
        return self._connection.execute(f"PRAGMA {name}").fetchone()[0]


def _content_fault(content: str, number: int) -> str | None:
    """What is wrong with a record whose hash is right: it was hashed over nonsense."""
    try:
        said, _, _ = read_content(content)
    except ValueError as error:
        return f"record {number} cannot be read: {error}"
    return None if said == number else f"record {number} says it is record {said}"
