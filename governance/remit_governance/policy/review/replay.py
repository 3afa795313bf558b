"""Calls of the audit log judged anew: what another policy would have said (003 §Meta-Policy, step 4 and 5). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from remit_governance.audit.record import AuditRecord
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.recorded import recorded_actions
from remit_governance.policy.rules import Policy
from remit_governance.values import Action, Decision, Verdict, strictest

LAST = 100
"""How many calls are replayed where nobody says otherwise."""

_WAS = {
    "allowed": Verdict.ALLOW,
    "allowed_by_token": Verdict.ALLOW,
    "review_required": Verdict.REQUIRE_REVIEW,
    "denied": Verdict.DENY,
}


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call whose record can be judged anew."""

    record: AuditRecord
    actions: tuple[Action, ...]
    was: Verdict


@dataclass(frozen=True, slots=True)
class PastCalls:
    """Calls, oldest first, and how many lay among them that cannot be judged anew, by why."""

    calls: tuple[PastCall, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Change:
    """One call about which the policy would now say something else."""

    call: PastCall
    now: Decision

    @property
    def breaking(self) -> bool:
        """Tells whether what was allowed would be denied."""
        return self.call.was is Verdict.ALLOW and self.now.verdict is Verdict.DENY


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome of a replay: how many were judged, which verdicts changed, what was skipped and why."""

    judged: int
    changes: tuple[Change, ...]
    skipped: Mapping[str, int]

    @property
    def breaking(self) -> tuple[Change, ...]:
        """The changes from allow to deny."""
        return tuple(change for change in self.changes if change.breaking)


def past_calls(newest_first: Iterable[AuditRecord], last: int = LAST) -> PastCalls:
    """The last calls that can be judged anew, of records that announce calls. Nothing is read beyond them."""
    found: list[PastCall] = []
    skipped: Counter[str] = Counter()
    for record in newest_first:
        call = past_call(record)
        if isinstance(call, str):
            skipped[call] += 1
            continue
        found.append(call)
        if len(found) == last:
            break
    return PastCalls(tuple(reversed(found)), dict(skipped))


def past_call(record: AuditRecord) -> PastCall | str:
    """The call that a record announces, or why it cannot be judged anew."""
    was = _WAS.get(record.event.policy_decision or "")
    if was is None:
        return "refused before policy was asked"
    if actions := recorded_actions(record.event):
        return PastCall(record, actions, was)
    if "actions" in record.event.metadata:
        return "too long to be kept"
    return "recorded without their actions"


def replay(policy: Policy, past: PastCalls) -> Replay:
    """Judge the calls by this policy; only verdicts count, not the rules behind them."""
    changes = (Change(call, judge_again(policy, call.actions)) for call in past.calls)
    return Replay(len(past.calls), tuple(c for c in changes if c.now.verdict is not c.call.was), past.skipped)


def judge_again(policy: Policy, actions: Sequence[Action]) -> Decision:
    """The decision about all parts of a call, at least one: the strictest."""
    return strictest(evaluate(policy, action) for action in actions)
