"""The audit database's schema, and how it is opened (AUD-02).

A log is one active database and, beside it, the closed segments, each a database of the same schema. The active one
keeps its name and its file, so that several processes can share it; its records are moved to a new file when it is
closed.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from remit_governance.audit.record import AuditKind, genesis_hash

APPLICATION_ID = 0x52454D54
"""`REMT` in ASCII, in the database's header."""

SCHEMA_VERSION = 2
BUSY_TIMEOUT_MS = 10_000

SCHEMA = {
    "chain": (
        "CREATE TABLE chain (id INTEGER PRIMARY KEY CHECK (id = 1), log TEXT NOT NULL, segment INTEGER NOT NULL,"
        " before INTEGER NOT NULL, previous TEXT NOT NULL, started INTEGER NOT NULL, count INTEGER NOT NULL,"
        " head TEXT NOT NULL) STRICT"
    ),
    "records": ("CREATE TABLE records (number INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL) STRICT"),
}
"""Every table. `content` is the record's canonical JSON; nothing of a record is stored elsewhere, so each byte is
hashed. `chain` has one row, a `Segment`."""

INDEXED = (
    "session_id",
    "turn_id",
    "tool_call_id",
    "tool_name",
    "kind",
    "policy_decision",
    "policy_rule_name",
    "denied_by",
    "timestamp",
)
"""The fields for which a closed segment has an index."""

INDEX = {
    "fields": (
        "CREATE TABLE fields (name TEXT NOT NULL, value ANY NOT NULL, number INTEGER NOT NULL,"
        " PRIMARY KEY (name, value, number)) STRICT, WITHOUT ROWID"
    )
}
"""The additional table of a closed segment: which records have which value in which field. The active segment has no
index, because it is small, and each field would mean one more page to write with every record."""

_FIELDS = "log, segment, before, previous, started, count, head"
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Segment:
    """One database's place in its log.

    `log` is the log's id, `ordinal` counts segments from 1, `before` is how many records earlier segments have, and
    `previous` is the last hash of those (empty for the first segment). `started` is in milliseconds since the epoch.
    `count` is the number of the last record and `head` its hash, so that a removed end is noticed. In the row of the
    active database they are up to half a second old; more records may follow.
    """

    log: str
    ordinal: int
    before: int
    previous: str
    started: int
    count: int
    head: str

    @staticmethod
    def first(started: int) -> Segment:
        """Returns the empty first segment of a new log."""
        return Segment(uuid.uuid4().hex, 1, 0, "", started, 0, genesis_hash(started))

    @staticmethod
    def of(rows: Sequence[tuple[object, ...]]) -> Segment | None:
        """Returns the segment that the one row of `chain` describes, or None if the rows describe none, as after damage
        or tampering."""
        match rows:
            case [(str(log), int(ordinal), int(before), str(previous), int(started), int(count), str(head))]:
                return Segment(log, ordinal, before, previous, started, count, head)
            case _:
                return None

    @property
    def genesis(self) -> str:
        """The `prev_hash` of the segment's first record."""
        return genesis_hash(self.started, self.previous)

    @property
    def last_hash(self) -> str:
        """The hash of the log's last record, in this segment or an earlier one; for an empty log the genesis hash."""
        return self.previous if self.previous and self.count == self.before else self.head

    def next(self, started: int) -> Segment:
        """Returns the empty segment after this one."""
        return Segment(
            self.log, self.ordinal + 1, self.count, self.head, started, self.count, genesis_hash(started, self.head)
        )


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Returns a connection in autocommit mode, usable from any one thread at a time. Raises sqlite3.Error."""
    uri = f"file:{quote(str(path.absolute()))}"
    if read_only:
        # Without a write-ahead log SQLite has nothing to replay, so `immutable` lets it read in a folder where it
        # cannot write a shared-memory file.
        alone = not Path(f"{path}-wal").exists()
        uri += "?mode=ro&immutable=1" if alone and not os.access(path.parent, os.W_OK) else "?mode=ro"
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_TIMEOUT_MS / 1000
    )
    # SQLite must not run functions that a tampered schema names.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def create(connection: sqlite3.Connection, segment: Segment) -> None:
    """Turns an empty database into this segment, inside the caller's transaction."""
    for statement in SCHEMA.values():
        connection.execute(statement)
    write_segment(connection, segment)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def field_of(name: str) -> str:
    """Returns SQL for a field of a record, one of `INDEXED`."""
    return f"json_extract(content, '$.{name}')"


