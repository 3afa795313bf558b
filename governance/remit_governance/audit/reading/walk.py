"""Checks one database of a log (effect: reads): its schema, its chain, its end. Records are hashed as they are stored
and not parsed, so that a million of them take about twice as long as hashing alone.

Also finds damage in the middle of SQLite's write-ahead log (https://sqlite.org/fileformat2.html §4), because SQLite
itself silently drops everything from there on.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from remit_governance.audit.log.database import APPLICATION_ID, INDEX, SCHEMA, SCHEMA_VERSION, Segment, read_segment


@dataclass(frozen=True, slots=True)
class Broken:
    """The chain is broken. `record_number` is the first record that is wrong, missing or unreachable; `damaged` says
    that the database itself is damaged."""

    record_number: int
    why: str
    damaged: bool = False


@dataclass(slots=True)
class Position:
    """How far a chain was followed: the number of the last good record, and its hash (before the first record the
    genesis hash; empty at the very beginning)."""

    count: int = 0
    head: str = ""

    def broken(self, why: str, *, damaged: bool = False) -> Broken:
        """Returns the fault that the next record is the first wrong one."""
        return Broken(self.count + 1, why, damaged)


def segment_of(connection: sqlite3.Connection, at: Position) -> Segment | Broken:
    """Returns which segment a database is, or a fault if its schema or header is not that of an audit log."""
    found = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type != 'index'"))
    if found not in (SCHEMA, SCHEMA | INDEX):
        return at.broken("the tables are not those of an audit log")
    if (_pragma(connection, "application_id"), _pragma(connection, "user_version")) != (APPLICATION_ID, SCHEMA_VERSION):
        return at.broken("the file's header is not that of an audit log")
    return read_segment(connection) or at.broken("the start of the chain is missing")


def begin(segment: Segment, at: Position) -> Broken | None:
    """Moves `at` to the start of a segment, if the segment continues from there; if `at` is at the very beginning, the
    segment is the oldest one left. Returns what is wrong, or None."""
    if segment.ordinal == 1 and (segment.before, segment.previous) != (0, ""):
        return at.broken("the first segment says that records came before it")
    if at.head and (segment.before, segment.previous) != (at.count, at.head):
        return at.broken(f"segment {segment.ordinal} does not continue where the one before it ended")
    at.count, at.head = segment.before, segment.genesis
    return None


def follow(connection: sqlite3.Connection, at: Position) -> Broken | None:
    """Hashes every record after `at` along the chain; moves `at` to the last good one. Returns a fault, or None."""
    factory, connection.text_factory = connection.text_factory, bytes
    try:
        end = _hashed(connection, at)
        if end is None:
            return _first_wrong(connection, at)
        at.count, at.head = end
        return None
    finally:
        connection.text_factory = factory


def end(connection: sqlite3.Connection, segment: Segment, at: Position, *, closed: bool) -> Broken | None:
    """Returns a fault if a segment does not end where it says; an active one may have more records than noted."""
    early = connection.execute("SELECT min(number) FROM records WHERE number <= ?", (segment.before,)).fetchone()[0]
    if early is not None:
        return Broken(early, f"record {early} is in segment {segment.ordinal}, which begins after {segment.before}")
    if segment.count > at.count or (closed and segment.count < at.count):
        why = f"the chain's end says {segment.count} records, but there are {at.count}"
        return Broken(min(segment.count, at.count) + 1, why)
    empty = segment.count == segment.before
    if segment.head != (segment.genesis if empty else hash_at(connection, segment, segment.count)):
        return Broken(max(1, segment.count), f"record {segment.count} is not the one that the chain's end names")
    return None


def sound(connection: sqlite3.Connection, at: Position, path: Path) -> Broken | None:
    """Returns a fault if a database that is still written to, or its write-ahead log, is damaged; else None."""
    state = _pragma(connection, "integrity_check")
    if state != "ok":
        return at.broken(f"the database is damaged: {state}", damaged=True)
    frame = damaged_frame(Path(f"{path}-wal"))
    if frame is not None:
        return at.broken(f"frame {frame} of the write-ahead log is damaged, and what followed is lost")
    return None


def hash_at(connection: sqlite3.Connection, segment: Segment, number: int) -> str | None:
    """Returns the stored hash of a record of this segment, or None; for the number before its first record, the hash
    from which the segment continues."""
    if number == segment.before:
        return segment.previous or segment.genesis
    row = connection.execute("SELECT hash FROM records WHERE number = ?", (number,)).fetchone()
    return row[0] if row else None


def _hashed(connection: sqlite3.Connection, at: Position) -> tuple[int, str] | None:
    """Returns where the chain ends, or None if anything is wrong: one fast pass that does not say what."""
    sha256, head, count = hashlib.sha256, at.head.encode(), at.count
    sql = "SELECT content, hash FROM records WHERE number > ? ORDER BY number"
    try:
        for content, digest in connection.execute(sql, (count,)):
            if sha256(head + content).hexdigest().encode() != digest:
                return None
            head = digest
            count += 1
    except TypeError:  # a damaged file may hold numbers instead of text
        return None
    # If there are as many records as the last number says, none is missing.
    (last,) = connection.execute("SELECT max(number) FROM records").fetchone()
    return (count, head.decode()) if last in {count, None} else None


def _first_wrong(connection: sqlite3.Connection, at: Position) -> Broken:
    """Returns the fault of the first wrong record in a chain that is known to be broken."""
    sql = "SELECT number, content, hash FROM records WHERE number > ? ORDER BY number"
    for number, content, digest in connection.execute(sql, (at.count,)):
        expected = at.count + 1
        if number != expected:
            return at.broken(f"record {expected} is missing: record {number} follows")
        if not isinstance(content, bytes) or not isinstance(digest, bytes):
            return at.broken(f"record {expected} is not text")
        if hashlib.sha256(at.head.encode() + content).hexdigest().encode() != digest:
            return at.broken(f"record {expected} does not match its hash")
        at.count, at.head = expected, digest.decode()
    return at.broken("the database is damaged: it reads differently each time")


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


_HEADER, _FRAME = 32, 24
_MAGIC: dict[int, Literal["little", "big"]] = {0x377F0682: "little", 0x377F0683: "big"}
_MASK = 0xFFFFFFFF


def damaged_frame(path: Path) -> int | None:
    """Returns the number (from 1) of a frame that is wrong although frames of the same log follow it, or None.

    A wrong last frame is no damage, because a write that a crash interrupted looks like that. Raises OSError.
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
