"""Reads and writes git's index: what is staged, and what git remembers of the files (GIT-02).

The file is untrusted, so the size of its contents is bounded (GIT-04): a compressed name repeats a part of the name
before it, so that a small index can hold gigabytes of names.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

COMPRESSED = 4
"""The version of the format in which a name is stored as its difference from the name before it."""

EXTENDED = 3
"""The first version with extended flags."""

LONGEST_NAME = 0xFFE
"""The limit of a name's length in bytes; an index cannot state the length of a longer name."""

NOT_CHECKED_OUT = 0x4000
"""The extended flag of a file that git does not look for in the working tree."""

_MOST_NAMES = 200_000_000
_CHECKSUM_BYTES = 20
_ID_BYTES = 20
_LINK = b"link"
_IS_EXTENDED = 0x4000
_STAGE = 0x3000
_SECOND = 1_000_000_000
_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">16s6I20sH")
_TIMES = struct.Struct(">4I")
_FLAGS = struct.Struct(">H")


class IndexEntry(NamedTuple):
    """The index's entry of a file. `times` (ctime and mtime) and `sha`, the id of the staged contents, are in the
    binary form of the index; `flags` are without the length of the name."""

    times: bytes
    dev: int
    ino: int
    mode: int
    uid: int
    gid: int
    size: int
    sha: bytes
    flags: int = 0
    extended_flags: int = 0

    @property
    def is_absent(self) -> bool:
        """Whether it is marked as not checked out."""
        return bool(self.extended_flags & NOT_CHECKED_OUT)

    @property
    def id(self) -> str:
        """The id of the staged contents."""
        return self.sha.hex()

    @property
    def stage(self) -> int:
        """The side of a conflict, from 1; 0 if there is no conflict."""
        return (self.flags & _STAGE) >> 12


def entry_of(status: os.stat_result, sha: str, mode: int) -> IndexEntry:
    """Returns the entry of a file whose contents have that id."""
    parts = (status.st_dev, status.st_ino, mode, status.st_uid, status.st_gid, status.st_size)
    dev, ino, mode, uid, gid, size = (part & 0xFFFFFFFF for part in parts)
    return IndexEntry(times_of(status), dev, ino, mode, uid, gid, size, bytes.fromhex(sha))


def times_of(status: os.stat_result) -> bytes:
    """Returns the times of a file as an index has them."""
    changed, written = divmod(status.st_ctime_ns, _SECOND), divmod(status.st_mtime_ns, _SECOND)
    return _TIMES.pack(changed[0] & 0xFFFFFFFF, changed[1], written[0] & 0xFFFFFFFF, written[1])


def read_version(data: bytes) -> int:
    """Returns the version of an index. Raises ValueError if the version is unknown."""
    return _head(data)[0]


def read_whole(data: bytes) -> tuple[list[tuple[bytes, IndexEntry]], bool]:
    """Returns names and entries, and whether these are all: a split or sparse index has further entries elsewhere.

    Raises ValueError if the index or the extensions after its entries are damaged, or if it holds more than it may."""
    found, extensions = _read_parts(data)
    # An extension whose signature begins with a capital letter serves speed alone.
    return found, all(sign[:1].isupper() for sign in extensions)


def read_joined(data: bytes, read_shared: Callable[[str], bytes]) -> list[tuple[bytes, IndexEntry]]:
    """Returns names and entries, in no order. Those of a split index include the entries of its shared index, which
    `read_shared` reads by its name; those of a sparse index include folders that are not checked out.

    Raises ValueError as `read_whole` does, and what `read_shared` raises."""
    own, extensions = _read_parts(data)
    link = extensions.get(_LINK, b"")
    if not any(link[:_ID_BYTES]):
        return own
    shared, _ = _read_parts(read_shared(f"sharedindex.{link[:_ID_BYTES].hex()}"))
    deleted, end = _read_bitmap(link, _ID_BYTES, len(shared))
    replaced, _ = _read_bitmap(link, end, len(shared))
    if len(own) < len(replaced):
        raise ValueError("it replaces more than it holds")
    changed = dict(zip(sorted(replaced), (entry for _, entry in own), strict=False))
    kept = ((name, changed.get(at, each)) for at, (name, each) in enumerate(shared) if at not in deleted)
    return [*kept, *own[len(replaced) :]]


