"""What an open file holds, or a file in an open folder (FILE-01)."""

from __future__ import annotations

import errno
import hashlib
import os
import stat

_CHUNK = 1 << 20
_LEAST = 1 << 12
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_in_folder(folder: int, path: str, max_bytes: int) -> bytes | None:
    """Returns the bytes of the regular file at `path`, whose folder is open; None where there is none.

    Raises OSError, also for a link, and EFBIG where it is too large.
    """
    fd = os.open(path.rpartition("/")[2], _FLAGS, dir_fd=folder)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        if (data := bytes_at(fd, max_bytes, status.st_size)) is None:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return data
    finally:
        os.close(fd)


def bytes_at(fd: int, max_bytes: int, size: int) -> bytes | None:
    """Returns all that can be read, which may be more than the `size` that was told; None where it is over
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
    """Returns the digest of an open file, read piece by piece; None where it holds more than `size` bytes."""
    digest, room = hashlib.sha256(), size + 1
    while chunk := os.read(fd, min(_CHUNK, room)):
        digest.update(chunk)
        room -= len(chunk)
        if not room:
            return None
    return "sha256:" + digest.hexdigest()
