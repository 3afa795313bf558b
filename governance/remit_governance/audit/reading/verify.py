"""Checks an audit log from its first record to its last, through all its segments (AUD-04), and reads what its latest
records say about the log itself: which servers have not ended, which faults were found, which log was set aside before.

Finds changed, removed and reordered records, a missing end, a missing segment, and a damaged file. Without checkpoints
it cannot find a chain that was recomputed as a whole; `checkpoint_file.judge` does that.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from remit_governance.audit.log.chain import Said, ended_servers, open_servers, records_about_log
from remit_governance.audit.log.database import (
    Segment,
    archives,
    connect,
    digest_of,
    index_is_whole,
    live_segment,
    newest,
    oldest,
)
from remit_governance.audit.log.unfinished_calls import NOT_IN_ORDER
from remit_governance.audit.proof.checkpoint import Checkpoint
from remit_governance.audit.proof.checkpoint_file import Claim, Evidence, Fault
from remit_governance.audit.reading.walk import Broken, Position, begin, end, follow, hash_at, segment_of, sound
from remit_governance.audit.record import AuditKind, read_content

__all__ = ["Broken", "Verified", "verify", "verify_recent"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Verified:
    """The chain is intact; its last record has the number `count` and the hash `head`."""

    count: int
    head: str
    evidence: Evidence
    changed: tuple[Fault, ...] = ()
    """Closed segments whose records are intact but whose file was changed since, so that the index may hide records."""


def verify(
    path: Path, wanted: AbstractSet[int] = frozenset(), pin: AbstractContextManager[object] | None = None
) -> Verified | Broken:
    """Checks the log at `path` without changing it; returns faults of the log instead of raising them.

    `wanted` are the record numbers whose hashes the evidence is to hold. `pin` is entered while the read transaction
    begins, which fixes the records that are checked; it may add numbers to `wanted`.
    """
    whole = _Whole(path, wanted)
    return _checked(path, whole.at, whole.run, pin)


def verify_recent(path: Path, checkpoint: Checkpoint | None) -> Broken | None:
    """Returns what is wrong in the active segment after this checkpoint, or None; quick enough for every start."""
    at = Position()

    def run(active: sqlite3.Connection) -> Broken | None:
        segment = segment_of(active, at)
        if isinstance(segment, Broken):
            return segment
        if checkpoint is not None and (checkpoint.count >= segment.before or checkpoint.log != segment.log):
            fault = _resume(active, segment, at, checkpoint)
        else:
            fault = begin(segment, at)
        return fault or follow(active, at) or end(active, segment, at, closed=False) or sound(active, at, path)

    return _checked(path, at, run)


def _checked(
    path: Path,
    at: Position,
    run: Callable[[sqlite3.Connection], T],
    pin: AbstractContextManager[object] | None = None,
) -> T | Broken:
    if not path.is_file():
        return Broken(1, f"there is no audit log at {path}")
    try:
        with closing(connect(path, read_only=True)) as active:
            # One read transaction, so that records appended meanwhile are not seen.
            with pin or nullcontext():
                active.execute("BEGIN")
                active.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            return run(active)
    except (sqlite3.Error, OSError, ValueError, OverflowError) as error:
        name = str(getattr(error, "sqlite_errorname", ""))
        damaged = name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
        return at.broken(f"the database is damaged here: {error}", damaged=damaged)


def _resume(active: sqlite3.Connection, segment: Segment, at: Position, known: Checkpoint) -> Broken | None:
    """Moves `at` to the checkpoint's record, if its hash is the one that the checkpoint vouches for; else returns what
    is wrong."""
    if known.log != segment.log:
        return Broken(1, f"it was replaced: the log last vouched for was another one, with {known.count} records")
    count = live_segment(active).count
    if known.count > count:
        return Broken(count + 1, f"the end was cut off: a checkpoint counts {known.count} records")
    if hash_at(active, segment, known.count) != known.head:
        return Broken(max(1, known.count), "the chain was recomputed: a checkpoint vouches for a different hash")
    if known.count == segment.before:
        return begin(segment, at)
    at.count, at.head = known.count, known.head
    return None


@dataclass(slots=True)
class _Whole:
    """One pass over all segments, and what it has found."""

    path: Path
    wanted: AbstractSet[int]
    at: Position = field(default_factory=Position)
    oldest: Segment | None = None
    hashes: dict[int, str] = field(default_factory=dict[int, str])
    times: dict[int, int] = field(default_factory=dict[int, int])
    claim: Claim | None = None
    deleted: int = 0
    digests: dict[int, str] = field(default_factory=dict[int, str])

    def run(self, active: sqlite3.Connection) -> Verified | Broken:
        segment = segment_of(active, self.at)
        if isinstance(segment, Broken):
            return segment
        fault = self._closed_ones(segment) or (
            self._one(active, segment, closed=False) or sound(active, self.at, self.path) or self._missing_start()
        )
        if fault is not None:
            return fault
        before = self.oldest.before if self.oldest else 0
        said = said_of_itself(active, self.path)
        evidence = replace(said, log=segment.log, before=before, count=self.at.count, hashes=self.hashes)
        evidence = replace(evidence, claim=self.claim, times=self.times)
        return Verified(self.at.count, self.at.head, evidence, tuple(self._changed(segment)))

    def _changed(self, active: Segment) -> Iterator[Fault]:
        """Yields faults for closed segments that were changed since: found by the file's digest in a record, or, if a
        crash prevented that record, by comparing the segment's index with its records."""
        for ordinal, path in archives(self.path):
            if ordinal >= active.ordinal:
                break
            if ordinal in self.digests:
                same = digest_of(path) == self.digests[ordinal]
            else:
                with closing(connect(path, read_only=True)) as connection:
                    same = index_is_whole(connection)
            if not same:
                yield Fault(
                    f"segment {ordinal} was changed: its records are intact, but its index may hide some of them"
                )

    def _closed_ones(self, active: Segment) -> Broken | None:
        # A closed segment with the active one's ordinal was left by a crash in the middle of closing it.
        closed = [(ordinal, path) for ordinal, path in archives(self.path) if ordinal < active.ordinal]
        expected = closed[0][0] if closed else active.ordinal
        for ordinal, path in closed:
            if ordinal != expected:
                break
            with closing(connect(path, read_only=True)) as connection:
                segment = segment_of(connection, self.at)
                if isinstance(segment, Broken):
                    return segment
                if (segment.log, segment.ordinal) != (active.log, ordinal):
                    return self.at.broken(f"{path.name} is not segment {ordinal} of this log")
                if fault := self._one(connection, segment, closed=True):
                    return fault
            expected += 1
        return None if expected == active.ordinal else self.at.broken(f"segment {expected} is missing")

    def _one(self, connection: sqlite3.Connection, segment: Segment, *, closed: bool) -> Broken | None:
        fault = (
            begin(segment, self.at) or follow(connection, self.at) or end(connection, segment, self.at, closed=closed)
        )
        if fault is not None:
            return fault
        self.oldest = self.oldest or segment
        for number in self.wanted:
            if segment.before <= number <= self.at.count and (digest := hash_at(connection, segment, number)):
                self.hashes[number] = digest
        # Read the time of the last wanted record only, because reading all records would take longer than hashing them.
        last = max((number for number in self.wanted if number <= self.at.count), default=0)
        if last > segment.before:
            self.times[last] = time_at(connection, last)
        if content := newest(connection, AuditKind.CHECKPOINT):
            number, _, event = read_content(content)
            self.claim = Claim(number, event.metadata.get("digest", ""), "head" in event.metadata)
        if segment.ordinal > 1 and (content := oldest(connection, AuditKind.AUDIT_SEGMENT_CLOSED)):
            said = read_content(content)[2].metadata
            self.digests[int(said.get("segment", "0"))] = said.get("digest", "")
        if self.oldest.ordinal > 1 and (content := newest(connection, AuditKind.AUDIT_ARCHIVE_DELETED)):
            self.deleted = int(read_content(content)[2].metadata.get("segment", "0"))
        return None

    def _missing_start(self) -> Broken | None:
        """Returns a fault if segments before the oldest one are missing, and no record says that they were deleted."""
        if self.oldest is None or self.oldest.ordinal - 1 <= self.deleted:
            return None
        why = f"records 1 to {self.oldest.before} are missing, and no record says that they were deleted for their age"
        return Broken(1, why)


