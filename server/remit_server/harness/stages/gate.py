"""Stages 1 to 3: the gate, which checks the tool against the intent and the run (INT-04); the parsing of arguments, so
that a tool sees only its own type; and the check that the session's workflow has a use for the tool now (FLW-03). Which
files may be written is decided by policy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from remit_governance.intents import Refusal, allowed_tools, canonical_tool, gate
from remit_governance.values import Intent
from remit_governance.visible import visible
from remit_governance.workflow.position import describe
from remit_governance.workflow.states import Mode, State
from remit_server.contract import ErrorCode
from remit_server.contract.refused import bounded_problem, place_of
from remit_server.errors import ToolError
from remit_server.harness.context import CallContext, Parts
from remit_server.harness.turn import Turn
from remit_server.models.ports import UNREADABLE_CALL
from remit_server.tools.spec import AnyTool


@dataclass(frozen=True, slots=True)
class Admitted:
    """A call of a tool that the active intent and the run allow; its arguments have not been looked at."""

    tool: AnyTool


def admit(ctx: CallContext) -> Admitted:
    """Admits a call of a tool that the active intent and the run allow.

    Raises ToolError: `invalid_arguments` if the model's text was no call, `intent_required`,
    `tool_not_allowed_for_intent`, `tool_unavailable`, `unknown_tool`.
    """
    call, turn, parts = ctx.call, ctx.turn, ctx.parts
    if call.name == UNREADABLE_CALL:
        raise unreadable(call.arguments)
    name = canonical_tool(call.name)
    tools = dict(parts.tools.items())
    tool = tools.get(name)
    effect = tool.effect if tool else None
    matrix, own = parts.rulebook.policy.matrix, {name: tool.effect for name, tool in tools.items() if tool.own}
    if refusal := gate(turn.intent, name, matrix, effect, offered=_offered(turn, tools), external=own):
        raise outside(refusal)
    if tool is not None and not may_call(tool, turn):
        tool = None
    if tool is None or (turn.allow_tools is not None and name not in turn.allow_tools):
        usable = opened_tools(turn.intent.active, turn, parts) if turn.intent.active else ()
        raise unavailable(call.name, known=tool is not None, instead=usable)
    return Admitted(tool)


def opened_tools(intent: Intent, turn: Turn, parts: Parts) -> tuple[str, ...]:
    """Returns the tools that an intent opens and that the run allows."""
    effects = {name: tool.effect for name, tool in parts.tools.items()}
    offered = _offered(turn, parts.tools)
    return tuple(name for name in allowed_tools(intent, parts.rulebook.policy.matrix, effects) if name in offered)


def _offered(turn: Turn, tools: Mapping[str, AnyTool]) -> frozenset[str]:
    """Returns the tools that this run has for the caller. Tools for the enforced workflow are left out except in strict
    mode."""
    strict = turn.memory.position.mode is Mode.STRICT
    return frozenset(
        name
        for name, tool in tools.items()
        if may_call(tool, turn)
        and (strict or not tool.workflow.strict_only)
        and (turn.allow_tools is None or name in turn.allow_tools)
    )


def may_call(tool: AnyTool, turn: Turn) -> bool:
    """Returns whether the turn's caller may call this tool at all. Some tools are only for the person, and only our own
    model may hand work over, but not as a sub-agent."""
    if tool.delegates and (turn.caller != "model" or turn.sub_agents is None):
        return False
    return turn.caller == "human" or not tool.person_only


def outside(refusal: Refusal) -> ToolError:
    """Returns the gate's refusal as an error, with the intents that open the tool as data."""
    why = "every call has to fit the declared intent"
    error = ToolError(refusal.message, why, refusal.fix, code=ErrorCode(refusal.code))
    error.data = {"intents": list(refusal.openers)}
    return error


def unreadable(arguments: Mapping[str, JsonValue]) -> ToolError:
    """Returns the refusal of a text that a model meant as a call. `arguments` say why it is none
    (`UNREADABLE_CALL`)."""
    return ToolError(
        "this call could not be read, and nothing was done",
        str(arguments.get("why", "it is not a call")),
        "make the call again, whole and in the format of the tools' descriptions",
        code=ErrorCode.INVALID_ARGUMENTS,
    )


