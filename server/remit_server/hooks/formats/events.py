"""Parses what an agent hands over into frozen values, at the boundary (HOK-01). No later module reads the JSON.

Extra fields are ignored; those used here have the types below, or the event is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from remit_governance.secrets.cutting import shorten
from remit_server.contract.refused import describe_problems
from remit_server.errors import SetupError
from remit_server.hooks.formats.agents import Agent, EventRow
from remit_server.hooks.formats.tool_rows import ToolRow
from remit_server.json_bounds import has_too_many_values

MOST_BYTES = 8 << 20
MOST_VALUES = 20_000
MOST_NAME = 200
FIX = "report it with the agent's version: Remit knows the events of docs/hooks.md"

Text = Annotated[str, Field(max_length=MOST_NAME)]


def _any_of(*names: str) -> Any:
    return Field(default=None, validation_alias=AliasChoices(*names))


class HookForm(BaseModel):
    """The fields of every agent's events, under all the names that they have."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    event: Text | None = _any_of("hook_event_name", "hookEventName")
    session: Text | None = _any_of("session_id", "sessionId", "conversation_id")
    cwd: str | None = None
    roots: list[str] | None = _any_of("workspace_roots")
    tool: Annotated[str, Field(max_length=MOST_NAME)] | None = _any_of("tool_name", "toolName")
    arguments: JsonValue = _any_of("tool_input", "toolArgs")
    call: Text | None = _any_of("tool_use_id", "toolUseId", "tool_call_id")
    turn: Text | None = _any_of("turn_id", "prompt_id", "generation_id")
    result: JsonValue = _any_of("tool_response", "tool_result", "toolResult", "tool_output", "output", "result_json")
    error: JsonValue = _any_of("error", "error_message")
    prompt: str | None = _any_of("prompt", "initialPrompt", "initial_prompt")
    source: Text | None = None
    reason: Text | None = None


@dataclass(frozen=True, slots=True)
class Where:
    """The session of an event, by the agent's own id, the turn in it if the agent tells one, and the folder that the
    agent is in. `roots` are the project's folders, if the event names them."""

    session: str
    turn: str
    cwd: str
    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A call before it runs. A `row` of the kind `permission` is the agent's question to its person, after the
    ruling."""

    where: Where
    row: EventRow
    event: str
    call: str
    tool: str
    arguments: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """The end of a call, as the agent tells it: `failed` with a message, or with a result."""

    where: Where
    call: str
    tool: str
    arguments: Mapping[str, JsonValue]
    result: JsonValue
    failed: str | None


@dataclass(frozen=True, slots=True)
class Prompted:
    """The person said something."""

    where: Where
    event: str
    prompt: str


@dataclass(frozen=True, slots=True)
class SessionMoved:
    """A session began or ended; `why` in the agent's word."""

    where: Where
    to: Literal["start", "end"]
    why: str


@dataclass(frozen=True, slots=True)
class Unconcerned:
    """An event that decides nothing and says nothing worth keeping."""

    event: str


HookEvent = ToolCalled | ToolEnded | Prompted | SessionMoved | Unconcerned


_AN_OBJECT = TypeAdapter(dict[str, JsonValue])


class NoEvent(SetupError):
    """The input is no event of this agent."""


def parse_event(agent: Agent, data: bytes, named: str | None = None) -> HookEvent:
    """Returns the event in this JSON text; `named` is its name if the agent's text has none. Raises NoEvent."""
    form = _read_form(data)
    event = form.event or named
    if event is None or (row := agent.events.get(event)) is None:
        raise _no_event(agent, f"Remit does not know the event `{shorten((event or ''), 60)}` of {agent.title}")
    where = Where(form.session or "unnamed", form.turn or "", form.cwd or "", tuple(form.roots or ()))
    match row.kind:
        case "other":
            return Unconcerned(event)
        case "start" | "end":
            return SessionMoved(where, row.kind, form.source or form.reason or "")
        case "prompt":
            return Prompted(where, event, form.prompt or "")
        case "before" | "permission" | "after" | "failed":
            return _tool_event(agent, form, event, where, data)


def _read_form(data: bytes) -> HookForm:
    what = "the event cannot be read"
    if len(data) > MOST_BYTES:
        raise NoEvent(what, f"it has more than {MOST_BYTES} bytes", "do less in one call")
    if has_too_many_values(data, MOST_VALUES):
        raise NoEvent(what, f"it holds more than {MOST_VALUES} values", "do less in one call")
    try:
        value: object = json.loads(data, parse_constant=_no_constant)
        return HookForm.model_validate(value)
    except ValidationError as error:
        raise NoEvent(what, describe_problems(error), FIX) from None
    except (ValueError, RecursionError):
        raise NoEvent(
            what, "it is not JSON", "let the agent run `remit hook` with the event on standard input"
        ) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _tool_event(agent: Agent, form: HookForm, event: str, where: Where, data: bytes) -> HookEvent:
    row = agent.events[event]
    tool = row.tool or form.tool
    if not tool:
        raise _no_event(agent, f"its `{event}` names no tool")
    arguments = _arguments(form, row, data, agent, agent.tools.get(tool))
    call = form.call or _made_up_id(tool, arguments)
    if row.kind in {"before", "permission"}:
        return ToolCalled(where, row, event, call, tool, arguments)
    failed = None
    if row.kind == "failed" or form.error is not None:
        failed = form.error if isinstance(form.error, str) else json.dumps(form.error)
    return ToolEnded(where, call, tool, arguments, form.result, failed)


def _arguments(
    form: HookForm, row: EventRow, data: bytes, agent: Agent, tool: ToolRow | None
) -> Mapping[str, JsonValue]:
    """Returns the call's arguments: an object, or the JSON text of one; for an event about one tool without them, its
    fields that the tool's row names; for a patch that is bare text, that text under its argument's name."""
    if row.tool is not None and form.arguments is None:
        fields = cast("dict[str, JsonValue]", json.loads(data))
        return {name: value for name, value in fields.items() if tool is None or name in tool.names}
    given = form.arguments
    if isinstance(given, str) and tool is not None and tool.kind == "patch" and not given.lstrip().startswith("{"):
        return {tool.text[0]: given}
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            raise _no_event(agent, "the arguments of the call are not JSON") from None
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise _no_event(agent, "the arguments of the call are not an object")
    return _AN_OBJECT.validate_python(given)


def _made_up_id(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    """Returns an id for a call that has none: the same before and after it."""
    text = json.dumps([tool, arguments], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _no_event(agent: Agent, why: str) -> NoEvent:
    return NoEvent(f"the event of {agent.title} cannot be judged", why, FIX)
