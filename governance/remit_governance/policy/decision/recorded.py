"""What audit records keep of a judgement: the actions, so that they can be judged again, and the reasons, so that a
person can be told them (POL-13). Also a decision as JSON, with every rule that spoke and where it is written (POL-10).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from remit_governance.audit.record import AuditEvent
from remit_governance.canonical import Json
from remit_governance.capabilities import Claim
from remit_governance.errors import ActionError
from remit_governance.intents import IntentState, gate
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.risk import risk_of
from remit_governance.policy.language.action_form import form_of, parse_action
from remit_governance.policy.rules import Policy
from remit_governance.values import Action, Decision, Reason, Verdict

MAX_RECORDED = 4000
"""The most characters of the actions, and also of the reasons, that one record keeps."""

Redact = Callable[[str], str]

# Encodes as `canonical.canonical` does. Made once, because every call uses it.
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class JudgementRecord:
    """The actions and the reasons as canonical JSON. None means that there are none, or that they are too long; `notes`
    then says how much was left out.

    `actions` is a list of what `parse_action` reads, `reasons` a list of `{action, rule, reason, at}`, `at` a
    `file:line`.
    """

    actions: str | None = None
    reasons: str | None = None
    notes: Mapping[str, str] = field(default_factory=dict[str, str])


def record_judgement(actions: Sequence[Action], decision: Decision | None, redact: Redact) -> JudgementRecord:
    """Returns what a record keeps of these actions and the decision on them, redacted string by string.

    The reasons are left out if a single rule allowed everything, because its name and place are in the record anyway.
    """
    notes: dict[str, str] = {}
    forms = [form_of(action) for action in actions]
    clean = [_redact_form(form, redact) for form in forms]
    if clean != forms:
        notes["actions"] = "redacted"
    told = _reasons(decision, redact)
    return JudgementRecord(_bound("actions", clean, notes), _bound("reasons", told, notes), notes)


def recorded_actions(event: AuditEvent) -> tuple[Action, ...]:
    """Returns the actions that a record keeps; empty if it keeps none, or if they cannot be read."""
    try:
        value: object = json.loads(event.actions or "[]")
        return tuple(parse_action(item) for item in cast("list[object]", value)) if isinstance(value, list) else ()
    except (ValueError, TypeError, RecursionError, ActionError):  # a chain can be valid around any text
        return ()


def recorded_reasons(event: AuditEvent) -> tuple[Mapping[str, str], ...]:
    """Returns the reasons that a record keeps, as `action` and `reason`, and `rule` and `at` if a rule gave it."""
    try:
        value: object = json.loads(event.reasons or "[]")
    except (ValueError, TypeError, RecursionError):
        return ()
    items = cast("list[object]", value) if isinstance(value, list) else []
    known = [cast("dict[str, object]", item) for item in items if isinstance(item, dict)]
    return tuple({key: str(text) for key, text in item.items()} for item in known)


def _reasons(decision: Decision | None, redact: Redact) -> list[Json]:
    if decision is None or (decision.verdict is Verdict.ALLOW and len(decision.reasons) == 1):
        return []
    return [_reason(reason, redact) for reason in dict.fromkeys(decision.reasons)]


def _reason(reason: Reason, redact: Redact) -> dict[str, Json]:
    said: dict[str, Json] = {"action": reason.verdict.word, "reason": redact(reason.message)}
    if reason.rule is not None:
        said["rule"] = reason.rule
    if reason.file is not None:
        said["at"] = f"{reason.file}:{reason.line}"
    return said


def _redact_form(form: Mapping[str, Json], redact: Redact) -> dict[str, Json]:
    """Redacts the fields that a caller chose, because only these can hold a secret."""
    clean = dict(form)
    for name in ("path", "command", "cwd", "host"):
        value = clean.get(name)
        if isinstance(value, str):
            clean[name] = redact(value)
        elif isinstance(value, Sequence):
            clean[name] = tuple(redact(cast("str", word)) for word in value)
    return clean


def _bound(name: str, items: Sequence[Json], notes: dict[str, str]) -> str | None:
    if not items:
        return None
    text = _ENCODE(items)
    if len(text) <= MAX_RECORDED:
        return text
    notes[name] = f"left out: {len(text)} characters"
    return None


Settle = Callable[[Action, Decision], Decision]
"""Returns what the person's standing answers make of policy's decision on an action."""


def explain(
    policy: Policy, action: Action, claim: Claim | None = None, settle: Settle = lambda _, decision: decision
) -> dict[str, Json]:
    """Returns `{verdict, rules, reasons, risk}`: the decision as `settle` leaves it, with all reasons, as JSON.

    If the action names a tool and an intent, and the intent does not open the tool, `gate` says so, because such a call
    ends at the gate whatever the verdict is (INT-08).
    """
    decision = settle(action, evaluate(policy, action, claim))
    return {
        **_gate(policy, action),
        "verdict": decision.verdict.word,
        "rules": list(decision.rules),
        "reasons": [_wire(reason) for reason in decision.reasons],
        "risk": risk_of(action, policy.programs),
    }


def _gate(policy: Policy, action: Action) -> dict[str, Json]:
    if action.tool is None or action.intent is None:
        return {}
    refusal = gate(IntentState(action.intent), action.tool, policy.matrix)
    return {} if refusal is None else {"gate": f"{refusal.message}; {refusal.fix}"}


def _wire(reason: Reason) -> dict[str, Json]:
    return {
        "rule": reason.rule,
        "layer": reason.layer,
        "action": reason.verdict.word,
        "reason": reason.message,
        "file": reason.file,
        "line": reason.line,
    }
