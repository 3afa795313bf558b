"""SQLite's write-ahead log (https://sqlite.org/fileformat2.html §4): finds a damaged middle, from which on SQLite
itself quietly drops everything."""

from __future__ import annotations

import struct
import sys
from array import array
from pathlib import Path
from typing import Literal

_HEADER, _FRAME = 32, 24
_MAGIC: dict[int, Literal["little", "big"]] = {0x377F0682: "little", 0x377F0683: "big"}
_MASK = 0xFFFFFFFF


def damaged_frame(path: Path) -> int | None:
    """The number (from 1) of a frame that is wrong although frames of the same log follow it, or None.

    A wrong last frame is no damage: it is how a write looks that a crash cut off. Raises OSError.
    """
    data = path.read_bytes() if path.exists() else b""
    if len(data) < _HEADER + _FRAME:
        return None
    magic, _, page_size = struct.unpack(">3I", data[:12])
    order = _MAGIC.get(magic)
    if order is None or not 512 <= page_size <= 65536:
        return 1
    sums = _checksum(data[:24], (0, 0), order)
    if sums != struct.unpack(">2I", data[24:32]):
        return 1
    salts = data[16:24]
    size = _FRAME + page_size
    for number, start in enumerate(range(_HEADER, len(data) - size + 1, size), 1):
        frame = data[start : start + size]
        sums = _checksum(frame[_FRAME:], _checksum(frame[:8], sums, order), order)
        if frame[8:16] != salts or sums != struct.unpack(">2I", frame[16:24]):
            following = range(start + size, len(data) - size + 1, size)
            return number if any(data[at + 8 : at + 16] == salts for at in following) else None
    return None


def _checksum(data: bytes, sums: tuple[int, int], order: Literal["little", "big"]) -> tuple[int, int]:
    words = array("I", data)
    if order != sys.byteorder:
        words.byteswap()
    first, second = sums
    for i in range(0, len(words), 2):
        first = (first + words[i] + second) & _MASK
        second = (second + words[i + 1] + first) & _MASK
    return first, second
