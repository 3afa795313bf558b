"""Replaces one of the person's own files, whole or not at all, while no other Remit writes there (APP-04, CFG-04)."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from remit_server.machine.descriptors import closing_fd


def _read_any(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def rewrite(file: Path, change: Callable[[str], str], read: Callable[[Path], str] = _read_any) -> str:
    """Replaces a file's text by what `change` makes of it, and returns that. Raises OSError, and what `change` and
    `read` raise.

    A missing file counts as empty. A link is followed: the file that it leads to is replaced, in its own folder, with
    the mode it had. Another process that rewrites a file in that folder at the same time waits.
    """
    place = Path(os.path.realpath(file))
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(place.parent) as folder:
        text = read(place) if place.exists() else ""
        changed = change(text)
        if changed != text:
            _replace(place, changed.encode(), folder)
    return changed


@contextmanager
def _alone(folder: Path) -> Generator[int]:
    """Yields the folder's descriptor, while no other Remit writes there."""
    with closing_fd(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd


def _replace(place: Path, data: bytes, folder: int) -> None:
    mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o600
    temporary = f".{place.name}.{secrets.token_hex(8)}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, mode)
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.rename(temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
