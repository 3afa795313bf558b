"""A decision in the form that leaves the process: every rule that spoke, and where it is written (POL-10)."""

from __future__ import annotations

from remit_governance.canonical import Json
from remit_governance.capabilities import Claim
from remit_governance.intents import IntentState, gate
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.risk import risk_of
from remit_governance.policy.rules import Policy
from remit_governance.values import Action, Reason


def explain(policy: Policy, action: Action, claim: Claim | None = None) -> dict[str, Json]:
    """`{verdict, rules, reasons, risk}`: the decision with all reasons, as JSON.

    Where the action says its tool and its intent, and the matrix keeps the two apart, `gate` says so: such a call ends
    there, whatever the verdict is (INT-08).
    """
    decision = evaluate(policy, action, claim)
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
