"""A repository's index for whoever sees a part of its working tree only: the other files are marked as not checked out,
so that git does not take them for deleted (GIT-07)."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from remit_server.workspace.git_file import read_git_file
from remit_server.workspace.git_index import EXTENDED, NOT_CHECKED_OUT, read_whole, write_index
from remit_server.workspace.git_linked import Folders

_MAX_INDEX_BYTES = 50_000_000


def narrow_index(folders: Folders) -> bytes | None:
    """Returns the index with everything outside the workspace marked; None where it cannot be read."""
    try:
        status = (folders.own / "index").stat()
        state = (status.st_mtime_ns, status.st_size, status.st_ino)
        return _narrow(folders.own, os.fsencode(folders.prefix), state)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=4)
def _narrow(own: Path, prefix: bytes, state: tuple[int, int, int]) -> bytes:
    """Returns the index for commands, made once for each `state` of the file."""
    del state
    data = read_git_file(own, "index", _MAX_INDEX_BYTES) or b""
    entries, whole = read_whole(data)
    if not whole:
        raise ValueError("it is split or sparse")
    marked = (
        (name, entry)
        if entry.stage or name.startswith(prefix)
        else (name, entry._replace(extended_flags=entry.extended_flags | NOT_CHECKED_OUT))
        for name, entry in entries
    )
    return write_index(marked, EXTENDED)
