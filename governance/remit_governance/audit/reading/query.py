"""Reads the audit log (effect): finds records by their fields through all segments (AUD-05), and puts calls together
from their records: asked about, announced, ended (AUD-04).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from remit_governance.audit.log.database import archives, connect, field_of, is_indexed, read_segment
from remit_governance.audit.record import AuditKind, AuditRecord, read_content
from remit_governance.errors import AuditError


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which records are wanted; a field that is None puts no condition. `number` is the record's own number. The
    decision `denied` means every call that was denied, also by a person or because nobody answered. Times are
    milliseconds since the epoch, `since` included, `until` excluded."""

    number: int | None = None
    session_id: str | None = None
    turn_id: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    kind: AuditKind | None = None
    policy_decision: str | None = None
    policy_rule_name: str | None = None
    since: int | None = None
    until: int | None = None
    limit: int | None = 1000


EVERYTHING = AuditFilter()

_EQUAL = ("session_id", "turn_id", "tool_call_id", "tool_name", "kind", "policy_decision", "policy_rule_name")


_FOUND = "number IN (SELECT number FROM fields WHERE name = ? AND value = ?)"
_ANY_DENIED = (
    "number IN (SELECT number FROM fields WHERE name = 'policy_decision' AND value = 'denied' OR name = 'denied_by')"
)


def query_audit(path: Path, wanted: AuditFilter = EVERYTHING) -> tuple[AuditRecord, ...]:
    """Returns the last `limit` records that fit (None: all), oldest first. Writes nothing. Raises AuditError."""
    found: list[AuditRecord] = []
    with _readable(path) as segments:
        for segment in reversed(segments):
            left = None if wanted.limit is None else wanted.limit - len(found)
            if left == 0:
                break
            found += _records(segment, wanted, left, newest_first=True)
    return tuple(reversed(found))


def stream_audit(path: Path, wanted: AuditFilter = EVERYTHING) -> Iterator[AuditRecord]:
    """Yields all records that fit, oldest first, one at a time; ignores `limit`. Raises AuditError."""
    with _readable(path) as segments:
        for segment in segments:
            yield from _records(segment, wanted, None, newest_first=False)


def latest_audit(path: Path, wanted: AuditFilter = EVERYTHING) -> Generator[AuditRecord]:
    """Yields all records that fit, newest first, one at a time; ignores `limit`. Raises AuditError."""
    with _readable(path) as segments:
        for segment in reversed(segments):
            yield from _records(segment, wanted, None, newest_first=True)


@contextmanager
def _readable(path: Path) -> Generator[list[sqlite3.Connection]]:
    """Yields connections to all segments, oldest first, as they are at this moment. Raises AuditError, also for errors
    in the caller's use of them."""
    try:
        with closing(connect(path, read_only=True)) as active:
            active.execute("BEGIN")
            segment = read_segment(active)
            ordinal = segment.ordinal if segment else 0
            closed = [connect(file, read_only=True) for number, file in archives(path) if number < ordinal]
            try:
                yield [*closed, active]
            finally:
                for connection in closed:
                    connection.close()
    except (sqlite3.Error, ValueError, TypeError, OSError) as error:
        missing = not path.exists()
        raise AuditError(
            "the audit log cannot be read",
            f"{path}: {'there is no such file' if missing else error}",
            "run something first" if missing else "run `remit audit verify`",
        ) from error


def _records(
    connection: sqlite3.Connection, wanted: AuditFilter, limit: int | None, *, newest_first: bool
) -> Iterator[AuditRecord]:
    segment = read_segment(connection)
    if segment is None:
        raise ValueError("the start of the chain is missing")
    where, values = _where(wanted)
    if is_indexed(connection):
        if _outside(connection, wanted):
            return
        if rarest := _rarest(connection, wanted):
            where = f"{_FOUND} AND {where}"
            values = [*rarest, *values]
        elif _any_denied(wanted):
            where = f"{_ANY_DENIED} AND {where}"
    elif texts := _texts(wanted):
        where = " AND ".join(["instr(content, ?)"] * len(texts)) + f" AND {where}"
        values = [*texts, *values]
    order = "DESC" if newest_first else "ASC"
    sql = (
        "SELECT r.content, r.hash, coalesce(p.hash, ?)"  # noqa: S608 no input in it
        f" FROM (SELECT * FROM records WHERE {where} ORDER BY number {order} LIMIT ?) r"
        f" LEFT JOIN records p ON p.number = r.number - 1 ORDER BY r.number {order}"
    )
    values.append(-1 if limit is None else limit)
    for content, digest, prev_hash in connection.execute(sql, (segment.genesis, *values)):
        number, timestamp, event = read_content(content)
        yield AuditRecord(number, timestamp, prev_hash, digest, event)


