"""Reads a repository's objects so that none of them can block the reader or take all memory (GIT-04).

The size of a packed object is found out before it is inflated, because a few bytes can stand for gigabytes.
"""

from __future__ import annotations

import mmap
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, RawObjectID, ShaFile, hex_to_sha, sha_to_hex
from dulwich.pack import OFS_DELTA, REF_DELTA, Pack

from remit_server.errors import ToolError
from remit_server.machine.descriptors import closing_fd
from remit_server.workspace.content.files import MAX_FILE_BYTES, if_there
from remit_server.workspace.git_folder import GitFiles

_LONGEST_CHAIN = 4095
"""The longest chain of deltas that is read. Git writes up to 50, or up to 4095 if it is configured so."""

_MOST_BUILT = 100
"""The results of a chain's deltas may add up to this many times the limit, because they take time, not memory."""

_PACK_HEADER = 12
_ID_BYTES = 20
_NUMBER_BYTES = 10
_DEFLATED_START = 4096


@dataclass(frozen=True, slots=True)
class _Entry:
    """An object in a pack: its inflated `size` and the size `built` from its delta, in bytes, and the offset of its
    `base`."""

    size: int
    built: int = 0
    base: int | None = None


def must_fit(pack: Pack, sha: RawObjectID, limit: int) -> None:
    """Raises ToolError if reading an object takes more than `limit` bytes; KeyError if the pack does not have it.

    A broken pack raises ValueError or zlib.error.
    """
    inflated = built = 0
    for depth, entry in enumerate(_chain(pack, sha)):
        inflated += entry.size
        built += entry.built
        if max(inflated, entry.built) > limit or built > limit * _MOST_BUILT or depth > _LONGEST_CHAIN:
            why = f"the object {sha.hex()} takes more than {limit} bytes, or too many steps, to read"
            raise ToolError("cannot commit", why, "use git itself")


def _chain(pack: Pack, sha: RawObjectID) -> Iterator[_Entry]:
    """Yields the object, its base, the base's base and so on; without end if they are deltas of each other."""
    contents = pack.data._buffer()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    at: int | None = pack.index.object_offset(sha)
    while at is not None:
        entry = _entry(pack, contents, at)
        yield entry
        at = entry.base


def _entry(pack: Pack, contents: bytes | mmap.mmap, at: int) -> _Entry:
    if at < _PACK_HEADER:
        raise ValueError("a pack names an object outside of it")
    header = _number(contents[at : at + _NUMBER_BYTES])
    kind, body = header[0] >> 4 & 7, at + len(header)
    size = header[0] & 15 | _little(header[1:]) << 4
    if kind == OFS_DELTA:
        back = _number(contents[body : body + _NUMBER_BYTES])
        return _Entry(size, _result_size(contents, body + len(back)), at - _big(back))
    if kind == REF_DELTA:
        base = RawObjectID(contents[body : body + _ID_BYTES])
        return _Entry(size, _result_size(contents, body + _ID_BYTES), pack.index.object_offset(base))
    return _Entry(size)


def _result_size(contents: bytes | mmap.mmap, at: int) -> int:
    """Returns the size of the result as the delta at `at` states it, in its second number. Nothing larger is built from
    it."""
    start = zlib.decompressobj().decompress(contents[at : at + _DEFLATED_START], 2 * _NUMBER_BYTES)
    return _little(_number(start[len(_number(start)) :]))


def _number(data: bytes) -> bytes:
    """Returns the bytes of the number that `data` begins with: each byte but the last has its highest bit set."""
    for length, byte in enumerate(data[:_NUMBER_BYTES], 1):
        if not byte & 0x80:
            return data[:length]
    raise ValueError("a pack holds a number without end")


def _little(number: bytes) -> int:
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(number))


def _big(number: bytes) -> int:
    """Returns how many bytes back a base lies. Longer numbers start counting where the shorter ones end."""
    back = -1
    for byte in number:
        back = (back + 1) << 7 | byte & 0x7F
    return back


_HEX_DIGITS = 40
_LARGEST = MAX_FILE_BYTES * 4
_PACKED = ("objects/pack", "objects/info", "objects/info/commit-graphs")


class Objects(DiskObjectStore):
    """Reads objects from regular files only, because a FIFO may block for ever, and inflates none that is too large."""

    def get_raw(self, name: RawObjectID | ObjectID) -> tuple[int, bytes]:
        """Returns an object's kind and bytes. Raises ToolError if it is too large, KeyError if it is not
        there."""
        sha = hex_to_sha(ObjectID(name)) if len(name) == _HEX_DIGITS else RawObjectID(name)

        def packed(pack: Pack) -> tuple[int, bytes]:
            must_fit(pack, sha, _LARGEST)
            try:
                return pack.get_raw(sha)
            except zlib.error as error:
                why = str(error)
            # Raised outside of `except`, because the error's frames hold views of the pack, which could not be closed
            # then.
            raise ValueError(f"a pack is broken: {why}")

        try:
            return self._lookup_in_packs(packed)
        except KeyError:
            loose = self._get_loose_object(sha_to_hex(sha))
            if loose is None:
                raise
            return loose.type_num, loose.as_raw_string()

    def _get_loose_object(self, sha: ObjectID) -> ShaFile | None:
        if not _is_file(self._get_shafile_path(sha)):
            return None
        return super()._get_loose_object(sha)


def objects_of(git: GitFiles) -> Objects:
    """Returns the objects of the repository. Raises ToolError if something among their files is no regular file."""
    for name in _PACKED:
        if (folder := if_there(partial(git.open_folder, name))) is None:
            continue
        with closing_fd(folder):
            names = os.listdir(folder)  # noqa: PTH208  by its descriptor
            odd = [each for each in names if not _is_file(each, folder) and each != "commit-graphs"]
        if odd:
            raise ToolError(
                "cannot commit", f"`.git/{name}/{odd[0]}` is not a file", "look at the repository with `git fsck`"
            )
    return Objects(git.absolute("objects"), loose_object_size_limit=_LARGEST)


def _is_file(name: str, folder: int | None = None) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
