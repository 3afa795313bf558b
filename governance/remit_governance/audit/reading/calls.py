"""Calls put together from their records: asked about, announced, ended (AUD-04). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from remit_governance.audit.record import AuditKind, AuditRecord

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
    """The records of one call. `announced` is what says how it was judged; `outcome` is None while it runs."""

    announced: AuditRecord
    approvals: tuple[AuditRecord, ...]
    outcome: AuditRecord | None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of all its records."""
        ended = (self.outcome,) if self.outcome else ()
        return tuple(record.number for record in (*self.approvals, self.announced, *ended))


def calls_of(records: Iterable[AuditRecord]) -> tuple[CallRecords, ...]:
    """The calls among these records, which are in order. An outcome ends a call: what comes later with the same ids is
    another one."""
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
