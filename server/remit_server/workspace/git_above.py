"""When a repository above a folder is believed to be that folder's: where it is this user's own, and knows files in it
(GIT-07).

Git takes whatever it finds above. A home that is a repository, or a folder that another user can write to, would then
get the commits of every project below it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from remit_server.workspace.git_file import read_git_file
from remit_server.workspace.git_index import read_joined

_MAX_INDEX_BYTES = 200_000_000


def folders_above(root: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yields the folders above `root` in which git looks for a repository, the nearest first."""
    ceilings = {Path(each) for each in environment.get("GIT_CEILING_DIRECTORIES", "").split(":") if each}
    for folder in root.parents:
        if folder in ceilings:
            return
        yield folder


def of_another_user(paths: tuple[Path, ...]) -> Path | None:
    """Returns the first of the paths that is not this user's own. Raises OSError."""
    return next((path for path in paths if path.lstat().st_uid != os.geteuid()), None)


def knows_files_in(own: Path, prefix: str) -> bool:
    """Whether the index in the repository's folder `own` has files below `prefix`, which ends with `/`."""
    try:
        status = (own / "index").stat()
    except OSError:
        return False
    return _knows(own, os.fsencode(prefix), (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=16)
def _knows(own: Path, prefix: bytes, state: tuple[int, int, int]) -> bool:
    """Tells it of the index, read once for each `state` of the file."""
    del state
    try:
        data = read_git_file(own, "index", _MAX_INDEX_BYTES) or b""
        entries = read_joined(data, lambda name: read_git_file(own, name, _MAX_INDEX_BYTES) or b"")
        return any(name.startswith(prefix) for name, _ in entries)
    except (OSError, ValueError):
        return False
