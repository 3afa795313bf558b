"""`remit audit why CALL`: the rule that decided a past call and its place, what was answered and by whom, and what
policy would decide now (AUD-04).
"""

from __future__ import annotations

import argparse

from remit_governance.audit.reading.query import CallRecords
from remit_governance.audit.record import AuditKind
from remit_server.cli.candidate_policy import add_candidate_arguments, candidate
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE
from remit_server.runtime.audit.audit_service import record_json
from remit_server.runtime.audit.past_call import find_call
from remit_server.runtime.audit.told_call import Now, answers_of, judge_now, linked_call, reasons_of, tell_call
from remit_server.runtime.policy.replayed import deciding_rules
from remit_server.runtime.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("call", metavar="CALL-ID|NUMBER", help="a call's id, or the number of one of its records")
    add_candidate_arguments(parser)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Explains the call. Raises SetupError where there is no such call."""
    call = find_call(settings.audit_database, arguments.call)
    now = judge_now(call, settings, lambda in_force: candidate(settings, arguments, in_force))
    if arguments.json:
        print_json(_payload(call, now))
    else:
        for line in tell_call(call, now, style_text):
            say(line)
    return DONE


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
        "reasons": reasons_of(call),
        "deny_reason": event.deny_reason,
        "asked": any(record.event.kind is AuditKind.APPROVAL_REQUIRED for record in call.approvals),
        "answers": answers_of(call),
        "review": linked_call(call, "review"),
        "collects": linked_call(call, "collects"),
        "outcome": call.outcome.event.output_summary if call.outcome else None,
        "now": {
            "verdict": now.decision.verdict.word if now.decision else None,
            "rules": list(now.decision.rules) if now.decision else [],
            "by": deciding_rules(now.decision) if now.decision else None,
            "differs": now.differs,
            "cannot": now.cannot or None,
        },
    }
