"""Files and folders of the person's own as they lie on disk: read up to a bound, listed, and told whether they changed
(CFG-05).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Stamp: TypeAlias = "tuple[str, int, int, int, int]"
"""Where a file really is, and its device, inode, size and time of change: another file has another one."""


def read_at_most(file: Path, most: int) -> bytes:
    """Returns what a file holds. Raises OSError, also where that is more than `most` bytes, which are whole MiB."""
    with file.open("rb") as opened:
        data = opened.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB")
    return data


def entries_of(folder: Path, wanted: Callable[[Path], bool], most: int | None = None) -> list[Path]:
    """Returns what is `wanted` of what lies in a folder and is not hidden, by name, `most` of it; nothing where it
    cannot be read."""
    try:
        found = [path for path in folder.iterdir() if not path.name.startswith(".") and wanted(path)]
    except OSError:
        return []
    return sorted(found)[:most]


def stamp_of(path: Path) -> Stamp | None:
    """Returns what differs once a file changes; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        # A link that leads nowhere is not the same as no file.
        return (str(path), 0, 0, 0, 0) if path.is_symlink() else None
    return (os.path.realpath(path), status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns)