def unavailable(name: str, *, known: bool, instead: Sequence[str]) -> ToolError:
    """Returns the refusal of a call of `name`: this run leaves it out if it is `known`, else there is no such tool.

    `instead` are the tools that the active intent and this run allow (INT-04).
    """
    why = "this run was started without it" if known else "there is no such tool here"
    fix = f"use one of: {', '.join(instead)}" if instead else "select another intent: this one opens no tool here"
    return _not_now(name, why, fix, instead, code=ErrorCode.TOOL_UNAVAILABLE if known else ErrorCode.UNKNOWN_TOOL)


def _not_now(name: str, why: str, fix: str, instead: Sequence[str], *, code: ErrorCode, **more: JsonValue) -> ToolError:
    error = ToolError(f"`{name}` cannot be used now", why, fix, code=code)
    error.data = {"error": code.value, "tool_name": name, **more, "reason": why, "available_tools": list(instead)}
    return error


A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A tool, and the call's arguments as the tool's own type."""

    tool: AnyTool
    arguments: BaseModel


def parse(admitted: Admitted, ctx: CallContext) -> ParsedCall:
    """Parses the arguments as the tool's own type. Raises ToolError (`invalid_arguments`)."""
    tool = admitted.tool
    return ParsedCall(tool, validate(tool.name, tool.arguments, ctx.call.arguments))


def validate(name: str, model: type[A], arguments: Mapping[str, JsonValue]) -> A:
    """Returns the arguments as a `model`. Raises ToolError (`invalid_arguments`)."""
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        fields = ", ".join(model.model_json_schema().get("properties", ())) or "no arguments"
        raise invalid(name, _describe(error), f"{name} takes: {fields}") from error


def _describe(error: ValidationError) -> str:
    problems = error.errors(include_url=False)
    return "; ".join(f"{_where(p)}{_problem(p)}" for p in problems[:5])


def _where(problem: ErrorDetails) -> str:
    """Returns the name of the argument with the problem, or an empty text if the problem is not in one argument."""
    place = place_of(problem["loc"])
    return f"`{place}`: " if place else ""


def _problem(problem: ErrorDetails) -> str:
    """Returns in words what is wrong. If a value does not match its pattern, names the first character that is not
    allowed where it stands."""
    if problem["type"] == "string_pattern_mismatch":
        value, pattern = str(problem["input"]), str(problem.get("ctx", {}).get("pattern"))
        fitting = re.match(pattern.removesuffix("$"), value)
        at = fitting.end() if fitting else 0
        if at < len(value):
            return f"`{visible(value[at], 'show')}`, its character {at + 1}, is not allowed there"
    said = bounded_problem(problem["msg"])
    return said[:1].lower() + said[1:]


def invalid(name: str, why: str, fix: str) -> ToolError:
    """Returns the refusal of a tool's arguments."""
    return ToolError(f"the arguments of `{name}` cannot be used", why, fix, code=ErrorCode.INVALID_ARGUMENTS)


def check_state(parsed: ParsedCall, ctx: CallContext) -> ParsedCall:
    """Returns the call if the workflow's state has a use for its tool. Raises ToolError (`tool_unavailable`) if not."""
    position, name, part = ctx.turn.memory.position, parsed.tool.name, parsed.tool.workflow
    if not part.only_in:
        return parsed
    exempt = {State.EXPLORING} if part.gives_up and position.is_exempt else set[State]()
    states = part.only_in | exempt
    if {position.state, ctx.turn.place_for("fs.write", name).state} & states:
        return parsed
    intent = ctx.turn.intent.active
    usable = [tool for tool in (opened_tools(intent, ctx.turn, ctx.parts) if intent else ()) if tool != name]
    reason = (
        f"the workflow is in state `{position.state}`, but `{name}` can be used only in {' and '.join(sorted(states))}"
    )
    fix = describe(position) if position.mode is Mode.STRICT else "go on without it"
    code, state = ErrorCode.TOOL_UNAVAILABLE, position.state.value
    raise _not_now(name, reason, fix, usable, code=code, current_state=state)
