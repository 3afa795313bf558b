"""Reading the audit log (effect): records by what they are about (governance.md §7)."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from remit_governance.audit.database import connect
from remit_governance.audit.record import AuditKind, AuditRecord, genesis_hash, read_content
from remit_governance.errors import AuditError


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which records; None asks nothing. Times are milliseconds since the epoch, `since` included, `until` not."""

    session_id: str | None = None
    turn_id: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    kind: AuditKind | None = None
    policy_decision: str | None = None
    policy_rule_name: str | None = None
    since: int | None = None
    until: int | None = None
    limit: int = 1000


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
    """The last `limit` records that fit, oldest first. Nothing is written. Raises AuditError."""
    where, values = _where(wanted)
    sql = (
        "SELECT r.content, r.hash, coalesce(p.hash, ''), (SELECT started FROM chain)"  # noqa: S608 no input in it
        " FROM records r LEFT JOIN records p ON p.number = r.number - 1"
        f" WHERE {where} ORDER BY r.number DESC LIMIT ?"
    )
    try:
        connection = connect(path, read_only=True)
        try:
            rows = connection.execute(sql, (*values, wanted.limit)).fetchall()
        finally:
            connection.close()
        return tuple(_record(*row) for row in reversed(rows))
    except (sqlite3.Error, ValueError, TypeError) as error:
        missing = not path.exists()
        raise AuditError(
            "the audit log cannot be read",
            f"{path}: {'there is no such file' if missing else error}",
            "run something first" if missing else "run `remit audit verify`",
        ) from error


def _where(wanted: AuditFilter) -> tuple[str, list[str | int]]:
    clauses, values = ["1"], list[str | int]()
    for name in _EQUAL:
        value: str | None = getattr(wanted, name)
        if value is not None:
            clauses.append(f"json_extract(r.content, '$.{name}') = ?")
            values.append(str(value))
    for bound, comparison in ((wanted.since, ">="), (wanted.until, "<")):
        if bound is not None:
            clauses.append(f"json_extract(r.content, '$.timestamp') {comparison} ?")
            values.append(bound)
    return " AND ".join(clauses), values


def _record(content: str, digest: str, prev_hash: str, started: int) -> AuditRecord:
    number, timestamp, event = read_content(content)
    return AuditRecord(number, timestamp, prev_hash or genesis_hash(started), digest, event)
