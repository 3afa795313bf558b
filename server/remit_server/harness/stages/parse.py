"""Stage 2: arguments parsed at the boundary; from here on a tool sees only its own type.

Stage 3: what the session's workflow has no use for now (FLW-03). What may be written is policy's to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from remit_governance.visible import visible
from remit_governance.workflow.position import describe
from remit_governance.workflow.states import Mode, State
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.context import CallContext
from remit_server.harness.stages.gate import Admitted, opened_tools
from remit_server.tools.spec import AnyTool

A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A tool, and arguments of its own type."""

    tool: AnyTool
    arguments: BaseModel


def parse(admitted: Admitted, ctx: CallContext) -> ParsedCall:
    """Parses the arguments as the tool's own type. Raises ToolError (`invalid_arguments`)."""
    tool = admitted.tool
    return ParsedCall(tool, validate(tool.name, tool.arguments, ctx.call.arguments))


def validate(name: str, model: type[A], arguments: Mapping[str, JsonValue]) -> A:
    """Returns arguments as their own type. Raises ToolError (`invalid_arguments`)."""
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        fields = ", ".join(model.model_json_schema().get("properties", ())) or "no arguments"
        raise invalid(name, _describe(error), f"{name} takes: {fields}") from error


def _describe(error: ValidationError) -> str:
    problems = error.errors(include_url=False)
    return "; ".join(f"{_where(p)}{_problem(p)}" for p in problems[:5])


def _where(problem: ErrorDetails) -> str:
    """Returns the argument that a problem is in; what is wrong with all of them says where itself."""
    place = ".".join(map(str, problem["loc"]))
    return f"`{place}`: " if place else ""


def _problem(problem: ErrorDetails) -> str:
    """Returns what is wrong in words; of what no pattern fits, the first character that may not stand where it does."""
    if problem["type"] == "string_pattern_mismatch":
        value, pattern = str(problem["input"]), str(problem.get("ctx", {}).get("pattern"))
        fitting = re.match(pattern.removesuffix("$"), value)
        at = fitting.end() if fitting else 0
        if at < len(value):
            return f"`{visible(value[at], 'show')}`, its character {at + 1}, may not stand there"
    said = problem["msg"]
    return said[:1].lower() + said[1:]


def invalid(name: str, why: str, fix: str) -> ToolError:
    """Returns the refusal of arguments."""
    return ToolError(f"the arguments of `{name}` cannot be used", why, fix, code=ErrorCode.INVALID_ARGUMENTS)


def check_state(parsed: ParsedCall, ctx: CallContext) -> ParsedCall:
    """Returns the call where the state has a use for its tool. Raises ToolError (`tool_unavailable`)."""
    position, name, part = ctx.turn.memory.position, parsed.tool.name, parsed.tool.workflow
    if not part.only_in:
        return parsed
    exempt = {State.EXPLORING} if part.gives_up and position.is_exempt else set[State]()
    states = part.only_in | exempt
    if {position.state, ctx.turn.place_for("fs.write", name).state} & states:
        return parsed
    intent = ctx.turn.intent.active
    usable = [tool for tool in (opened_tools(intent, ctx.turn, ctx.parts) if intent else ()) if tool != name]
    reason = f"the workflow is in state `{position.state}`, and `{name}` is of use in {' and '.join(sorted(states))}"
    fix = describe(position) if position.mode is Mode.STRICT else "go on without it"
    error = ToolError(f"`{name}` cannot be used now", reason, fix, code=ErrorCode.TOOL_UNAVAILABLE)
    error.data = {
        "error": error.code.value,
        "tool_name": name,
        "current_state": position.state.value,
        "reason": reason,
        "available_tools": list(usable),
    }
    raise error
