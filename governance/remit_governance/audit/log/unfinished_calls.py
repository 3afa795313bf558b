"""Calls, servers and changes of the policy that had begun when their process died: each gets its second record later
(AUD-07)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from remit_governance.audit.record import AuditEvent, AuditKind

BEGUN = "begun"
"""The `output_summary` of a change of the policy that is about to be made; another record says how it ended."""

NOT_KNOWN = "interrupted: the process ended during this call, and whether it was done is not known"

NOT_IN_ORDER = "the server did not end in order: its process was killed, or what it recorded last was removed"

_ENDS = frozenset({AuditKind.TOOL_OUTCOME, AuditKind.POLICY_UPDATE, AuditKind.KERNEL_SHUTDOWN})


def unfinished_calls(events: Iterable[AuditEvent]) -> tuple[AuditEvent, ...]:
    """Those of `events`, which are in order, that announce something of which nothing more is heard.

    Servers come last: as long as one has not ended, what has no signature may be of one that was killed.
    """
    begun: dict[tuple[str | None, ...], list[AuditEvent]] = {}
    for event in events:
        call = (event.session_id, event.turn_id, event.tool_call_id, _server(event))
        if _announces(event):
            begun.setdefault(call, []).append(event)
        elif event.kind in _ENDS and begun.get(call):
            begun[call].pop()
    return tuple(sorted((event for left in begun.values() for event in left), key=_starts))


def _announces(event: AuditEvent) -> bool:
    update = event.kind is AuditKind.POLICY_UPDATE and event.output_summary == BEGUN
    return update or event.kind is AuditKind.TOOL_INTENT or bool(_starts(event) and _server(event))


def _starts(event: AuditEvent) -> bool:
    return event.kind is AuditKind.KERNEL_START


def _server(event: AuditEvent) -> str | None:
    """Which server starts or ends with the record; None for any other record."""
    return event.metadata.get("server") if event.kind in {AuditKind.KERNEL_START, AuditKind.KERNEL_SHUTDOWN} else None


def outcome_not_known(announced: AuditEvent) -> AuditEvent:
    """The second record of what was announced by a process that died then."""
    if _starts(announced):
        return replace(announced, kind=AuditKind.KERNEL_SHUTDOWN, output_summary=NOT_IN_ORDER)
    return replace(
        announced,
        kind=AuditKind.TOOL_OUTCOME if announced.kind is AuditKind.TOOL_INTENT else announced.kind,
        input_summary="",
        actions=None,
        reasons=None,
        metadata={},
        output_summary=NOT_KNOWN,
        deny_reason=NOT_KNOWN,
    )
