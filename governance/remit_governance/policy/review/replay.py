"""Tries policies: judges calls of the audit log again by another policy (POL-13), and tests rules on their own examples
(POL-06). Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from remit_governance.audit.record import AuditRecord
from remit_governance.errors import Problem
from remit_governance.intents import INTENT_TOOLS, IntentState, gate
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.recorded import Settle, recorded_actions
from remit_governance.policy.language.action_form import example_faults
from remit_governance.policy.language.compile import Source, compile_rule, parse_policy
from remit_governance.policy.rules import Policy
from remit_governance.values import Action, Decision, Reason, Verdict, strictest

LAST = 100
"""The number of calls that are replayed by default."""

UNASKED = "refused before policy was asked"
OPENED = "of these, refused by the gate, which would let it on now"
_WAS = {
    "allowed": Verdict.ALLOW,
    "allowed_by_token": Verdict.ALLOW,
    "review_required": Verdict.REQUIRE_REVIEW,
    "denied": Verdict.DENY,
}


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call whose record can be judged again."""

    record: AuditRecord
    actions: tuple[Action, ...]
    was: Verdict


@dataclass(frozen=True, slots=True)
class PastCalls:
    """Calls, oldest first, and the numbers of calls among them that cannot be judged again, by the reason.

    `unasked` are the records of those that were refused before policy was asked.
    """

    calls: tuple[PastCall, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict[str, int])
    unasked: tuple[AuditRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One call on which the policy would now decide otherwise."""

    call: PastCall
    now: Decision

    @property
    def breaking(self) -> bool:
        """Whether the call was allowed and would now be denied."""
        return self.call.was is Verdict.ALLOW and self.now.verdict is Verdict.DENY


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome of a replay: how many calls were judged, which verdicts changed, and how many calls were skipped."""

    judged: int
    changes: tuple[Change, ...]
    skipped: Mapping[str, int]

    @property
    def breaking(self) -> tuple[Change, ...]:
        """The changes from allow to deny."""
        return tuple(change for change in self.changes if change.breaking)


def past_calls(newest_first: Iterable[AuditRecord], last: int = LAST) -> PastCalls:
    """Returns the last calls that can be judged again, of records that announce calls. No further records are read."""
    found: list[PastCall] = []
    skipped: Counter[str] = Counter()
    unasked: list[AuditRecord] = []
    for record in newest_first:
        call = past_call(record)
        if isinstance(call, str):
            skipped[call] += 1
            unasked.extend([record] if call == UNASKED else [])
            continue
        found.append(call)
        if len(found) == last:
            break
    return PastCalls(tuple(reversed(found)), dict(skipped), tuple(unasked))


def past_call(record: AuditRecord) -> PastCall | str:
    """Returns the call that a record announces, or why it cannot be judged again."""
    was = _WAS.get(record.event.policy_decision or "")
    if was is None:
        return UNASKED
    if actions := recorded_actions(record.event):
        return PastCall(record, actions, was)
    if "actions" in record.event.metadata:
        return "too long to be kept"
    return "recorded without their actions"


def replay(policy: Policy, past: PastCalls) -> Replay:
    """Judges the calls by this policy. Only a changed verdict is a change, not a changed rule behind it."""
    changes = (Change(call, judge_again(policy, call.actions)) for call in past.calls)
    opened = sum(_opens(policy, record) for record in past.unasked)
    skipped = dict(past.skipped) | ({OPENED: opened} if opened else {})
    return Replay(len(past.calls), tuple(c for c in changes if c.now.verdict is not c.call.was), skipped)


def _opens(policy: Policy, record: AuditRecord) -> bool:
    """Tells whether the gate refused a call and would pass it now."""
    tool, intent = record.event.tool_name, record.event.intent
    was_closed = intent is not None and tool is not None and gate(IntentState(intent), tool) is not None
    return was_closed and gate(IntentState(intent), tool or "", policy.matrix) is None


def judge_again(policy: Policy, actions: Sequence[Action], settle: Settle = lambda _, decision: decision) -> Decision:
    """Returns the decision on all actions of a call, of which there is at least one: the gate's deny if there is one,
    else the strictest decision as `settle` leaves each."""
    closed = (refusal for action in actions if (refusal := gate_decision(policy, action)) is not None)
    return next(closed, None) or strictest(settle(action, evaluate(policy, action)) for action in actions)


def gate_decision(policy: Policy, action: Action) -> Decision | None:
    """Returns the gate's deny if the action's intent does not open its tool, else None.

    Tools that a person has added always pass, because their effect is not in the records.
    """
    if (
        action.intent is None
        or action.tool is None
        or not any(action.tool in row.tools for row in INTENT_TOOLS.values())
    ):
        return None
    refusal = gate(IntentState(action.intent), action.tool, policy.matrix)
    if refusal is None:
        return None
    return Decision(Verdict.DENY, (Reason(refusal.code, refusal.message, Verdict.DENY, "builtin", "intent-gate"),))


@dataclass(frozen=True, slots=True)
class RuleTest:
    """The outcome for one rule: how many examples it has, and a problem for each that failed."""

    name: str
    file: str
    line: int
    examples: int
    failures: tuple[Problem, ...]

    @property
    def passed(self) -> int:
        """The number of examples that passed."""
        return self.examples - len(self.failures)


def rule_tests(source: Source, fold_case: bool = False) -> Iterator[RuleTest]:
    """Yields the outcome of each rule of a file on its examples. Raises PolicyError if the file cannot be read as a
    policy."""
    document, form = parse_policy(source.file, source.text)
    for i, entry in enumerate(form.capabilities):
        place = ("capabilities", i)
        line = document.mark(place)[0]
        rule = compile_rule(entry, line, source, fold_case)
        failures = tuple(example_faults(entry, rule, document, place))
        count = len(entry.examples.match) + len(entry.examples.not_match)
        yield RuleTest(entry.name, source.file, line, count, failures)
