"""Finds one past call by its id or by the number of any of its records (AUD-05), and describes it: who decided, what
was answered and by whom, and how it would be decided now (AUD-04).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from remit_governance.audit.log.unfinished_calls import ELSEWHERE, LEADS_TO, SUB_AGENT, TOLD
from remit_governance.audit.reading.query import AuditFilter, CallRecords, calls_of, query_audit
from remit_governance.audit.record import AuditKind, AuditRecord
from remit_governance.canonical import Json
from remit_governance.permissions.permissions import settle
from remit_governance.policy.decision.recorded import recorded_actions, recorded_reasons
from remit_governance.policy.review.replay import judge_again, past_call
from remit_governance.policy.rules import Policy
from remit_governance.values import Decision, Verdict
from remit_governance.visible import visible_again
from remit_server.contract import ErrorCode, Scope
from remit_server.errors import SetupError
from remit_server.runtime.audit.audit_service import as_audit_errors, record_json
from remit_server.runtime.policy.past_calls import about, deciding_rules
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.settings import Settings
from remit_server.sessions.answers import answer_words


def find_call(database: Path, named: str) -> CallRecords:
    """Returns the call. Raises SetupError (`not_found`) if there is none, or more than one of that id."""
    match _find_calls(database, named):
        case (call,):
            return call
        case ():
            why = "no record of a call has this number or id"
            fix = "`remit audit log` shows numbers and ids; name the number of a record that is about a call"
        case several:
            why = f"{len(several)} calls have this id"
            fix = f"give a record's number, such as {', '.join(str(call.announced.number) for call in several[-5:])}"
    raise SetupError(f"there is no call `{named}`", why, fix, code=ErrorCode.NOT_FOUND)


def _find_calls(database: Path, named: str) -> tuple[CallRecords, ...]:
    if named.isdecimal() and len(named) < 16 and (numbered := _by_number(database, int(named))):
        return numbered
    return calls_of(_records(database, AuditFilter(tool_call_id=named, limit=None)))


def _by_number(database: Path, number: int) -> tuple[CallRecords, ...]:
    event = next((record.event for record in _records(database, AuditFilter(number=number))), None)
    if event is None or event.tool_call_id is None:
        return ()
    own = AuditFilter(session_id=event.session_id, turn_id=event.turn_id, tool_call_id=event.tool_call_id, limit=None)
    calls = calls_of(_records(database, own))
    if exact := tuple(call for call in calls if number in call.numbers):
        return exact
    # A record of a token or a sandbox belongs to the last call of this id that had begun before it.
    begun = tuple(call for call in calls if min(call.numbers) < number)
    return begun[-1:] or calls[:1]


def _records(database: Path, wanted: AuditFilter) -> Sequence[AuditRecord]:
    with as_audit_errors(ErrorCode.NOT_FOUND):
        return query_audit(database, wanted)


Style = Callable[[str, str], str]
"""Takes a text and a style; returns the text in that style, or unchanged if the output has no styles."""


@dataclass(frozen=True, slots=True)
class Now:
    """The decision on the call now, as the person's standing answers leave it; `cannot` says why there is none."""

    decision: Decision | None = None
    differs: bool = False
    cannot: str = ""


@dataclass(frozen=True, slots=True)
class AskedByAgent:
    """The `agent` was told to ask its person; `allowed` says whether the call ran after that."""

    agent: str
    allowed: bool

    @property
    def answer(self) -> str:
        """The person's answer, as far as it can be known."""
        return "allow" if self.allowed else "not known"


def judge_now(call: CallRecords, settings: Settings, choose: Callable[[Policy], Policy] = lambda policy: policy) -> Now:
    """Returns how the call would be decided now, by the policy that `choose` returns for the one in force, and by the
    person's standing answers."""
    past = past_call(call.announced)
    if isinstance(past, str):
        return Now(cannot=f"it was {past}")
    try:
        hooks = ELSEWHERE in call.announced.event.metadata
        with closing(load_in_force(settings, hooks=hooks)) as in_force:
            settled = partial(settle, in_force.permissions)
            decision = judge_again(choose(in_force.policy), past.actions, settled)
    except SetupError as error:  # the past decision can be shown all the same
        return Now(cannot=f"{error.what}: {error.why}")
    return Now(decision, differs=decision.verdict is not _settled_then(call, past.was))


def _settled_then(call: CallRecords, policy: Verdict) -> Verdict:
    """Returns what policy's verdict then came to by a standing answer, if one settled the call."""
    if call.announced.event.denied_by == "standing_answer":
        return Verdict.DENY
    standing = any(answer.get("by") == "standing_answer" for answer in answers_of(call))
    return Verdict.ALLOW if standing else policy


