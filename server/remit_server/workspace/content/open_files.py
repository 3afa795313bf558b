"""Reads open files, and files in open folders (FILE-01).

Tries a read once more after a transient error of the system (TOOL-11).
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import stat
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.machine.descriptors import closing_fd

_CHUNK = 1 << 20
_LEAST = 1 << 12
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_in_folder(folder: int, path: str, max_bytes: int) -> bytes | None:
    """Returns the bytes of the regular file at `path`, whose folder is open; None if there is none.

    Raises OSError, also for a link, and EFBIG if it is too large.
    """
    with closing_fd(os.open(path.rpartition("/")[2], _FLAGS, dir_fd=folder)) as fd:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        if (data := bytes_at(fd, max_bytes, status.st_size)) is None:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return data


def bytes_at(fd: int, max_bytes: int, size: int) -> bytes | None:
    """Returns all bytes of the open file, which may be more than the `size` given; None if they are more than
    `max_bytes`."""
    if size > max_bytes:
        return None
    data = bytearray()
    while chunk := os.read(fd, min(_CHUNK, max_bytes + 1 - len(data), max(size + 1 - len(data), _LEAST))):
        data += chunk
        if len(data) > max_bytes:
            return None
    return bytes(data)


def digest_at(fd: int, size: int) -> str | None:
    """Returns the digest of an open file, read piece by piece; None if it holds more than `size` bytes."""
    digest, room = hashlib.sha256(), size + 1
    while chunk := os.read(fd, min(_CHUNK, room)):
        digest.update(chunk)
        room -= len(chunk)
        if not room:
            return None
    return "sha256:" + digest.hexdigest()


T = TypeVar("T")

PAUSE_S = 0.1
MOST_PAUSES = 10
"""The limit of second tries for one search of many files, because on a broken disk each costs a pause."""

TRANSIENT = frozenset(
    {
        errno.EAGAIN,
        errno.EBUSY,
        errno.EINTR,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)
"""Transient errors: a disk or network share that failed briefly, or too many open files."""


def is_transient(error: BaseException) -> bool:
    """Returns whether a transient error of the system caused this one."""
    return any(isinstance(cause, OSError) and cause.errno in TRANSIENT for cause in _causes(error))


@dataclass(slots=True)
class Retries:
    """The second tries of one search of many files; `noted` has the reason for each."""

    noted: list[str] = field(default_factory=list[str])

    def read(self, name: str, read: Callable[[], T]) -> T:
        """Returns the result of `read`, tried once more after a pause if a transient error occurs. Raises its last
        error."""
        try:
            return read()
        except Exception as error:
            if not is_transient(error) or len(self.noted) >= MOST_PAUSES:
                raise
            self.noted.append(f"{name}: {error}")
        time.sleep(PAUSE_S)
        return read()


async def retry_read(read: Callable[[], Awaitable[T]], note: Callable[[str], None]) -> T:
    """Returns the result of `read`. If it fails for a transient reason, that goes to `note` and `read` is tried again
    100 ms later. Writes are never tried again.

    Raises ToolError or OSError at once if the failure is not transient; ToolError with the system's words if it lasts.
    """
    try:
        return await read()
    except (OSError, ToolError) as error:
        if not is_transient(error):
            raise
        note(str(error))
    await asyncio.sleep(PAUSE_S)
    try:
        return await read()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        fix = "check the disk, then try again"
        raise ToolError(
            "this could not be read", f"{why}, twice", fix, code=ErrorCode.INTERNAL, retryable=True
        ) from error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
