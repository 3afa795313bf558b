"""What a model is told of the intent that it declared: what that opens, and what holds there (INT-09)."""

from __future__ import annotations

from collections.abc import Iterator

from remit_governance.intents import Declaration
from remit_governance.policy.rules import Policy
from remit_governance.values import Intent, Verdict
from remit_governance.work_items import describe_work_item
from remit_server.harness.context import Parts
from remit_server.harness.stages.gate import opened_tools
from remit_server.harness.turn import Turn

MAX_RULES = 10
_STOPS = {Verdict.DENY: "denied", Verdict.REQUIRE_REVIEW: "asked about"}


def describe_selected(declared: Declaration, turn: Turn, parts: Parts) -> str:
    """Returns the tools that the intent opens, the rules of policy that name it, and its work item; redacted."""
    policy, opened = parts.rulebook.policy, opened_tools(declared.intent, turn, parts)
    lines = [f"intent {declared.intent} is active; it opens {', '.join(opened) or 'no tool'}"]
    lines += _rules(policy, declared.intent)
    item = (policy.work_items or {}).get(declared.work_item or "")
    if item is not None:
        lines.append(describe_work_item(item))
    return parts.redactor.redact("\n".join(lines))


def _rules(policy: Policy, intent: Intent) -> Iterator[str]:
    """The rules that speak of this intent by name; what holds for all is not repeated with each."""
    rules = (rule for layer in policy.layers for rule in layer.rules if intent in (rule.intents or ()))
    stopping = [rule for rule in rules if rule.verdict in _STOPS]
    yield from (f"policy, {_STOPS[rule.verdict]}: {rule.reason} ({rule.name})" for rule in stopping[:MAX_RULES])
