"""What the audit log is told of turns, calls and judgements: each event is made here, and what cannot be recorded is
not done (AUD-01).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from remit_governance.audit.log.durability import READING
from remit_governance.audit.log.unfinished_calls import SUB_AGENT
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.capabilities import Ended
from remit_governance.errors import AuditError
from remit_governance.intents import Declaration
from remit_governance.secrets.redaction import Redactor
from remit_governance.values import Verdict
from remit_governance.workflow.position import Position
from remit_server.contract import ErrorCode, ReasonPayload
from remit_server.errors import RemitError, ToolError
from remit_server.harness.judgement import Judgement
from remit_server.harness.record.redacted import reason_payload, summarise
from remit_server.harness.turn import Turn

WORDS = {Verdict.ALLOW: "allowed", Verdict.REQUIRE_REVIEW: "review_required", Verdict.DENY: "denied"}
ENDS: Mapping[Ended, AuditKind] = {
    "in_force": AuditKind.CAPABILITY_ENDED,
    "expired": AuditKind.CAPABILITY_EXPIRED,
    "revoked": AuditKind.CAPABILITY_REVOKED,
}
"""What is recorded of a token that is over, by the state that it was in then."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


def append(audit: AuditLog, event: AuditEvent, refusal: type[RemitError] = ToolError) -> None:
    """Records one event, durably unless it may wait. Raises a `refusal` (`audit_broken`) where that cannot be done."""
    try:
        audit.write(event)
    except AuditError as error:
        raise refusal(error.what, error.why, error.fix, code=ErrorCode.AUDIT_BROKEN) from error


def turn_event(kind: AuditKind, turn: Turn, metadata: Mapping[str, str] = _NOTHING) -> AuditEvent:
    """Returns an event of a turn; one of a part of a turn says of which call it is a part."""
    parent = {} if turn.handed is None else {SUB_AGENT: turn.handed.call_id}
    return AuditEvent(kind, turn.caller, turn.session_id, turn.turn_id, turn.step, metadata={**metadata, **parent})


def placed_event(kind: AuditKind, turn: Turn, position: Position, metadata: Mapping[str, str] = _NOTHING) -> AuditEvent:
    """Returns an event of a turn whose session stands at this place of the workflow."""
    event = turn_event(kind, turn, metadata)
    return replace(event, session_mode=position.mode, state_machine_state=position.state)


def run_event(kind: AuditKind, turn: Turn, policy_version: str, metadata: Mapping[str, str]) -> AuditEvent:
    """Returns the record that a turn begins or has ended, which nobody in it causes."""
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
    """A judgement in the words of records: who decided, the rules, where the deciding one is written, and of the
    actions the first that does more than read, else the first."""

    word: str | None = None
    rules: tuple[str, ...] = ()
    rule: str | None = None
    rule_at: str | None = None
    syscall: str | None = None
    reasons: tuple[ReasonPayload, ...] = ()

    @classmethod
    def of(cls, judgement: Judgement) -> Worded:
        """Puts a judgement into words, once for all records of a call."""
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