SET_ASIDE = re.compile(r"[\w.-]+\.set-aside-\d{8}T\d{6}Z(-\d+)?")
"""Matches the names of logs that were set aside; a forged record could hold any other path."""


def said_of_itself(connection: sqlite3.Connection, path: Path) -> Evidence:
    """Returns the parts of the evidence that come from the log's own records. Raises sqlite3.Error, ValueError."""
    records = records_about_log(connection)
    opened = open_servers(records)
    notes = [*_set_aside(records, path), *_breaks(records), *_servers(records, opened)]
    ended, forged = ended_servers(records), tuple(_forged(records))
    return Evidence("", 0, 0, {}, open_servers=opened, ended_servers=ended, forged=forged, notes=tuple(notes))


def time_at(connection: sqlite3.Connection, number: int) -> int:
    """Returns when a record was made, in milliseconds since the epoch; 0 if there is none. Raises ValueError."""
    row = connection.execute("SELECT content FROM records WHERE number = ?", (number,)).fetchone()
    return read_content(row[0])[1] if row else 0


def _forged(records: Iterable[Said]) -> Iterable[Fault]:
    for number, event in records:
        first = event.metadata.get("first", "")
        if event.kind is AuditKind.AUDIT_CHAIN_BREAK and first.isdecimal():
            yield Fault(f"{event.output_summary} (record {number} says so)", int(first))


def _breaks(records: Iterable[Said]) -> Iterable[str]:
    for number, event in records:
        if event.kind is AuditKind.AUDIT_CHAIN_BREAK and "first" not in event.metadata:
            yield f"record {number} says what was found when the log was opened or used: {event.output_summary}"


def _set_aside(records: Iterable[Said], path: Path) -> Iterable[str]:
    for number, event in records:
        if event.kind is AuditKind.AUDIT_SET_ASIDE:
            name, digest = event.metadata.get("file", ""), event.metadata.get("digest")
            file = path.with_name(name) if SET_ASIDE.fullmatch(name) else None
            state = "is there"
            if file is None or not os.path.lexists(file):
                state = "is no longer there"
            elif digest and digest_of(file) != digest:
                state = "has changed since"
            count = event.metadata.get("count")
            held = f", of {count} records when it was last vouched for," if count else ""
            what = f"an earlier log of this workspace{held} was set aside as {name}, which {state}"
            yield f"record {number} says that {what}: {event.output_summary}"


def _servers(records: Sequence[Said], opened: tuple[int, ...]) -> Iterable[str]:
    ended = [n for n, event in records if event.output_summary == NOT_IN_ORDER and event.metadata.get("server")]
    if ended:
        many = f"{len(ended)} servers" if len(ended) > 1 else "a server"
        yield f"{many} did not end in order (record {ended[-1]} says so last): killed, or the end was cut off"
    ours = {number for number, event in records if event.metadata.get("process") == str(os.getpid())}
    for number in opened:
        if number in ours:  # this process's own server is known to run
            continue
        yield f"the server that started with record {number} has not ended: it runs, was killed, or its end was cut off"
