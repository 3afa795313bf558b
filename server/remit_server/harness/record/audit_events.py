"""Makes the audit events of turns, calls and judgements; what cannot be recorded is not done (AUD-01).

Also removes secrets from what is recorded or shown of a call, and shortens it (SEC-01).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from pydantic import JsonValue

from remit_governance.audit.log.unfinished_calls import SUB_AGENT
from remit_governance.audit.record import MAX_SUMMARY, READING, AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.capabilities import Ended
from remit_governance.errors import AuditError
from remit_governance.intents import Declaration
from remit_governance.secrets.cutting import truncate, truncate_strings
from remit_governance.secrets.redaction import Redactor
from remit_governance.values import Reason, Verdict
from remit_governance.workflow.position import Position
from remit_server.contract import ErrorCode, ErrorPayload, ReasonPayload
from remit_server.errors import RemitError, ToolError
from remit_server.harness.judgement import Judgement
from remit_server.harness.turn import Turn
from remit_server.tools.data_room import MAX_DATA, json_length

MAX_ERROR = 16_000
"""Characters of an error that the model sees, roughly 4,000 tokens."""


def summarise(text: str, redactor: Redactor, keep: Literal["head", "middle"] = "middle") -> str:
    """Returns a text as a record holds it: without secrets and shortened."""
    return truncate(redactor.redact(text), MAX_SUMMARY, keep)


def summarise_arguments(redacted: JsonValue, redactor: Redactor) -> str:
    """Returns arguments, whose parts are redacted already, as a record holds them.

    Each part is shortened first. Then the whole is redacted again, because some secrets show only in the whole text."""
    return summarise(json.dumps(truncate_strings(redacted, 2 * MAX_SUMMARY), ensure_ascii=False), redactor)


@lru_cache(maxsize=256)
def reason_payload(reason: Reason) -> ReasonPayload:
    """Returns a rule's reason as it is sent to the client."""
    return ReasonPayload(
        rule=reason.rule,
        layer=reason.layer,
        action=reason.verdict.word,
        reason=reason.message,
        file=reason.file,
        line=reason.line,
    )


def redact_error(payload: ErrorPayload, redactor: Redactor) -> ErrorPayload:
    """Returns an error as it is sent to the client: without secrets, each text at most `MAX_ERROR` characters."""
    texts = {name: redactor.redact(getattr(payload, name)) for name in ("message", "what", "why", "fix")}
    return payload.model_copy(update={name: truncate(text, MAX_ERROR, "middle") for name, text in texts.items()})


def describe_interruption(tool: str, changed: Sequence[str], *, cancelled: bool) -> ToolError:
    """Returns the error of a call that was cut short after it had changed the files in `changed`."""
    done = f"; it had changed {', '.join(f'`{path}`' for path in changed)} before" if changed else ""
    if cancelled:
        why, fix = f"it was cancelled{done}", "ask again to go on"
        return ToolError(f"`{tool}` was stopped", why, fix, code=ErrorCode.CANCELLED)
    why, fix = f"something went wrong inside Remit{done}", "look into the server's log and report it"
    return ToolError(f"`{tool}` failed", why, fix, code=ErrorCode.INTERNAL)


def redact_data(data: Mapping[str, JsonValue], redactor: Redactor) -> dict[str, JsonValue]:
    """Returns a result's data without secrets, or an empty dict if the data is longer than `MAX_DATA`."""
    if json_length(dict(data)) > MAX_DATA:
        return {}
    return redactor.redact_json(dict(data))


WORDS = {Verdict.ALLOW: "allowed", Verdict.REQUIRE_REVIEW: "review_required", Verdict.DENY: "denied"}
ENDS: Mapping[Ended, AuditKind] = {
    "in_force": AuditKind.CAPABILITY_ENDED,
    "expired": AuditKind.CAPABILITY_EXPIRED,
    "revoked": AuditKind.CAPABILITY_REVOKED,
}
"""The event that records the end of a token, by the state that the token was in when it ended."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


def append(audit: AuditLog, event: AuditEvent, refusal: type[RemitError] = ToolError) -> None:
    """Records one event, durably unless the event may wait. Raises a `refusal` (`audit_broken`) if that fails."""
    try:
        audit.write(event)
    except AuditError as error:
        raise refusal(error.what, error.why, error.fix, code=ErrorCode.AUDIT_BROKEN) from error


def turn_event(kind: AuditKind, turn: Turn, metadata: Mapping[str, str] = _NOTHING) -> AuditEvent:
    """Returns an event of a turn. If it is a sub-agent's turn, the event names the call that handed the work over."""
    parent = {} if turn.handed is None else {SUB_AGENT: turn.handed.call_id}
    return AuditEvent(kind, turn.caller, turn.session_id, turn.turn_id, turn.step, metadata={**metadata, **parent})


def placed_event(kind: AuditKind, turn: Turn, position: Position, metadata: Mapping[str, str] = _NOTHING) -> AuditEvent:
    """Returns an event of a turn, with the session's position in the workflow."""
    event = turn_event(kind, turn, metadata)
    return replace(event, session_mode=position.mode, state_machine_state=position.state)


def run_event(kind: AuditKind, turn: Turn, policy_version: str, metadata: Mapping[str, str]) -> AuditEvent:
    """Returns the event that a turn begins or has ended. It names no caller, because none causes it."""
    return AuditEvent(
        kind, session_id=turn.session_id, turn_id=turn.turn_id, policy_version=policy_version, metadata=metadata
    )


def intent_event(
    declared: Declaration, call_id: str, turn: Turn, redactor: Redactor, policy_version: str
) -> AuditEvent:
    """Returns the record of a declared intent (rule 2) or a switch (rule 4)."""
    why = declared.justification
    more = {"previous": turn.intent.active, "work_item": declared.work_item}
    return replace(
        turn_event(AuditKind.INTENT_SELECTED, turn, {name: value for name, value in more.items() if value}),
        tool_call_id=call_id,
        intent=declared.intent,
        justification=summarise(why, redactor, "head") if why else None,
        policy_version=policy_version,
    )


@dataclass(frozen=True, slots=True)
class Worded:
    """A judgement in the words of records: the decision, its rules, and where the deciding rule is written.

    `syscall` is that of the first action that does more than read, or of the first action if all only read."""

    word: str | None = None
    rules: tuple[str, ...] = ()
    rule: str | None = None
    rule_at: str | None = None
    syscall: str | None = None
    reasons: tuple[ReasonPayload, ...] = ()

    @classmethod
    def of(cls, judgement: Judgement) -> Worded:
        """Returns a judgement in the words of records, made once and used by all records of a call."""
        decision = judgement.decision
        deciding, rules = decision.deciding, decision.rules
        syscalls = [action.syscall for action in judgement.actions]
        return cls(
            WORDS[decision.verdict],
            rules,
            ", ".join(rules) or None,
            f"{deciding.file}:{deciding.line}" if deciding.file else None,
            next((s for s in syscalls if s not in READING), syscalls[0] if syscalls else None),
            tuple(map(reason_payload, decision.reasons)),
        )


UNJUDGED = Worded()
