"""File descriptors: closed at the end of a block, written to as a whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def closing_fd(fd: int) -> Generator[int]:
    """Yields an open descriptor, and closes it at the end."""
    try:
        yield fd
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Writes all of `data`, however little the system takes at once. Raises OSError."""
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        view = view[written:]
