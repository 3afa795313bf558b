"""Where records wait on their way into the log (effect): a file of lines beside it, one of each process that uses it.

A line outlives its process at once, and a power cut only when it has become a record, which syncs the disk. What a dead
process left becomes records when the log is next opened.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from remit_governance.audit.record import Entry, read_content

_ATTEMPTS = 8


class Spool:
    """The lines of one open log, to be used by one thread at a time. The file is made when the first line comes."""

    def __init__(self, log: Path) -> None:
        """Nothing is done yet; `log` is the database that the lines wait for."""
        self._log = log
        self._path, self._fd, self._size = log, -1, 0

    def add(self, entry: Entry) -> bool:
        """Keep one more line; False where it cannot be kept, and then nothing was."""
        line = entry.content(0) + b"\n"
        try:
            if self._fd < 0:
                self._path, self._fd = _create(self._log)
            # Half a line on a full disk has no end, and the next one is written over it.
            if os.pwrite(self._fd, line, self._size) < len(line):
                return False
        except OSError:
            return False  # no room, no right, or no locks
        self._size += len(line)
        return True

    def clear(self) -> None:
        """All lines have become records."""
        if self._size:
            # Should they stay, whoever adopts them finds them among the records.
            with suppress(OSError):
                os.ftruncate(self._fd, 0)
                self._size = 0

    def close(self) -> None:
        """Remove the file, if all its lines have become records. Idempotent."""
        if self._fd < 0:
            return
        if not self._size:
            self._path.unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = -1


@dataclass(frozen=True, slots=True)
class Leftover:
    """The lines that a dead process left, in order; half a line at the end was never announced, and is none."""

    path: Path
    entries: tuple[Entry, ...]


def leftovers(log: Path) -> Generator[Leftover]:
    """What dead processes left of their lines. Each is ours until the next one is asked for, and then removed.

    Raises OSError.
    """
    for path in sorted(log.parent.glob(f"{escape(log.name)}.waiting.*")):
        try:
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            # A pipe would be read for ever.
            os.close(fd)
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        with open(fd, "rb") as file:  # noqa: PTH123 a descriptor
            if _claimed(fd):
                yield Leftover(path, tuple(_entries(file.read())))
                path.unlink(missing_ok=True)


def _create(log: Path) -> tuple[Path, int]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    for _ in range(_ATTEMPTS):
        path = log.with_name(f"{log.name}.waiting.{secrets.token_hex(8)}")
        fd = os.open(path, flags, 0o600)
        if _claimed(fd):
            return path, fd
        os.close(fd)
        # Somebody who opens the log may have taken it for a leftover; a file system may also have no locks.
        path.unlink(missing_ok=True)
    raise OSError(f"no file beside {log} can be locked")


def _claimed(fd: int) -> bool:
    """Lock the file, which says that its process lives; False where somebody else has it, or has removed it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return os.fstat(fd).st_nlink > 0


def _entries(data: bytes) -> Iterator[Entry]:
    for line in data.split(b"\n")[:-1]:
        # What is no line of ours is left out: a chain has only records.
        with suppress(ValueError):
            _, timestamp, event = read_content(line.decode())
            yield Entry.of(timestamp, event)
