"""Reads git's own small files (GIT-01)."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from remit_server.machine.descriptors import closing_fd
from remit_server.workspace.content.open_files import bytes_at


def read_git_file(folder: Path, name: str, most: int = 8192) -> bytes | None:
    """Returns the bytes of a small regular file; None if there is none. Raises OSError, also if it is a link or too
    large."""
    try:
        fd = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with closing_fd(fd):
        status = os.fstat(fd)
        found = bytes_at(fd, most, status.st_size) if stat.S_ISREG(status.st_mode) else None
    if found is None:
        raise OSError(errno.EINVAL, f"`{name}` is not a file of at most {most} bytes")
    return found


def read_git_beginning(folder: Path, name: str, most: int) -> bytes:
    """Returns the beginning of a regular file of git's. Raises OSError, also for a link."""
    with closing_fd(os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)) as fd:
        return os.read(fd, most) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
