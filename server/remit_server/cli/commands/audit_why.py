"""`remit audit why CALL`: the rule that decided a past call and its place, what was answered and by whom, and what
policy would decide now (AUD-04).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from remit_governance.audit.reading.calls import CallRecords
from remit_governance.audit.record import AuditKind
from remit_governance.policy.decision.recorded import recorded_actions, recorded_reasons
from remit_governance.policy.review.replay import judge_again, past_call
from remit_governance.values import Decision
from remit_governance.visible import visible_again
from remit_server.cli.commands.policy.replay import add_candidate_arguments, candidate
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE
from remit_server.errors import SetupError
from remit_server.runtime.audit.audit_service import record_json
from remit_server.runtime.audit.past_call import find_call
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.policy.replayed import about, deciding_rules
from remit_server.runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class Now:
    """The decision that policy would make on the call now; `cannot` says why it cannot be asked."""

    decision: Decision | None = None
    differs: bool = False
    cannot: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("call", metavar="CALL-ID|NUMBER", help="a call's id, or the number of any of its records")
    add_candidate_arguments(parser)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Explains the call. Raises SetupError where there is no such call."""
    call = find_call(settings.audit_database, arguments.call)
    now = _now(call, arguments, settings)
    if arguments.json:
        print_json(_payload(call, now))
    else:
        for line in _lines(call, now):
            say(line)
    return DONE


def _now(call: CallRecords, arguments: argparse.Namespace, settings: Settings) -> Now:
    past = past_call(call.announced)
    if isinstance(past, str):
        return Now(cannot=f"it was {past}")
    try:
        with closing(load_in_force(settings)) as in_force:
            decision = judge_again(candidate(settings, arguments, in_force.policy), past.actions)
    except SetupError as error:  # the past decision can be shown all the same
        return Now(cannot=f"{error.what}: {error.why}")
    return Now(decision, differs=decision.verdict is not past.was)


def _reasons(call: CallRecords) -> list[dict[str, str]]:
    """Returns all recorded reasons; for a plain allow the record has only the rule."""
    event = call.announced.event
    if told := recorded_reasons(event):
        return [dict(reason) for reason in told]
    if event.policy_rule_name is None:
        return []
    place = {"at": event.policy_rule_at} if event.policy_rule_at else {}
    action = {"allowed": "allow", "allowed_by_token": "allow"}.get(event.policy_decision or "", "")
    return [{"action": action, "rule": event.policy_rule_name, **place}]


def _approvals(call: CallRecords) -> list[dict[str, str]]:
    answered = (record for record in call.approvals if record.event.kind is not AuditKind.APPROVAL_REQUIRED)
    return [{"approval_id": record.event.approval_id or "", **record.event.metadata} for record in answered]


def _linked(call: CallRecords, name: str) -> str | None:
    """Returns the call that reviews what this one collected, or the calls whose edits this one reviews."""
    return call.outcome.event.metadata.get(name) if call.outcome else None


def _payload(call: CallRecords, now: Now) -> dict[str, object]:
    event = call.announced.event
    return {
        "number": call.announced.number,
        "records": list(call.numbers),
        "time": record_json(call.announced)["time"],
        "session_id": event.session_id,
        "turn_id": event.turn_id,
        "tool_call_id": event.tool_call_id,
        "caller": event.caller,
        "tool": event.tool_name,
        "intent": event.intent,
        "input": event.input_summary,
        "decision": event.policy_decision,
        "rule": event.policy_rule_name,
        "at": event.policy_rule_at,
        "policy_version": event.policy_version,
        "reasons": _reasons(call),
        "deny_reason": event.deny_reason,
        "asked": any(record.event.kind is AuditKind.APPROVAL_REQUIRED for record in call.approvals),
        "answers": _approvals(call),
        "review": _linked(call, "review"),
        "collects": _linked(call, "collects"),
        "outcome": call.outcome.event.output_summary if call.outcome else None,
        "now": {
            "verdict": now.decision.verdict.word if now.decision else None,
            "rules": list(now.decision.rules) if now.decision else [],
            "by": deciding_rules(now.decision) if now.decision else None,
            "differs": now.differs,
            "cannot": now.cannot or None,
        },
    }


def _lines(call: CallRecords, now: Now) -> Iterator[str]:
    event = call.announced.event
    what = ", ".join(dict.fromkeys(about(action) for action in recorded_actions(event)))
    yield f"{style_text(event.tool_name or '-', 'bold')} {what or visible_again(event.input_summary, 'show')}"
    when = record_json(call.announced)["time"]
    yield f"  when      {when}, record {call.announced.number}, call {event.tool_call_id}"
    intent = f"intent {event.intent}" if event.intent else "no intent"
    yield f"  who       {event.caller}, session {event.session_id}, turn {event.turn_id}, {intent}"
    place = f" ({event.policy_rule_at})" if event.policy_rule_at else ""
    yield f"  decided   {event.policy_decision} by {event.policy_rule_name or 'no rule'}{place}"
    for reason in _reasons(call):
        at = f" ({reason['at']})" if "at" in reason else ""
        said = f": {visible_again(reason['reason'], 'show')}" if "reason" in reason else ""
        yield f"    {reason.get('action', ''):>14}  {reason.get('rule', '-')}{said}{at}"
    for answer in _approvals(call):
        said = f"{answer.get('decision', 'refused')} by {answer.get('by', '-')}, scope {answer.get('scope', '-')}"
        yield f"  approval  {said} ({answer['approval_id']})"
    if (review := _linked(call, "review")) is not None:
        yield f"  collected nothing was written; call {review} is the review of it"
    if (collects := _linked(call, "collects")) is not None:
        yield f"  reviews   what was collected by {collects}"
    if event.deny_reason:
        yield f"  refused   {visible_again(event.deny_reason, 'show')}"
    ended = call.outcome.event.output_summary if call.outcome else "not recorded: it is running, or its process died"
    yield f"  outcome   {visible_again(ended or '-', 'show')}"
    yield f"  now       {_describe(now)}"


def _describe(now: Now) -> str:
    if now.decision is None:
        return f"cannot be said: {now.cannot}"
    word = f"{now.decision.verdict.word} by {deciding_rules(now.decision)}"
    return f"{style_text('DIFFERENT', 'red')}: {word}" if now.differs else f"the same: {word}"
