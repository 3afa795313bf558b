"""The person's own files and folders on disk: reads a file up to a bound, lists a folder, and tells whether a file
changed (CFG-05).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Stamp: TypeAlias = "tuple[str, int, int, int, int]"
"""A file's real path, device, inode, size and time of change; another or a changed file has another stamp."""


def read_at_most(file: Path, most: int) -> bytes:
    """Returns what a file holds. Raises OSError, also if that is more than `most` bytes, a number of whole MiB."""
    with file.open("rb") as opened:
        data = opened.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB")
    return data


def entries_of(folder: Path, wanted: Callable[[Path], bool], most: int | None = None) -> list[Path]:
    """Returns the `wanted` entries of a folder that are not hidden, by name, at most `most`; none if the folder cannot
    be read."""
    try:
        found = [path for path in folder.iterdir() if not path.name.startswith(".") and wanted(path)]
    except OSError:
        return []
    return sorted(found)[:most]


def stamp_of(path: Path) -> Stamp | None:
    """Returns a stamp that differs once the file changes, or None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        # A link that leads nowhere is not the same as no file.
        return (str(path), 0, 0, 0, 0) if path.is_symlink() else None
    return (os.path.realpath(path), status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns)
