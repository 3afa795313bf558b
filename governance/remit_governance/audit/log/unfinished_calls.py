"""Finds what had begun when its process died: calls, their tokens and sandboxes, changes of the policy, servers. Each
gets its second record later (AUD-07)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from remit_governance.audit.record import AuditEvent, AuditKind

BEGUN = "begun"
"""The `output_summary` of the record before a change of the policy; a second record says how the change ended."""

ELSEWHERE = "agent"
"""In the metadata of a call that another agent makes. It does not belong to the process that records it: another
process records its end, or none does."""

SUB_AGENT = "sub_agent"
"""In the metadata of a sub-agent's records: the id of the call that handed it the work (AGT-17)."""

TOLD = "told"
"""In the metadata of another agent's call: the agent's answer; with `ask` it was to ask its person."""

LEADS_TO = "leads_to"
"""In the metadata of the outcome of another agent's call: the file that it really reached, which was not the one judged
under that name."""

NOT_KNOWN = "interrupted: the process ended during this call, and it is not known whether the call was carried out"

NOT_IN_ORDER = "the server did not end in order: its process was killed, or what it recorded last was removed"

WITH_ITS_SERVER = "the process that it belonged to ended"
"""The recorded reason for the end of a token, sandbox or process that ended with its server."""

_ENDS = frozenset(
    {
        *(AuditKind.TOOL_OUTCOME, AuditKind.POLICY_UPDATE, AuditKind.KERNEL_SHUTDOWN),
        *(AuditKind.CAPABILITY_ENDED, AuditKind.CAPABILITY_REVOKED, AuditKind.CAPABILITY_EXPIRED),
        *(AuditKind.SANDBOX_DESTROYED, AuditKind.SANDBOX_FAILED, AuditKind.PROCESS_ENDED),
    }
)
_OF_CALLS: Mapping[AuditKind, AuditKind] = MappingProxyType(
    {
        AuditKind.CAPABILITY_ISSUED: AuditKind.CAPABILITY_ENDED,
        AuditKind.SANDBOX_CREATED: AuditKind.SANDBOX_DESTROYED,
        AuditKind.PROCESS_STARTED: AuditKind.PROCESS_ENDED,
    }
)
"""The kinds of records for what a call has while it runs, each with the kind that records its end."""
_TOKENS = frozenset(kind for kind in AuditKind if kind.value.startswith("capability_"))
_PROCESSES = frozenset({AuditKind.PROCESS_STARTED, AuditKind.PROCESS_ENDED})
_SANDBOXES = frozenset({AuditKind.SANDBOX_CREATED, AuditKind.SANDBOX_DESTROYED, AuditKind.SANDBOX_FAILED})


def unfinished_calls(events: Iterable[AuditEvent]) -> tuple[AuditEvent, ...]:
    """Returns the events that announce something whose end is not among `events`, which have to be in order.

    A call's tokens and sandboxes come before the call. Servers come last, because as long as a server has no recorded
    end, unsigned records may be those of a killed server.
    """
    begun: dict[tuple[str | None, ...], list[AuditEvent]] = {}
    for event in events:
        begins = (event.session_id, event.turn_id, event.tool_call_id, *_had(event), _server(event))
        if _announces(event):
            begun.setdefault(begins, []).append(event)
        elif event.kind in _ENDS and begun.get(begins):
            begun[begins].pop()
    return tuple(sorted((event for left in begun.values() for event in left), key=_place))


def _place(event: AuditEvent) -> int:
    return 0 if event.kind in _OF_CALLS else 2 if _starts(event) else 1


def _had(event: AuditEvent) -> tuple[str | None, ...]:
    """Returns the token, the sandbox and the background process that the record is about, None for each that it is not
    about."""
    token = event.capability_id if event.kind in _TOKENS else None
    sandbox = event.metadata.get("sandbox") if event.kind in _SANDBOXES else None
    return token, sandbox, event.metadata.get("process") if event.kind in _PROCESSES else None


def _announces(event: AuditEvent) -> bool:
    update = event.kind is AuditKind.POLICY_UPDATE and event.output_summary == BEGUN
    begins = (event.kind is AuditKind.TOOL_INTENT and ELSEWHERE not in event.metadata) or event.kind in _OF_CALLS
    return update or begins or bool(_starts(event) and _server(event))


def _starts(event: AuditEvent) -> bool:
    return event.kind is AuditKind.KERNEL_START


def _server(event: AuditEvent) -> str | None:
    """Returns the server whose start or end the record is, or None for any other record."""
    return event.metadata.get("server") if event.kind in {AuditKind.KERNEL_START, AuditKind.KERNEL_SHUTDOWN} else None


def outcome_not_known(announced: AuditEvent) -> AuditEvent:
    """Returns the second record for an event that was announced by a process which then died."""
    if _starts(announced):
        return replace(announced, kind=AuditKind.KERNEL_SHUTDOWN, output_summary=NOT_IN_ORDER)
    if (end := _OF_CALLS.get(announced.kind)) is not None:
        return replace(announced, kind=end, metadata={**announced.metadata, "why": WITH_ITS_SERVER})
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