def tell_call(call: CallRecords, now: Now, style: Style = lambda text, _: text) -> Iterator[str]:
    """Yields the lines that describe a call."""
    event = call.announced.event
    what = ", ".join(dict.fromkeys(about(action) for action in recorded_actions(event)))
    yield f"{style(event.tool_name or '-', 'bold')} {what or visible_again(event.input_summary, 'show')}"
    when = record_json(call.announced)["time"]
    yield f"  when      {when}, record {call.announced.number}, call {event.tool_call_id}"
    intent = f"intent {event.intent}" if event.intent else "no intent"
    turn = f", turn {event.turn_id}" if event.turn_id else ""
    yield f"  who       {event.caller}, session {event.session_id}{turn}, {intent}"
    if (parent := event.metadata.get(SUB_AGENT)) is not None:
        yield f"  part of   what call {parent} handed to a sub-agent: `remit audit why {parent}`"
    place = f" ({event.policy_rule_at})" if event.policy_rule_at else ""
    yield f"  decided   {event.policy_decision} by {event.policy_rule_name or 'no rule'}{place}"
    if event.denied_by:
        why = next((answer["why"] for answer in answers_of(call) if "why" in answer), None)
        yield f"  ended     {answer_words('deny', Scope.ONCE, event.denied_by, why)}"
    for reason in reasons_of(call):
        at = f" ({reason['at']})" if "at" in reason else ""
        said = f": {visible_again(reason['reason'], 'show')}" if "reason" in reason else ""
        yield f"    {reason.get('action', ''):>14}  {reason.get('rule', '-')}{said}{at}"
    for answer in answers_of(call):
        said = f"{answer.get('decision', 'refused')} by {answer.get('by', '-')}, scope {answer.get('scope', '-')}"
        known = ", ".join(filter(None, (answer["approval_id"], answer.get("rule_at"))))
        yield f"  approval  {said} ({known})" if known else f"  approval  {said}"
    if (asked := asked_by_agent(call)) is not None:
        said = (
            "its person said yes there, then it ran"
            if asked.allowed
            else "the agent reported no end: the answer was no, or it is still open"
        )
        yield f"  asked     by {asked.agent}, {said}"
    if (review := linked_call(call, "review")) is not None:
        yield f"  collected nothing was written; call {review} is the review of it"
    if (collects := linked_call(call, "collects")) is not None:
        yield f"  reviews   what was collected by {collects}"
    if event.deny_reason:
        yield f"  refused   {visible_again(event.deny_reason, 'show')}"
    if call.outcome and (reached := call.outcome.event.metadata.get(LEADS_TO)):
        yield f"  exchanged a file that it names is `{visible_again(reached, 'show')}` now, which policy denies"
    ended = call.outcome.event.output_summary if call.outcome else _no_outcome(call)
    yield f"  outcome   {visible_again(ended or '-', 'show')}"
    yield f"  now       {_describe(now, style)}"


def call_json(call: CallRecords, now: Now) -> dict[str, Json]:
    """Returns the description of a call for machines."""
    event, asked = call.announced.event, asked_by_agent(call)
    return {
        "number": call.announced.number,
        "records": list(call.numbers),
        "time": record_json(call.announced)["time"],
        "session_id": event.session_id,
        "turn_id": event.turn_id,
        "tool_call_id": event.tool_call_id,
        "caller": event.caller,
        "sub_agent": event.metadata.get(SUB_AGENT),
        "tool": event.tool_name,
        "intent": event.intent,
        "input": event.input_summary,
        "decision": event.policy_decision,
        "rule": event.policy_rule_name,
        "at": event.policy_rule_at,
        "denied_by": event.denied_by,
        "policy_version": event.policy_version,
        "reasons": reasons_of(call),
        "deny_reason": event.deny_reason,
        "asked": any(record.event.kind is AuditKind.APPROVAL_REQUIRED for record in call.approvals),
        "answers": answers_of(call),
        "asked_by_agent": {"agent": asked.agent, "answer": asked.answer} if asked else None,
        "review": linked_call(call, "review"),
        "collects": linked_call(call, "collects"),
        "leads_to": call.outcome.event.metadata.get(LEADS_TO) if call.outcome else None,
        "outcome": call.outcome.event.output_summary if call.outcome else None,
        "now": {
            "verdict": now.decision.verdict.word if now.decision else None,
            "rules": list(now.decision.rules) if now.decision else [],
            "by": deciding_rules(now.decision) if now.decision else None,
            "differs": now.differs,
            "cannot": now.cannot or None,
        },
    }


def _no_outcome(call: CallRecords) -> str:
    if ELSEWHERE in call.announced.event.metadata:
        return "not recorded: the agent reported none"
    return "not recorded: it is running, or its process died"


def reasons_of(call: CallRecords) -> list[dict[str, str]]:
    """Returns all recorded reasons; for a plain allow the record has only the rule."""
    event = call.announced.event
    if told := recorded_reasons(event):
        return [dict(reason) for reason in told]
    if event.policy_rule_name is None:
        return []
    place = {"at": event.policy_rule_at} if event.policy_rule_at else {}
    action = {"allowed": "allow", "allowed_by_token": "allow"}.get(event.policy_decision or "", "")
    return [{"action": action, "rule": event.policy_rule_name, **place}]


def answers_of(call: CallRecords) -> list[dict[str, str]]:
    """Returns what was answered to the questions about a call, and by whom."""
    answered = (record for record in call.approvals if record.event.kind is not AuditKind.APPROVAL_REQUIRED)
    return [{"approval_id": record.event.approval_id or "", **record.event.metadata} for record in answered]


def asked_by_agent(call: CallRecords) -> AskedByAgent | None:
    """Returns how another agent's own question to its person ended (HOK-08), or None if there was none. If the call has
    an outcome, the person said yes, because an agent reports the end only of a call that ran."""
    told = call.announced.event.metadata
    if told.get(TOLD) != "ask":
        return None
    return AskedByAgent(told.get(ELSEWHERE, "-"), call.outcome is not None)


def linked_call(call: CallRecords, name: str) -> str | None:
    """Returns the call that reviews what this one collected, or the calls whose edits this one reviews."""
    return call.outcome.event.metadata.get(name) if call.outcome else None


def _describe(now: Now, style: Style) -> str:
    if now.decision is None:
        return f"not known: {now.cannot}"
    word = f"{now.decision.verdict.word} by {deciding_rules(now.decision)}"
    return f"{style('DIFFERENT', 'red')}: {word}" if now.differs else f"the same: {word}"
