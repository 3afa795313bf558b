"""Reading the audit log (effect): records by what they are about, through all segments (governance.md §7)."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from remit_governance.audit.database import archives, connect, read_segment
from remit_governance.audit.record import AuditKind, AuditRecord, read_content
from remit_governance.errors import AuditError


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which records; None asks nothing. `number` is a record's own. Times are milliseconds since the epoch, `since`
    included, `until` not."""

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

_EQUAL = (
    "session_id",
    "turn_id",
    "tool_call_id",
    "tool_name",
    "kind",
    "policy_decision",
    "policy_rule_name",
)


def query_audit(path: Path, wanted: AuditFilter = EVERYTHING) -> tuple[AuditRecord, ...]:
    """The last `limit` records that fit (None: all), oldest first. Nothing is written. Raises AuditError."""
    found: list[AuditRecord] = []
    with _readable(path) as segments:
        for segment in reversed(segments):
            left = None if wanted.limit is None else wanted.limit - len(found)
            if left == 0:
                break
            found += _records(segment, wanted, left, newest_first=True)
    return tuple(reversed(found))


def stream_audit(path: Path, wanted: AuditFilter = EVERYTHING) -> Iterator[AuditRecord]:
    """All records that fit, oldest first, one at a time; `limit` is not looked at. Raises AuditError."""
    with _readable(path) as segments:
        for segment in segments:
            yield from _records(segment, wanted, None, newest_first=False)


def latest_audit(path: Path, wanted: AuditFilter = EVERYTHING) -> Generator[AuditRecord]:
    """All records that fit, newest first, one at a time; `limit` is not looked at. Raises AuditError."""
    with _readable(path) as segments:
        for segment in reversed(segments):
            yield from _records(segment, wanted, None, newest_first=True)


@contextmanager
def _readable(path: Path) -> Generator[list[sqlite3.Connection]]:
    """Connections to every segment, oldest first, as they are at this moment. What goes wrong is an AuditError."""
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
    genesis = segment.genesis
    where, values = _where(wanted)
    sql = (
        "SELECT r.content, r.hash, coalesce(p.hash, ?)"  # noqa: S608 no input in it
        " FROM records r LEFT JOIN records p ON p.number = r.number - 1"
        f" WHERE {where} ORDER BY r.number {'DESC' if newest_first else 'ASC'} LIMIT ?"
    )
    for content, digest, prev_hash in connection.execute(sql, (genesis, *values, -1 if limit is None else limit)):
        number, timestamp, event = read_content(content)
        yield AuditRecord(number, timestamp, prev_hash, digest, event)


def _where(wanted: AuditFilter) -> tuple[str, list[str | int]]:
    clauses, values = ["1"], list[str | int]()
    for name in _EQUAL:
        value: str | None = getattr(wanted, name)
        if value is not None:
            clauses.append(f"json_extract(r.content, '$.{name}') = ?")
            values.append(str(value))
    if wanted.number is not None:
        clauses.append("r.number = ?")
        values.append(wanted.number)
    for bound, comparison in ((wanted.since, ">="), (wanted.until, "<")):
        if bound is not None:
            clauses.append(f"json_extract(r.content, '$.timestamp') {comparison} ?")
            values.append(bound)
    return " AND ".join(clauses), values