def create_index(connection: sqlite3.Connection) -> None:
    """Makes the index of a segment that is being closed."""
    connection.execute(INDEX["fields"])
    for name in INDEXED:
        value = field_of(name)
        connection.execute(
            f"INSERT INTO fields SELECT ?, {value}, number FROM records WHERE {value} IS NOT NULL ORDER BY 2, 3",  # noqa: S608 no input in it
            (name,),
        )


def index_is_whole(connection: sqlite3.Connection) -> bool:
    """Returns whether the index of a closed segment has every field of every record; true if there is no index."""
    if not is_indexed(connection):
        return True
    wrong = (
        f"SELECT 1 FROM records r WHERE {field_of(name)} IS NOT"  # noqa: S608 no input in it
        f" (SELECT value FROM fields WHERE name = '{name}' AND value = {field_of(name)} AND number = r.number) LIMIT 1"
        for name in INDEXED
    )
    return not any(connection.execute(sql).fetchone() for sql in wrong)


def is_indexed(connection: sqlite3.Connection) -> bool:
    """Returns whether a segment has an index, as closed ones have."""
    return connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'fields'").fetchone() is not None


def read_segment(connection: sqlite3.Connection) -> Segment | None:
    """Returns the segment from the one row of `chain`, or None if there is no valid one."""
    rows = connection.execute(f"SELECT {_FIELDS} FROM chain").fetchall()  # noqa: S608 a constant
    return Segment.of(rows)


def live_segment(connection: sqlite3.Connection) -> Segment:
    """Returns the active segment with its real end, which may be after the noted one. Raises sqlite3.Error."""
    # Use one statement, so that both tables are read at the same moment.
    rows = connection.execute(
        "SELECT log, segment, before, previous, started, coalesce(number, before), coalesce(hash, '') FROM chain"
        " LEFT JOIN (SELECT number, hash FROM records ORDER BY number DESC LIMIT 1)"
    ).fetchall()
    segment = Segment.of(rows)
    if segment is None:
        raise sqlite3.DatabaseError("the start of the chain is missing or damaged")
    return segment if segment.head else replace(segment, head=segment.genesis)


def write_segment(connection: sqlite3.Connection, segment: Segment) -> None:
    """Replaces the row of `chain`."""
    values = (segment.log, segment.ordinal, segment.before, segment.previous, segment.started, segment.count)
    connection.execute("INSERT OR REPLACE INTO chain VALUES (1, ?, ?, ?, ?, ?, ?, ?)", (*values, segment.head))


def upgrade(connection: sqlite3.Connection) -> None:
    """Turns a log of format 1, which had no segments, into one of this format; its records stay as they are."""
    started, count, head = connection.execute("SELECT started, count, head FROM chain").fetchone()
    connection.execute("DROP TABLE chain")
    connection.execute(SCHEMA["chain"])
    write_segment(connection, replace(Segment.first(started), count=count, head=head))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def newest(connection: sqlite3.Connection, kind: AuditKind) -> str | None:
    """Returns the content of the last record of a kind, or None if there is none."""
    return _content_of(connection, kind, "DESC")


def oldest(connection: sqlite3.Connection, kind: AuditKind) -> str | None:
    """Returns the content of the first record of a kind, or None if there is none."""
    return _content_of(connection, kind, "ASC")


def _content_of(connection: sqlite3.Connection, kind: AuditKind, order: Literal["ASC", "DESC"]) -> str | None:
    # Canonical JSON has this text in each record of the kind, and searching for it is much faster than reading JSON.
    row = connection.execute(
        "SELECT content FROM records WHERE instr(content, ?) AND json_extract(content, '$.kind') = ?"  # noqa: S608 no input in it
        f" ORDER BY number {order} LIMIT 1",
        (f'"kind":"{kind}"', kind.value),
    ).fetchone()
    return row[0] if row else None


def archive_path(path: Path, ordinal: int) -> Path:
    """Returns the file of the closed segment with this ordinal, for the log whose active database is at `path`."""
    return path.with_name(f"{path.name}.{ordinal:0{_DIGITS}d}")


def archives(path: Path) -> tuple[tuple[int, Path], ...]:
    """Returns the existing closed segments of a log: ordinals and files, oldest first. Raises OSError."""
    shape = re.compile(rf"{re.escape(path.name)}\.(\d{{{_DIGITS}}})")
    found = ((shape.fullmatch(entry.name), entry) for entry in path.parent.iterdir())
    return tuple(sorted((int(match[1]), entry) for match, entry in found if match))


def digest_of(path: Path) -> str:
    """Returns the digest of a file's content, or an empty text if it cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 a descriptor
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError:
        return ""


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
