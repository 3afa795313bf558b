"""Marks folders with the server that they belong to, so that those of dead servers can be removed (BOX-06)."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from remit_server.machine.peers import is_dead, this_process
from remit_server.sandbox.bubblewrap.layer import Layer

_NAMED = re.compile(r"remit-[a-z]+-(\d+-\d+-\d+)-\w+")


def prefix_of(kind: str) -> str:
    """Returns the beginning of a name for a folder of this server; `kind` says in letters what the folder is for."""
    return f"remit-{kind}-{this_process()}-"


def lasting_folder(kind: str) -> Path:
    """Returns a new private folder that is removed when this process exits. Raises OSError."""
    made = Path(tempfile.mkdtemp(prefix=prefix_of(kind)))
    atexit.register(_remove, made, os.getpid())
    return made


def clear_all_leftovers(*more: Path) -> list[Path]:
    """Does `clear_leftovers` below every folder for temporary files and below `more`; returns the removed folders.

    Called at each start, whether or not a sandbox works. Never raises.
    """
    areas = [Path("/tmp"), Path("/dev/shm"), *more]  # noqa: S108  only our own are removed
    with suppress(FileNotFoundError):  # no folder is writable; code that needs one will report that
        areas.append(Path(tempfile.gettempdir()))
    return [folder for area in dict.fromkeys(map(Path.absolute, areas)) for folder in clear_leftovers(area)]


def clear_leftovers(area: Path) -> list[Path]:
    """Removes all folders below `area` that belong to dead servers, and returns the removed ones. Never raises."""
    return [folder for folder in find_leftovers(area) if _clear(folder, area)]


def find_leftovers(area: Path) -> list[Path]:
    """Returns the folders below `area` whose names say that they belong to a dead server. Never raises."""
    with contextlib.suppress(OSError):
        return [folder for folder in area.glob("remit-*") if _is_leftover(folder)]
    return []


def _is_leftover(folder: Path) -> bool:
    named = _NAMED.fullmatch(folder.name)
    with contextlib.suppress(OSError):
        # Never another user's folder, whatever its name says, and never through a link.
        mine = folder.lstat().st_uid == os.geteuid() and not folder.is_symlink()
        return named is not None and mine and is_dead(named[1])
    return False


def _clear(folder: Path, area: Path) -> bool:
    Layer(folder, area).remove()
    return not folder.exists()


def _remove(folder: Path, owner: int) -> None:
    # A forked child inherits this exit handler, but must not remove the folder.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
