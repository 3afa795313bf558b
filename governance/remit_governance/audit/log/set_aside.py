"""Sets aside a log that can no longer be used (effect): renames its database and all files that belong to it, and
deletes nothing (AUD-03).
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import sqlite3
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from remit_governance.audit.log.chain import Chain, failing
from remit_governance.audit.log.database import digest_of, sync_folder
from remit_governance.audit.record import MAX_SUMMARY, AuditEvent, AuditKind
from remit_governance.errors import AuditError

_MARK = ".set-aside-"
_COMPANION = re.compile(r"|-wal|-shm|-journal|\.lock|\.\d{6}(\.new)?")
"""Matches the endings, after the database's name, of the files that belong to it."""

_BEYOND_USE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_CANTOPEN", "SQLITE_MISMATCH")
_OUT_OF_ORDER = ("SQLITE_CONSTRAINT", "SQLITE_TOOBIG")
"""Errors of writing the next record if the numbers in the log are out of order."""
_UNREADABLE = ("SQLITE_IOERR_READ", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS", "SQLITE_READONLY")
_SMALLEST_PAGE = 512
_NO_LOG = frozenset({errno.EACCES, errno.EPERM, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EINVAL, errno.EIO})
"""Errors of opening a file that exists but cannot be used; a full disk, for example, is none of them."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """A log that was set aside: its database's new name, the reason, its size in bytes, and the digest of its content
    (empty if it cannot be read)."""

    name: str
    why: str
    bytes: int
    digest: str

    @property
    def message(self) -> str:
        """The message for the person."""
        return f"the audit log could not be used and was set aside as {self.name}; a new one is started: {self.why}"

    def event(self, known: Mapping[str, str]) -> AuditEvent:
        """Returns the event for the first record of the new log. `known` is what is known about the old log from
        elsewhere."""
        metadata = {"file": self.name, "bytes": str(self.bytes), "digest": self.digest, **known}
        present = {name: value for name, value in metadata.items() if value}
        return AuditEvent(AuditKind.AUDIT_SET_ASIDE, output_summary=self.why[:MAX_SUMMARY], metadata=present)


def beyond_use(error: AuditError) -> bool:
    """Returns whether the log itself is at fault, and not a full disk, another process or this one's limits."""
    cause = error.__cause__
    if isinstance(cause, OSError):
        return cause.errno in _NO_LOG
    if isinstance(cause, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return False  # a mistake in Remit, such as writing after `close`, which does not harm the file
    if isinstance(cause, sqlite3.Error):
        # Our own error about the format has no code.
        name = str(getattr(cause, "sqlite_errorname", _BEYOND_USE[0]))
        return name.startswith((*_BEYOND_USE, *_OUT_OF_ORDER, *_UNREADABLE))
    return cause is not None


@contextmanager
def renewing(path: Path) -> Generator[None]:
    """Keeps other processes from setting the log at `path` aside until the end. Raises AuditError."""
    with failing(path, "set aside"):
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def try_new(path: Path, now: int) -> None:
    """Checks that a new log can be written beside `path`, because otherwise it is no use to set the old one aside.

    Raises AuditError if it cannot.
    """
    trial = path.with_name(f"{path.name}.trial-{secrets.token_hex(4)}")
    try:
        with failing(trial, "written"):
            os.close(os.open(trial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        Chain(trial, now).close()
    finally:
        for end in ("", "-wal", "-shm"):
            trial.with_name(trial.name + end).unlink(missing_ok=True)


def set_aside(path: Path, now: int, why: str) -> SetAside:
    """Renames the database at `path` and its files, except a lock file that can be opened. Raises AuditError."""
    with failing(path, "set aside"):
        new = _free_name(path, now)
        size, digest = _described(path)
        # Rename the database first: if a crash leaves other files here without it, they are set aside the next time.
        for end in sorted(_companions(path)):
            path.with_name(path.name + end).rename(path.with_name(new + end))
        sync_folder(path.parent)
    return SetAside(new, why, size, digest)


def not_whole(path: Path) -> str:
    """Returns why SQLite would begin the database anew although that loses records, or an empty text if it would not:
    SQLite drops a file too short for a database, and the write-ahead log of an empty one. Raises OSError."""
    size = 0
    with suppress(FileNotFoundError):
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size >= _SMALLEST_PAGE:
            return ""
        size = status.st_size
    if size:
        return "it is too short to be a database"
    wal = path.with_name(f"{path.name}-wal")
    if (wal.is_file() and wal.stat().st_size) or any(re.fullmatch(r"\.\d{6}", end) for end in _ends(path)):
        return "some of its records exist, but the database is missing or empty"
    return ""


def _described(path: Path) -> tuple[int, str]:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return 0, ""
    return (status.st_size, digest_of(path)) if stat.S_ISREG(status.st_mode) else (0, "")


def _free_name(path: Path, now: int) -> str:
    moment = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    name, number = f"{path.name}{_MARK}{moment}", 1
    while any(entry.name.startswith(name) for entry in path.parent.iterdir()):
        number += 1
        name = f"{path.name}{_MARK}{moment}-{number}"
    return name


def _ends(path: Path) -> list[str]:
    names = (entry.name for entry in path.parent.iterdir() if entry.name.startswith(path.name))
    return [name[len(path.name) :] for name in names]


def _companions(path: Path) -> list[str]:
    ends = (end for end in _ends(path) if _COMPANION.fullmatch(end))
    return [end for end in ends if not _in_use(path.with_name(path.name + end), end)]


def _in_use(path: Path, end: str) -> bool:
    """Returns whether a companion file stays: a lock file that can be opened, because other processes may hold it."""
    return end == ".lock" and stat.S_ISREG(path.lstat().st_mode) and os.access(path, os.R_OK | os.W_OK)
