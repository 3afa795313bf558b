"""Reads git's index: what is staged, and what git remembers of the files (GIT-02)."""

from __future__ import annotations

import io
import stat

from dulwich.index import (
    ConflictedIndexEntry,
    IndexEntry,
    read_cache_entry,
    read_index_dict_with_version,
    read_index_header,
)

from remit_server.errors import ToolError
from remit_server.tools.git.commit.refusal import commit_refusal

_CHECKSUM_BYTES = 20
_LONGEST_NAME = 0xFFF
_COMPRESSED_NAMES = 4


def parse_index(data: bytes) -> tuple[dict[bytes, IndexEntry], int]:
    """Returns what is staged, by path, and the version of the format.

    Raises ToolError where a commit could not be made of it, and whatever dulwich raises where it is damaged.
    """
    stream = _Ending(data)
    _must_have_short_names(data)
    entries, version, _ = read_index_dict_with_version(stream)
    if stream.tell() != len(data) - _CHECKSUM_BYTES:
        raise commit_refusal("its index is split or sparse", "have a person run `git update-index --no-split-index`")
    plain: dict[bytes, IndexEntry] = {}
    for name, entry in entries.items():
        if isinstance(entry, ConflictedIndexEntry):
            raise commit_refusal("there are conflicts", "a person has to resolve them and `git add` the files")
        if len(name) >= _LONGEST_NAME or stat.S_ISDIR(entry.mode):
            raise _unknown_name()
        plain[name] = entry
    return plain, version


def stages_the_same(before: bytes, after: bytes) -> bool:
    """Tells whether two indexes stage the same: git writes down anew when it last looked at files, also where it only
    looks. False where one of them cannot be read.
    """
    try:
        return _staged(before) == _staged(after)
    except Exception:  # whatever the parser met: nobody vouches for what a command left
        return False


def _staged(data: bytes) -> list[tuple[bytes, int, bytes, int, int]]:
    entries, _ = parse_index(data)
    return [(name, each.mode, each.sha, each.flags, each.extended_flags) for name, each in entries.items()]


class _Ending(io.BytesIO):
    """An index in which compressed names, which are read byte by byte, come to an end."""

    _single = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Some bytes of it. Raises ToolError."""
        self._single = self._single + 1 if size == 1 else 0
        if self._single > 2 * _LONGEST_NAME:
            raise _unknown_name()
        return super().read(size)


def _must_have_short_names(data: bytes) -> None:
    """Raises ToolError. A compressed name adds to the one before it: a small index can hold gigabytes of names."""
    stream, name = _Ending(data), b""
    version, count = read_index_header(stream)
    for _ in range(count if version >= _COMPRESSED_NAMES else 0):
        name = read_cache_entry(stream, version, name).name
        if len(name) >= _LONGEST_NAME:
            raise _unknown_name()


def _unknown_name() -> ToolError:
    return commit_refusal("its index holds a name that is not known here", "use git itself")
