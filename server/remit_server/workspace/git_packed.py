"""What an object of a pack comes to, found out before it is inflated: a few bytes can stand for gigabytes."""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from dulwich.objects import RawObjectID
from dulwich.pack import OFS_DELTA, REF_DELTA, Pack

from remit_server.errors import ToolError

_LONGEST_CHAIN = 4095
"""Deltas upon deltas. Git writes 50 of them, and 4095 where it is told to."""

_MOST_BUILT = 100
"""What the deltas of a chain build one after the other may be so many times the limit: it takes time, not memory."""

_PACK_HEADER = 12
_ID_BYTES = 20
_NUMBER_BYTES = 10
_DEFLATED_START = 4096


@dataclass(frozen=True, slots=True)
class _Entry:
    """An object as it lies in a pack, in bytes: `size` inflated, `built` from its delta. `base`: where that begins."""

    size: int
    built: int = 0
    base: int | None = None


def must_fit(pack: Pack, sha: RawObjectID, limit: int) -> None:
    """Raises ToolError where reading an object takes more than `limit` bytes; KeyError where the pack has no such one.

    A broken pack raises ValueError or zlib.error.
    """
    inflated = built = 0
    for depth, entry in enumerate(_chain(pack, sha)):
        inflated += entry.size
        built += entry.built
        if max(inflated, entry.built) > limit or built > limit * _MOST_BUILT or depth > _LONGEST_CHAIN:
            why = f"the object {sha.hex()} takes over {limit} bytes, or too many steps, to read"
            raise ToolError("cannot commit", why, "use git itself")


def _chain(pack: Pack, sha: RawObjectID) -> Iterator[_Entry]:
    """Yields the object, what it is a delta of, and so on. Without end where they are deltas of each other."""
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
    """Returns how large the delta there says that its result is: its second number. Nothing larger is built from it."""
    start = zlib.decompressobj().decompress(contents[at : at + _DEFLATED_START], 2 * _NUMBER_BYTES)
    return _little(_number(start[len(_number(start)) :]))


def _number(data: bytes) -> bytes:
    """Returns the bytes of the number that `data` begins with: of each but the last the highest bit is set."""
    for length, byte in enumerate(data[:_NUMBER_BYTES], 1):
        if not byte & 0x80:
            return data[:length]
    raise ValueError("a pack holds a number without end")


def _little(number: bytes) -> int:
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(number))


def _big(number: bytes) -> int:
    """Returns how far back a base lies; each length of number begins where the shorter ones end."""
    back = -1
    for byte in number:
        back = (back + 1) << 7 | byte & 0x7F
    return back
