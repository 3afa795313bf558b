"""Calls that had begun when their process died: each gets its second record later (architecture.md, invariant 6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from remit_governance.audit.record import AuditEvent, AuditKind

NOT_KNOWN = "interrupted: the process ended during this call, and whether it was done is not known"


def unended(events: Iterable[AuditEvent]) -> tuple[AuditEvent, ...]:
    """Those of `events`, which are in order, that announce a call of which nothing more is heard."""
    begun: dict[tuple[str | None, ...], list[AuditEvent]] = {}
    for event in events:
        call = (event.session_id, event.turn_id, event.tool_call_id)
        if event.kind is AuditKind.TOOL_INTENT:
            begun.setdefault(call, []).append(event)
        elif event.kind is AuditKind.TOOL_OUTCOME and begun.get(call):
            begun[call].pop()
    return tuple(event for left in begun.values() for event in left)


def outcome_not_known(announced: AuditEvent) -> AuditEvent:
    """The second record of a call whose process died after the first."""
    return replace(
        announced,
        kind=AuditKind.TOOL_OUTCOME,
        input_summary="",
        actions=None,
        reasons=None,
        metadata={},
        output_summary=NOT_KNOWN,
        deny_reason=NOT_KNOWN,
    )
