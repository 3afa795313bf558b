"""How long and how large a log is kept, and when its room runs out (AUD-05). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

DAY_MS = 86_400_000
SEGMENTS_AT_MOST = 64
"""The share of a full log that one segment may take: dropping the oldest one frees something, and what is looked for in
the active one, which has no indexes, is found in some milliseconds."""


@dataclass(frozen=True, slots=True)
class AuditRules:
    """What a log is held to: days, bytes, and records between two checkpoints."""

    retention_days: int = 90
    max_bytes: int = 1 << 30
    checkpoint_every: int = 250

    @property
    def segment_bytes(self) -> int:
        """How large the active segment becomes before it is closed, whatever the day."""
        return self.max_bytes // SEGMENTS_AT_MOST


@dataclass(frozen=True, slots=True)
class Archive:
    """A closed segment: its file, its size, and when its last record was made (milliseconds since the epoch)."""

    ordinal: int
    path: Path
    bytes: int
    ended: int


class StorageLevel(StrEnum):
    """How full a log's room is."""

    FINE = "fine"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Storage:
    """The room of a log, of which `used` bytes are taken. `why` says in words what limits it."""

    level: StorageLevel
    used: int
    why: str


def storage(used: int, free: int, rules: AuditRules) -> Storage:
    """Returns how full a log of `used` bytes is on a disk with `free` bytes left: above 80 % is a warning, above 95 %
    critical.

    Its room is what the rules give it, or what the disk has if that is less.
    """
    room = min(rules.max_bytes, used + free)
    share = used / room if room else 1.0
    level = StorageLevel.CRITICAL if share > 0.95 else StorageLevel.WARNING if share > 0.8 else StorageLevel.FINE
    limit = "the audit log may have" if room == rules.max_bytes else "are left for the audit log on its disk"
    return Storage(level, used, f"it takes {_size(used)} of the {_size(room)} that {limit}")


def due_for_closing(started: int, bytes_used: int, now: int, rules: AuditRules) -> bool:
    """Returns whether a segment begun at `started` is to be closed at `now` (milliseconds since the epoch): a new UTC
    day, or its size. A clock that went back closes nothing."""
    return now // DAY_MS > started // DAY_MS or bytes_used > rules.segment_bytes


def to_delete(closed: Sequence[Archive], active_bytes: int, now: int, rules: AuditRules) -> tuple[Archive, ...]:
    """Returns which closed segments (oldest first) are to go: those past their days, then the oldest while all is too
    large.

    A full disk deletes nothing: whoever can fill it could otherwise have the log forget.
    """
    used = active_bytes + sum(archive.bytes for archive in closed)
    gone: list[Archive] = []
    for archive in closed:
        if now - archive.ended <= rules.retention_days * DAY_MS and used <= rules.max_bytes:
            break
        gone.append(archive)
        used -= archive.bytes
    return tuple(gone)


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"
