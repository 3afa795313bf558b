"""A repository's index for whoever sees a part of its working tree only: the other files are marked as not checked out,
so that git does not take them for deleted (GIT-07)."""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from dulwich.index import (
    ConflictedIndexEntry,
    IndexChecksumWriter,
    IndexEntry,
    read_index_dict_with_version,
    write_index_dict,
)

from remit_server.workspace.git_file import read_git_file
from remit_server.workspace.git_linked import Folders

_MAX_INDEX_BYTES = 50_000_000
_NOT_CHECKED_OUT = 0x4000
_VERSION = 3
"""The first that can hold the mark."""


def narrow_index(folders: Folders) -> bytes | None:
    """Returns the index with everything outside the workspace marked; None where it cannot be read."""
    try:
        status = (folders.own / "index").stat()
        state = (status.st_mtime_ns, status.st_size, status.st_ino)
        return _narrow(folders.own, os.fsencode(folders.prefix), state)
    except Exception:
        return None


@lru_cache(maxsize=4)
def _narrow(own: Path, prefix: bytes, state: tuple[int, int, int]) -> bytes:
    """Returns the index for commands, made once for each `state` of the file."""
    del state
    data = read_git_file(own, "index", _MAX_INDEX_BYTES) or b""
    entries, _, _ = read_index_dict_with_version(io.BytesIO(data))
    stream = io.BytesIO()
    write_index_dict(
        IndexChecksumWriter(stream),
        {name: entry if name.startswith(prefix) else _mark(entry) for name, entry in entries.items()},
        version=_VERSION,
    )
    body = stream.getvalue()
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _mark(entry: IndexEntry | ConflictedIndexEntry) -> IndexEntry | ConflictedIndexEntry:
    if isinstance(entry, ConflictedIndexEntry):
        return entry
    return replace(entry, extended_flags=entry.extended_flags | _NOT_CHECKED_OUT)
