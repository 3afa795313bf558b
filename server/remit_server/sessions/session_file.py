"""One session's file: records as lines, appended by one process at a time, repaired where a crash tore its last line.

Lines that cannot be read are told of, and skipped (SES-03).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from remit_server.contract import ErrorCode, FilesChanged, NotChanged, SessionRecord
from remit_server.errors import RemitError, os_reason

_RECORDS: TypeAdapter[SessionRecord] = TypeAdapter(SessionRecord, config=ConfigDict(defer_build=True))
Redact = Callable[[list[Any]], list[Any]]
"""Takes secrets out of JSON values; gives as many back."""

MAX_TOLD = 5
"""Bad lines that are told of by number; the others are counted."""


def _as_it_is(values: list[Any]) -> list[Any]:
    return values


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no record of a session, counted from 1."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Lines:
    """What a file holds: its records, and the lines that are none. `torn` are the bytes behind the last whole line."""

    records: tuple[SessionRecord, ...]
    bad: tuple[BadLine, ...] = ()
    torn: int = 0

    @property
    def problem(self) -> str | None:
        """Returns in words what was skipped; None where nothing was."""
        if not self.bad:
            return None
        numbers = ", ".join(str(line.number) for line in self.bad[:MAX_TOLD])
        more = f" and {len(self.bad) - MAX_TOLD} more" if len(self.bad) > MAX_TOLD else ""
        return f"line {numbers}{more} of the session's file cannot be read and was skipped: {self.bad[0].why}"


def to_lines(records: Iterable[SessionRecord], redact: Redact = _as_it_is) -> bytes:
    """Returns the records as lines, without secrets wherever they stand, in keys that somebody else chose too.

    What undo goes by (paths, digests) stays as it is: a file could not be found by another name. Half a surrogate pair,
    which no UTF-8 can hold, becomes a question mark.
    """
    return b"".join(_to_line(record, redact) for record in records)


def _to_line(record: SessionRecord, redact: Redact) -> bytes:
    data = record.model_dump(mode="json")
    if not isinstance(record, FilesChanged | NotChanged):
        # A record's own keys are ours, and are left as they are.
        data = dict(zip(data, redact(list(data.values())), strict=True))
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


def parse_lines(data: bytes, first: int = 1, *, of: Sequence[str] = ()) -> Lines:
    """Parses a file, or its end from line `first` on; with `of` the lines alone that may be records of these types.
    Never raises: what cannot be read is in `bad`.
    """
    marks = [f'"type":"{kind}"'.encode() for kind in of]
    whole, newline, rest = data.rpartition(b"\n")
    records: list[SessionRecord] = []
    bad: list[BadLine] = []
    for number, line in enumerate(whole.split(b"\n") if newline else (), first):
        if not line.strip() or (marks and not any(mark in line for mark in marks)):
            continue
        try:
            records.append(_RECORDS.validate_json(line))
        except ValidationError as error:
            bad.append(
                BadLine(number, error.errors(include_url=False, include_context=False, include_input=False)[0]["msg"])
            )
    return Lines(tuple(records), tuple(bad), len(rest))


MOST_WAITING = 16 * 1024 * 1024
"""Bytes that wait in memory while the disk is full."""


class SessionError(RemitError):
    """A session cannot be used."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a file holds that this process had not read. `anew`: all of it, from the first line on."""

    lines: Lines
    anew: bool


