"""Declares a step's intent, by a call of its own before any other call of the step (INT-03; TOOL-02)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field, JsonValue

from remit_governance.intents import SELECT_INTENT, Declaration, select
from remit_governance.policy.rules import Policy
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Intent, Verdict
from remit_governance.work_items import WorkItems, describe_work_item
from remit_server.contract import ErrorCode, IntentSelected
from remit_server.errors import ToolError
from remit_server.harness.context import CallContext, Parts
from remit_server.harness.record.audit_events import append, intent_event
from remit_server.harness.stages.gate import invalid, opened_tools, validate
from remit_server.harness.turn import Turn
from remit_server.tools.spec import Arguments

MAX_JUSTIFICATION = 500
MAX_RULES = 10
_STOPS = {Verdict.DENY: "denied", Verdict.REQUIRE_REVIEW: "asked about"}


class SelectIntent(Arguments):
    """The arguments of `select_active_intent` (TOOL-02)."""

    intent: str
    justification: str | None = Field(default=None, max_length=MAX_JUSTIFICATION)
    work_item: str | None = None


def select_intent(ctx: CallContext) -> str:
    """Declares the intent that the call names, and returns what the model is told. Raises ToolError, as `declare`
    does."""
    declared = parse_intent(ctx.call.arguments, ctx.parts.rulebook.policy.work_items)
    declare(declared, ctx.call.id, ctx.turn, ctx.parts)
    return describe_selected(declared, ctx.turn, ctx.parts)


def preview_selected(arguments: Mapping[str, JsonValue], turn: Turn, parts: Parts) -> str | None:
    """Returns what a model would be told if it declared an intent by these arguments (INT-09), or None if that would be
    refused."""
    try:
        declared = parse_intent(arguments, parts.rulebook.policy.work_items)
        refuse_narrowed(declared.intent, turn)
    except ToolError:
        return None
    return describe_selected(declared, turn, parts)


def parse_intent(arguments: Mapping[str, JsonValue], known: WorkItems | None) -> Declaration:
    """Parses a declaration. `known` are the work items that it may name.

    Raises ToolError if it declares none of the seven intents, or names another work item.
    """
    parsed = validate(SELECT_INTENT, SelectIntent, arguments)
    if parsed.intent not in Intent.__members__:
        raise invalid(SELECT_INTENT, f"`{parsed.intent}` is not an intent", f"use one of: {', '.join(Intent)}")
    if parsed.work_item is not None and parsed.work_item not in (known or {}):
        fix = f"name one of: {', '.join(known)}" if known else "leave `work_item` out: this workspace has none"
        raise invalid(SELECT_INTENT, f"`{shorten(parsed.work_item, 100)}` is not a work item of this workspace", fix)
    return Declaration(Intent(parsed.intent), parsed.justification, parsed.work_item)


def is_left(intent: Intent, turn: Turn) -> bool:
    """Returns whether the turn's caller still has this intent. A skill may leave the model fewer intents, and a
    sub-agent may be handed fewer."""
    return turn.caller != "model" or intent in turn.authority.intents


def refuse_narrowed(intent: Intent, turn: Turn) -> None:
    """Raises ToolError (`tool_not_allowed_for_intent`) if the turn's model no longer has this intent."""
    if is_left(intent, turn):
        return
    left = ", ".join(sorted(turn.authority.intents))
    raise ToolError(
        f"{intent} cannot be declared in this turn",
        f"{turn.narrowed_by} leaves it {f'only {left}' if left else 'no intent'}",
        f"declare one of {left}, or answer" if left else "answer with what you have",
        code=ErrorCode.TOOL_NOT_ALLOWED_FOR_INTENT,
    )


def declare(declared: Declaration, call_id: str, turn: Turn, parts: Parts) -> None:
    """Rules 2 and 4: sets the step's intent from here on. Audited before it takes effect (INT-03).

    Raises ToolError if the turn's model has only other intents left, because of a skill (TOOL-20) or as a sub-agent
    (AGT-16).
    """
    refuse_narrowed(declared.intent, turn)
    previous, justification = turn.intent.active, declared.justification
    redactor, version = parts.redactor.for_audit(), parts.rulebook.policy.version
    append(parts.audit, intent_event(declared, call_id, turn, redactor, version))
    turn.intent = select(turn.intent, declared.intent, declared.work_item)
    turn.emit(
        IntentSelected(
            **turn.stamp(),
            intent=declared.intent,
            justification=justification and parts.redactor.redact(justification),
            previous=previous,
            allowed_tools=opened_tools(declared.intent, turn, parts),
            work_item=declared.work_item,
        )
    )


def describe_selected(declared: Declaration, turn: Turn, parts: Parts) -> str:
    """Returns, redacted, the tools that the intent opens, the rules of policy that name it, and its work item."""
    policy, opened = parts.rulebook.policy, opened_tools(declared.intent, turn, parts)
    lines = [f"intent {declared.intent} is active; it opens {', '.join(opened) or 'no tool'}"]
    lines += _rules(policy, declared.intent)
    item = (policy.work_items or {}).get(declared.work_item or "")
    if item is not None:
        lines.append(describe_work_item(item))
    return parts.redactor.redact("\n".join(lines))


def _rules(policy: Policy, intent: Intent) -> Iterator[str]:
    """Yields the denying and asking rules that name this intent. Rules for all intents are left out, so that they are
    not repeated with each."""
    rules = (rule for layer in policy.layers for rule in layer.rules if intent in (rule.intents or ()))
    stopping = [rule for rule in rules if rule.verdict in _STOPS]
    yield from (f"policy, {_STOPS[rule.verdict]}: {rule.reason} ({rule.name})" for rule in stopping[:MAX_RULES])
