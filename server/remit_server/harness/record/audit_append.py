"""Appends events to the audit log: what cannot be recorded is not done (AUD-01)."""

from __future__ import annotations

from remit_governance.audit.record import MAX_SUMMARY, AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError
from remit_governance.intents import Declaration
from remit_governance.secrets.redaction import Redactor, truncate
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.turn import Turn


def append(audit: AuditLog, event: AuditEvent) -> None:
    """Records one event, durably unless it may wait. Raises ToolError (`audit_broken`): what cannot be recorded is not
    done."""
    try:
        audit.write(event)
    except AuditError as error:
        raise ToolError(error.what, error.why, error.fix, code=ErrorCode.AUDIT_BROKEN) from error


def intent_event(
    declared: Declaration, call_id: str, turn: Turn, redactor: Redactor, policy_version: str
) -> AuditEvent:
    """Returns the record of a declared intent (rule 2) or a switch (rule 4)."""
    why = declared.justification
    clean = truncate(redactor.redact(why), MAX_SUMMARY) if why else None
    more = {"previous": turn.intent.active, "work_item": declared.work_item}
    return AuditEvent(
        kind=AuditKind.INTENT_SELECTED,
        caller=turn.caller,
        session_id=turn.session_id,
        turn_id=turn.turn_id,
        step=turn.step,
        tool_call_id=call_id,
        intent=declared.intent,
        justification=clean,
        policy_version=policy_version,
        metadata={name: value for name, value in more.items() if value},
    )