def _texts(wanted: AuditFilter) -> list[str]:
    """Returns texts that each fitting record's JSON has, because searching for them is faster than reading JSON."""
    texts = [f'"{name}":{json.dumps(value, ensure_ascii=False)}' for name, value in _asked(wanted)]
    return [*texts, '"denied'] if _any_denied(wanted) else texts


def _any_denied(wanted: AuditFilter) -> bool:
    return wanted.policy_decision == "denied"


def _asked(wanted: AuditFilter) -> list[tuple[str, str]]:
    """Returns the fields that have to hold exactly a value, with that value."""
    given = ((name, getattr(wanted, name)) for name in _EQUAL)
    exact = ((name, str(value)) for name, value in given if value is not None)
    return [each for each in exact if each != ("policy_decision", "denied")]


def _outside(connection: sqlite3.Connection, wanted: AuditFilter) -> bool:
    """Returns whether all records of a closed segment are from before or after the wanted time span."""
    sql = "SELECT min(value), max(value) FROM fields WHERE name = 'timestamp'"
    first, last = connection.execute(sql).fetchone()
    before, after = wanted.since is not None and last < wanted.since, wanted.until is not None and first >= wanted.until
    return before or after


def _rarest(connection: sqlite3.Connection, wanted: AuditFilter) -> tuple[str, str] | None:
    """Returns the wanted field and value that the fewest records of a closed segment have, or None if none is
    wanted."""
    asked = _asked(wanted)
    if len(asked) < 2:
        return next(iter(asked), None)
    sql = "SELECT count(*) FROM fields WHERE name = ? AND value = ?"
    return min(asked, key=lambda pair: connection.execute(sql, pair).fetchone()[0])


def _where(wanted: AuditFilter) -> tuple[str, list[str | int]]:
    clauses, values = ["1"], list[str | int]()
    for name, value in _asked(wanted):
        clauses.append(f"{field_of(name)} = ?")
        values.append(value)
    if _any_denied(wanted):
        clauses.append(f"({field_of('policy_decision')} = 'denied' OR {field_of('denied_by')} IS NOT NULL)")
    if wanted.number is not None:
        clauses.append("number = ?")
        values.append(wanted.number)
    for bound, comparison in ((wanted.since, ">="), (wanted.until, "<")):
        if bound is not None:
            clauses.append(f"{field_of('timestamp')} {comparison} ?")
            values.append(bound)
    return " AND ".join(clauses), values


_PARTS = frozenset(
    {
        AuditKind.APPROVAL_REQUIRED,
        AuditKind.APPROVAL_RESOLVED,
        AuditKind.APPROVAL_REFUSED,
        AuditKind.TOOL_INTENT,
        AuditKind.TOOL_OUTCOME,
    }
)


@dataclass(frozen=True, slots=True)
class CallRecords:
    """The records of one call. `announced` says how the call was judged; `outcome` is None while the call runs."""

    announced: AuditRecord
    approvals: tuple[AuditRecord, ...]
    outcome: AuditRecord | None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of all records of the call."""
        ended = (self.outcome,) if self.outcome else ()
        return tuple(record.number for record in (*self.approvals, self.announced, *ended))


def calls_of(records: Iterable[AuditRecord]) -> tuple[CallRecords, ...]:
    """Returns the calls among these records, which have to be in order. An outcome ends a call, so later records with
    the same ids belong to another call."""
    found: list[CallRecords] = []
    running: dict[tuple[str | None, ...], list[AuditRecord]] = {}
    for record in records:
        event = record.event
        if event.kind in _PARTS:
            own = (event.session_id, event.turn_id, event.tool_call_id)
            running.setdefault(own, []).append(record)
            if event.kind is AuditKind.TOOL_OUTCOME:
                found += _call(running.pop(own))
    for left in running.values():
        found += _call(left)
    return tuple(found)


def _call(records: list[AuditRecord]) -> list[CallRecords]:
    by_kind = {record.event.kind: record for record in records}
    announced = by_kind.get(AuditKind.TOOL_INTENT)
    if announced is None:
        return []
    ends = {AuditKind.TOOL_INTENT, AuditKind.TOOL_OUTCOME}
    asked = tuple(record for record in records if record.event.kind not in ends)
    return [CallRecords(announced, asked, by_kind.get(AuditKind.TOOL_OUTCOME))]
