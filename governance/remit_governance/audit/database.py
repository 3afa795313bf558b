"""The audit database's shape, and how it is opened (003 §Audit Log Module, Storage)."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

APPLICATION_ID = 0x52454D54
"""`REMT`, in the database's header."""

SCHEMA_VERSION = 1
BUSY_TIMEOUT_MS = 10_000

SCHEMA = {
    "chain": (
        "CREATE TABLE chain (id INTEGER PRIMARY KEY CHECK (id = 1), started INTEGER NOT NULL,"
        " count INTEGER NOT NULL, head TEXT NOT NULL) STRICT"
    ),
    "records": ("CREATE TABLE records (number INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL) STRICT"),
}
"""Every table. `content` is the record's canonical JSON and the only copy of it, so each of its bytes is hashed;
`chain` has one row: the start time (milliseconds), and the count and last hash, by which a removed end is seen."""


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """A connection in autocommit mode, usable from any one thread at a time. Raises sqlite3.Error."""
    uri = f"file:{quote(str(path.absolute()))}"
    if read_only:
        # Without a log to replay nothing has to be written, not even where a shared-memory file could not be.
        alone = not Path(f"{path}-wal").exists()
        uri += "?mode=ro&immutable=1" if alone and not _writable(path.parent) else "?mode=ro"
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_TIMEOUT_MS / 1000
    )
    # SQLite itself must not run what a tampered schema holds.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)