def write_index(entries: Iterable[tuple[bytes, IndexEntry]], version: int) -> bytes:
    """Returns an index with these names and entries, in the order that git wants, and its checksum."""
    ordered = sorted(entries, key=lambda each: (each[0], each[1].stage))
    if version < EXTENDED and any(entry.extended_flags for _, entry in ordered):
        version = EXTENDED
    parts = [_HEADER.pack(b"DIRC", version, len(ordered))]
    before = b""
    for name, entry in ordered:
        flags = entry.flags & ~_IS_EXTENDED | min(len(name), 0xFFF)
        extended = b""
        if entry.extended_flags:
            flags, extended = flags | _IS_EXTENDED, _FLAGS.pack(entry.extended_flags)
        head = _ENTRY.pack(*entry[:8], flags)
        if version == COMPRESSED:
            kept = _shared(before, name)
            parts += (head, extended, _packed(len(before) - kept), name[kept:], b"\0")
            before = name
        else:
            length = len(head) + len(extended) + len(name)
            parts += (head, extended, name, b"\0" * (8 - length % 8))
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _head(data: bytes) -> tuple[int, int]:
    if len(data) < _HEADER.size + _CHECKSUM_BYTES:
        raise ValueError("it is too short")
    sign, version, count = _HEADER.unpack_from(data)
    if sign != b"DIRC" or version not in {2, EXTENDED, COMPRESSED}:
        raise ValueError("it is not an index")
    return version, count


def _read_parts(data: bytes) -> tuple[list[tuple[bytes, IndexEntry]], dict[bytes, bytes]]:
    """Returns names and entries, and the extensions after them by their signatures. Raises ValueError."""
    ended: list[int] = []
    found = list(_entries(data, ended))
    at, end, extensions = ended[0], len(data) - _CHECKSUM_BYTES, dict[bytes, bytes]()
    while at < end:
        length = int.from_bytes(data[at + 4 : at + 8])
        extensions[data[at : at + 4]] = data[at + 8 : at + 8 + length]
        at += 8 + length
    if at != end:
        raise ValueError("an extension is cut off")
    return found, extensions


def _read_bitmap(data: bytes, at: int, most: int) -> tuple[set[int], int]:
    """Returns which bits below `most` are set in a compressed bitmap (EWAH), and where it ends. Raises ValueError."""
    try:
        _, count = struct.unpack_from(">II", data, at)
        words = struct.unpack_from(f">{count}Q", data, at + 8)
    except struct.error as error:
        raise ValueError("a bitmap is cut off") from error
    found, bit, number = set[int](), 0, 0
    while number < len(words):
        # A marker tells whether a run of words is all set or all clear, the run's length, and how many literal words
        # follow.
        run, literal = words[number] >> 1 & 0xFFFFFFFF, words[number] >> 33
        if words[number] & 1:
            found.update(range(bit, min(bit + run * 64, most)))
        bit += run * 64
        for word in words[number + 1 : number + 1 + literal]:
            found.update(place for place in range(bit, min(bit + 64, most)) if word >> (place - bit) & 1)
            bit += 64
        number += 1 + literal
    return found, at + 8 + count * 8 + 4


def _entries(data: bytes, ended: list[int]) -> Iterator[tuple[bytes, IndexEntry]]:
    """Yields names and entries, then appends to `ended` the offset at which they end."""
    version, count = _head(data)
    at, name, room, end = _HEADER.size, b"", _MOST_NAMES, len(data) - _CHECKSUM_BYTES
    for _ in range(count):
        if at + _ENTRY.size > end:
            raise ValueError("it is cut off")
        *known, flags = _ENTRY.unpack_from(data, at)
        start, extended = at + _ENTRY.size, 0
        if flags & _IS_EXTENDED:
            (extended,) = _FLAGS.unpack_from(data, start)
            start += _FLAGS.size
        kept = b""
        if version == COMPRESSED:
            dropped, start = _number(data, start)
            kept = name[: max(0, len(name) - dropped)]
        stop = data.index(b"\0", start, end)
        name = kept + data[start:stop]
        room -= len(name)
        if len(name) > LONGEST_NAME or room < 0:
            raise ValueError("its names are too long")
        yield name, IndexEntry._make((*known, flags & 0xF000, extended))
        # In the other versions one to eight zero bytes pad each entry to a multiple of eight bytes.
        at = stop + 1 if version == COMPRESSED else at + (stop - at + 8) // 8 * 8
    ended.append(at)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number in git's packed form at `at`, and the offset behind it. Raises ValueError."""
    value = 0
    for end, byte in enumerate(data[at : at + 5], at + 1):
        value = (value << 7) | (byte & 0x7F)
        if not byte & 0x80:
            return value, end
        value += 1
    raise ValueError("it has no number where one should be")


def _shared(before: bytes, name: bytes) -> int:
    """Returns the length in bytes of the beginning that two names share."""
    pairs = enumerate(zip(before, name, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(before), len(name)))


def _packed(number: int) -> bytes:
    """Returns a number as git packs it."""
    found = [number & 0x7F]
    while number := number >> 7:
        number -= 1
        found.append(number & 0x7F | 0x80)
    return bytes(reversed(found))