@dataclass(slots=True)
class SessionFile:
    """A file that this process may append to while it holds it. `end` is where its last whole line ends, as far as this
    process has read or written; `lines` are the lines before that. What could not be written waits, until that is
    `full`."""

    path: Path
    fd: int = -1
    end: int = 0
    lines: int = 0
    waiting: bytes = b""
    full: bool = False

    def acquire(self) -> Found:
        """Locks the file against every other writer, and returns what others wrote since.

        A file that was deleted is made anew. Raises SessionError (`busy`, or what the system says).
        """
        try:
            self._open()
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not self._is_current():
                self._close()
                self._open()
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return self._read_on()
        except BlockingIOError as error:
            self._close()
            raise _in_use(self.path) from error
        except OSError as error:
            self._close()
            raise _unusable(self.path, error) from error

    def read_again(self) -> Lines:
        """Returns all that the file holds, which this process has taken. Raises OSError."""
        self.end = self.lines = 0
        return self._read_on().lines

    def release(self) -> None:
        """Lets others write. What waits is tried once more."""
        if self.fd < 0:
            return
        with contextlib.suppress(OSError):
            self.append(b"")
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Closes the file."""
        self._close()

    def append(self, data: bytes) -> None:
        """Appends whole lines, behind those that wait. Raises OSError where they wait now, or `waiting` is full."""
        todo = self.waiting + data
        if not todo:
            return
        try:
            _write_all(self.fd, todo)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self.fd, self.end)  # half a line is worse than none
            self.full = len(todo) > MOST_WAITING
            self.waiting = self.waiting if self.full else todo
            raise
        self.end += len(todo)
        self.lines += todo.count(b"\n")
        self.waiting, self.full = b"", False

    def _open(self) -> None:
        if self.fd < 0:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.fd = _open_regular(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            self.end = self.lines = 0

    def _is_current(self) -> bool:
        """Returns whether the path still leads to the file that is open."""
        try:
            there = self.path.lstat()
        except FileNotFoundError:
            return False
        mine = os.fstat(self.fd)
        return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)

    def _read_on(self) -> Found:
        size = os.fstat(self.fd).st_size
        if size < self.end:  # somebody cut it: what is there now counts
            self.end = self.lines = 0
        anew = self.end == 0
        data = _read(self.fd, self.end, size)
        found = parse_lines(data, self.lines + 1)
        if found.torn:
            found = self._mend(data, found)
        self.end += len(data) - found.torn
        self.lines += data.count(b"\n")
        return Found(found, anew)

    def _mend(self, data: bytes, found: Lines) -> Lines:
        """Ends a last line that is whole but for its end, and cuts one that is not."""
        whole = parse_lines(data + b"\n", self.lines + 1)
        if len(whole.records) > len(found.records):
            _write_all(self.fd, b"\n")
            self.end, self.lines = self.end + 1, self.lines + 1
            return whole
        os.ftruncate(self.fd, self.end + len(data) - found.torn)
        return found

    def _close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


def read_session(path: Path, *, of: Sequence[str] = ()) -> Lines:
    """Reads a file that somebody may be writing, with `of` its records of these types alone. Raises SessionError."""
    try:
        with open(_open_regular(path, os.O_RDONLY), "rb") as file:
            return parse_lines(file.read(), of=of)
    except OSError as error:
        raise _unusable(path, error) from error


def _open_regular(path: Path, flags: int) -> int:
    """Opens a file, and nothing that leads elsewhere or would let one wait. Raises OSError."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is no file", str(path))
    return fd


def _read(fd: int, start: int, end: int) -> bytes:
    parts: list[bytes] = []
    while start < end and (part := os.pread(fd, end - start, start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        view = view[written:]


def _in_use(path: Path) -> SessionError:
    return SessionError(
        f"the session in `{path.name}` cannot be written",
        "another process is working in it",
        "wait until its turn has ended, or copy the session: `remit session fork`",
        code=ErrorCode.BUSY,
        retryable=True,
    )


def _unusable(path: Path, error: OSError) -> SessionError:
    return SessionError(
        f"the session in `{path.name}` cannot be used",
        os_reason(error),
        f"check `{path}` and the rights of its folder, or do not save sessions: `REMIT_SESSIONS=off`",
        code=ErrorCode.NOT_FOUND if isinstance(error, FileNotFoundError) else ErrorCode.INTERNAL,
    )
