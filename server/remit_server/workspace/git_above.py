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

_MAX_INDEX_BYTES = 200_000_000
_LONGEST_NAME = 0xFFF
_HEADER_BYTES, _ENTRY_BYTES = 12, 62
_COMPRESSED = 4
_EXTENDED = 0x4000


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
        return any(name.startswith(prefix) for name in _names(data))
    except (OSError, ValueError):
        return False


def _names(data: bytes) -> Iterator[bytes]:
    """Yields the names in an index. Raises ValueError where it is none that is known."""
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
    if data[:4] != b"DIRC" or version not in {2, 3, _COMPRESSED}:
        raise ValueError("no index")
    offset, name = _HEADER_BYTES, b""
    for _ in range(count):
        flags = int.from_bytes(data[offset + _ENTRY_BYTES - 2 : offset + _ENTRY_BYTES])
        start = offset + _ENTRY_BYTES + 2 * bool(flags & _EXTENDED)
        kept = b""
        if version == _COMPRESSED:
            dropped, start = _number(data, start)
            kept = name[: len(name) - dropped]
        end = data.index(b"\0", start)
        name = kept + data[start:end]
        if len(name) > _LONGEST_NAME:
            raise ValueError("a name is too long")
        yield name
        # Else each entry ends with one to eight zeros, at a multiple of eight bytes.
        offset = end + 1 if version == _COMPRESSED else offset + (end - offset + 8) // 8 * 8


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Returns a number as git packs it, and where what follows begins. Raises ValueError."""
    value = 0
    for end, byte in enumerate(data[at : at + 5], at + 1):
        value = (value << 7) | (byte & 0x7F)
        if not byte & 0x80:
            return value, end
        value += 1
    raise ValueError("no number")
