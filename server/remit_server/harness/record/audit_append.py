"""Appends events to the audit log: what cannot be recorded is not done (AUD-01).

Reasons, refusals and arguments as they leave the harness, without secrets (SEC-01).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from pydantic import JsonValue

from remit_governance.audit.log.unfinished_calls import SUB_AGENT
from remit_governance.audit.record import MAX_SUMMARY, AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError
from remit_governance.intents import Declaration
from remit_governance.secrets.redaction import Redactor, map_strings, truncate
from remit_governance.values import Reason
from remit_server.contract import ErrorCode, ErrorPayload, ReasonPayload
from remit_server.errors import RemitError, ToolError
from remit_server.harness.turn import Turn
from remit_server.tools.data_room import MAX_DATA, json_length


def append(audit: AuditLog, event: AuditEvent) -> None:
    """Records one event, durably unless it may wait. Raises ToolError (`audit_broken`): what cannot be recorded is not
    done."""
    try:
        audit.write(event)
    except AuditError as error:
        raise ToolError(error.what, error.why, error.fix, code=ErrorCode.AUDIT_BROKEN) from error


def noted_parent(turn: Turn) -> dict[str, str]:
    """Returns what records of a turn say of the call that it is a part of; nothing where it is a whole one."""
    return {} if turn.handed is None else {SUB_AGENT: turn.handed.call_id}


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
        metadata={name: value for name, value in more.items() if value} | noted_parent(turn),
    )


MAX_ERROR = 16_000
"""Characters of an error that the model sees: 4,000 tokens, roughly."""


@lru_cache(maxsize=256)
def reason_payload(reason: Reason) -> ReasonPayload:
    """Returns a rule's reason as it crosses the wire."""
    return ReasonPayload(
        rule=reason.rule,
        layer=reason.layer,
        action=reason.verdict.word,
        reason=reason.message,
        file=reason.file,
        line=reason.line,
    )


def redact_error(error: RemitError, redactor: Redactor) -> ErrorPayload:
    """Returns an error as it crosses the wire, without secrets, and no longer than a result."""
    payload = error.payload()
    texts = {name: redactor.redact(getattr(payload, name)) for name in ("message", "what", "why", "fix")}
    return payload.model_copy(update={name: truncate(text, MAX_ERROR, "middle") for name, text in texts.items()})


def describe_interruption(tool: str, changed: Sequence[str], *, cancelled: bool) -> ToolError:
    """Returns the error of a call that was cut short, after it had `changed` these files."""
    done = f"; it had changed {', '.join(f'`{path}`' for path in changed)} before" if changed else ""
    if cancelled:
        why, fix = f"it was cancelled{done}", "ask again to go on"
        return ToolError(f"`{tool}` was stopped", why, fix, code=ErrorCode.CANCELLED)
    why, fix = f"something went wrong inside Remit{done}", "look into the server's log and report it"
    return ToolError(f"`{tool}` failed", why, fix, code=ErrorCode.INTERNAL)


def shorten_strings(value: JsonValue) -> JsonValue:
    """Cuts every long string in a redacted JSON value in the middle: no more of it is summarised."""
    return cast("JsonValue", map_strings(value, lambda text: truncate(text, 2 * MAX_SUMMARY, "middle")))


def redact_data(data: Mapping[str, JsonValue], redactor: Redactor) -> dict[str, JsonValue]:
    """Redacts a result's data; returns nothing where it is longer than `MAX_DATA`."""
    if json_length(dict(data)) > MAX_DATA:
        return {}
    return redactor.redact_json(dict(data))
