"""One session's file: records as lines, appended by one process at a time. A last line that a crash tore is repaired.

Lines that cannot be read are skipped and reported (SES-03).
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
from remit_server.machine.descriptors import write_all

_RECORDS: TypeAdapter[SessionRecord] = TypeAdapter(SessionRecord, config=ConfigDict(defer_build=True))
Redact = Callable[[list[Any]], list[Any]]
"""Returns the same number of JSON values, without secrets."""

MAX_TOLD = 5
"""Bad lines that are reported by number; further ones are only counted."""


def _as_it_is(values: list[Any]) -> list[Any]:
    return values


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no record of a session, and why. Its number counts from 1."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Lines:
    """The contents of a file: its records, and the lines that are none. `torn` is the number of bytes after the last
    whole line."""

    records: tuple[SessionRecord, ...]
    bad: tuple[BadLine, ...] = ()
    torn: int = 0

    @property
    def problem(self) -> str | None:
        """In words which lines were skipped, or None if none was."""
        if not self.bad:
            return None
        numbers = ", ".join(str(line.number) for line in self.bad[:MAX_TOLD])
        more = f" and {len(self.bad) - MAX_TOLD} more" if len(self.bad) > MAX_TOLD else ""
        return f"line {numbers}{more} of the session's file cannot be read and was skipped: {self.bad[0].why}"


def to_lines(records: Iterable[SessionRecord], redact: Redact = _as_it_is) -> bytes:
    """Returns the records as lines, without secrets in values or in nested keys.

    Records of changed files are not redacted, because undo has to find the files by their paths and digests. A lone
    surrogate, which UTF-8 cannot hold, becomes a question mark.
    """
    return b"".join(_to_line(record, redact) for record in records)


def _to_line(record: SessionRecord, redact: Redact) -> bytes:
    data = record.model_dump(mode="json")
    if not isinstance(record, FilesChanged | NotChanged):
        # Redact only the values: the record's own keys are field names.
        data = dict(zip(data, redact(list(data.values())), strict=True))
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


def parse_lines(data: bytes, first: int = 1, *, of: Sequence[str] = ()) -> Lines:
    """Parses a file, or its end from line `first` on. With `of`, parses only lines that may be records of these types.
    Never raises; lines that cannot be read are in `bad`.
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
"""The most bytes that wait in memory while the disk is full."""


class SessionError(RemitError):
    """A session cannot be used."""


@dataclass(frozen=True, slots=True)
class Found:
    """The lines that this process had not read yet. `anew` is true if these are all lines, from the first one on."""

    lines: Lines
    anew: bool


@dataclass(slots=True)
class SessionFile:
    """A file that this process may append to while it holds the lock. `end` is the end of the last whole line that this
    process has read or written, and `lines` the number of lines up to there. Data that could not be written is kept in
    `waiting`; `full` is true if that has no room for more."""

    path: Path
    fd: int = -1
    end: int = 0
    lines: int = 0
    waiting: bytes = b""
    full: bool = False

    def acquire(self) -> Found:
        """Locks the file against all other writers, and returns what others have written since.

        A file that was deleted is created again. Raises SessionError: `busy` if another process holds it, or the
        system's error.
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
        """Returns all lines of the file, which this process must hold. Raises OSError."""
        self.end = self.lines = 0
        return self._read_on().lines

    def release(self) -> None:
        """Tries once more to write the data that waits, and unlocks the file."""
        if self.fd < 0:
            return
        with contextlib.suppress(OSError):
            self.append(b"")
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Closes the file."""
        self._close()

    def append(self, data: bytes) -> None:
        """Appends whole lines, after those that wait. Raises OSError if they could not be written: they wait now, or
        are lost if `full`."""
        todo = self.waiting + data
        if not todo:
            return
        try:
            write_all(self.fd, todo)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self.fd, self.end)  # do not leave half a line
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
        if size < self.end:  # somebody cut the file short, so read all of it again
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
        """Adds the missing line end if the last line is a whole record, else cuts that line off."""
        whole = parse_lines(data + b"\n", self.lines + 1)
        if len(whole.records) > len(found.records):
            write_all(self.fd, b"\n")
            self.end, self.lines = self.end + 1, self.lines + 1
            return whole
        os.ftruncate(self.fd, self.end + len(data) - found.torn)
        return found

    def _close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


def read_session(path: Path, *, of: Sequence[str] = ()) -> Lines:
    """Reads a file that another process may be writing. With `of`, reads only records of these types.

    Raises SessionError."""
    try:
        with open(_open_regular(path, os.O_RDONLY), "rb") as file:
            return parse_lines(file.read(), of=of)
    except OSError as error:
        raise _unusable(path, error) from error


def _open_regular(path: Path, flags: int) -> int:
    """Opens a regular file. Follows no link, and does not wait on a pipe. Raises OSError."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return fd


def _read(fd: int, start: int, end: int) -> bytes:
    parts: list[bytes] = []
    while start < end and (part := os.pread(fd, end - start, start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


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
        f"check `{path}` and the permissions of its folder, or do not save sessions: `REMIT_SESSIONS=off`",
        code=ErrorCode.NOT_FOUND if isinstance(error, FileNotFoundError) else ErrorCode.INTERNAL,
    )
