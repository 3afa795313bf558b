"""Which server something belongs to, so that what a dead one left can be cleared away (BOX-06)."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from remit_server.peers import is_dead, this_process
from remit_server.sandbox.bubblewrap.layer import Layer

_NAMED = re.compile(r"remit-[a-z]+-(\d+-\d+-\d+)-\w+")


def prefix_of(kind: str) -> str:
    """Returns how the name begins of a folder of this server's, of what kind it says (letters)."""
    return f"remit-{kind}-{this_process()}-"


def lasting_folder(kind: str) -> Path:
    """Returns a private folder that goes with this process. Raises OSError."""
    made = Path(tempfile.mkdtemp(prefix=prefix_of(kind)))
    atexit.register(_remove, made, os.getpid())
    return made


def clear_all_leftovers(*more: Path) -> list[Path]:
    """Returns the same below every folder for temporary files, and below `more`: at each start, whether or not a
    sandbox works.

    Never raises.
    """
    areas = [Path("/tmp"), Path("/dev/shm"), *more]  # noqa: S108  only our own are removed
    with suppress(FileNotFoundError):  # no folder can be written to: whoever needs one says so
        areas.append(Path(tempfile.gettempdir()))
    return [folder for area in dict.fromkeys(map(Path.absolute, areas)) for folder in clear_leftovers(area)]


def clear_leftovers(area: Path) -> list[Path]:
    """Remove the folders below `area` of servers that are dead, whatever for they had them; those removed. Never
    raises."""
    return [folder for folder in find_leftovers(area) if _clear(folder, area)]


def find_leftovers(area: Path) -> list[Path]:
    """Returns the folders below `area` that bear the name of a server that is dead. Never raises."""
    with contextlib.suppress(OSError):
        return [folder for folder in area.glob("remit-*") if _is_leftover(folder)]
    return []


def _is_leftover(folder: Path) -> bool:
    named = _NAMED.fullmatch(folder.name)
    with contextlib.suppress(OSError):
        # Never somebody else's, whatever its name says, and never through a link.
        mine = folder.lstat().st_uid == os.geteuid() and not folder.is_symlink()
        return named is not None and mine and is_dead(named[1])
    return False


def _clear(folder: Path, area: Path) -> bool:
    Layer(folder, area).remove()
    return not folder.exists()


def _remove(folder: Path, owner: int) -> None:
    # What was forked has the same folder, and ends before.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
