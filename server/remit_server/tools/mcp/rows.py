"""The rows of a server's tools, as the person reviewed them; a name is the server's alias, then the tool's name
(TOOL-18).

The parameters are derived from the server's JSON Schema. The result is small and holds no references; the server checks
what this schema cannot express.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import BaseModel, JsonValue

from remit_governance.secrets.cutting import shorten
from remit_governance.values import Effect
from remit_governance.visible import without_hidden
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput
from remit_server.tools.external.declared import one_line
from remit_server.tools.external.row import as_json, own_outcome, own_row
from remit_server.tools.mcp.calls import ask_spec, endpoints_of, read_answer, said_by, text_of
from remit_server.tools.mcp.inside_mcp import digest_of
from remit_server.tools.mcp.servers import McpServer
from remit_server.tools.spec import AnyTool, CommandPlan, Outcome, Plan, ToolContext

MAX_CHARS = 8_000
"""Limit for the parameters of one tool, as JSON."""

_DEEPEST, _WORDS = 6, 300
_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object"})
_LIMITS = ("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength")


def parameters_of(schema: JsonValue) -> Mapping[str, JsonValue]:
    """Returns a JSON Schema of an object. Raises ValueError if the schema is too large or is not that of an object."""
    if not isinstance(schema, dict):
        raise ValueError("its parameters are not an object")
    found = schema.get("$defs", schema.get("definitions"))
    made = _part(schema, cast("Mapping[str, JsonValue]", found) if isinstance(found, dict) else {}, 0)
    if made.get("type") != "object":
        raise ValueError("its parameters do not describe an object")
    made.setdefault("properties", {})
    if len(json.dumps(made)) > MAX_CHARS:
        raise ValueError(f"its parameters take more than {MAX_CHARS} characters")
    return made


def _part(schema: JsonValue, named: Mapping[str, JsonValue], depth: int) -> dict[str, JsonValue]:
    """Returns the schema of one value; `{}`, which allows anything, if the given schema is not understood."""
    if depth > _DEEPEST or not isinstance(schema, dict):
        return {}
    if isinstance(to := schema.get("$ref"), str):
        return _part(named.get(to.rpartition("/")[2]), named, depth + 1)
    kind = _kind_of(schema)
    if kind is None:
        options = schema.get("anyOf", schema.get("oneOf"))
        made = [_part(option, named, depth + 1) for option in options] if isinstance(options, list) else []
        nothing: dict[str, JsonValue] = {}
        part = next((each for each in made if each), nothing)
    else:
        part = _of_kind(kind, schema, named, depth)
    if isinstance(said := schema.get("description"), str) and said.strip():
        part["description"] = one_line(said, _WORDS)
    return part


def _kind_of(schema: Mapping[str, JsonValue]) -> str | None:
    given = schema.get("type")
    kinds = given if isinstance(given, list) else [given]
    return next((kind for kind in kinds if isinstance(kind, str) and kind in _TYPES), None)


def _of_kind(
    kind: str, schema: Mapping[str, JsonValue], named: Mapping[str, JsonValue], depth: int
) -> dict[str, JsonValue]:
    part: dict[str, JsonValue] = {"type": kind}
    part |= {name: value for name in _LIMITS if _is_number(value := schema.get(name))}
    enum = schema.get("enum")
    if isinstance(enum, list) and enum and all(isinstance(each, str | int | float) for each in enum):
        part["enum"] = enum
    if kind == "array":
        part["items"] = _part(schema.get("items"), named, depth + 1)
    properties = schema.get("properties")
    if kind == "object" and isinstance(properties, dict):
        part["properties"] = {
            name: _part(value, named, depth + 1) for name, value in properties.items() if without_hidden(name) == name
        }
        required = schema.get("required")
        part["required"] = [name for name in required if name in properties] if isinstance(required, list) else []
    return part


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_NO_NAME = re.compile(r"[^a-z0-9_]+")
MAX_NAME = 64


def rows_of(server: McpServer) -> Iterator[AnyTool | str]:
    """Yields a row for each tool of a server, or a text that says why the tool has no row."""
    if server.form.launch != server.form.started_by:
        yield (
            f"`{server.alias}` is started differently than when you looked at its tools: "
            f"look again with `remit mcp test {server.alias}`"
        )
        return
    for tool in server.form.tools:
        name = str(tool.get("name", ""))
        if server.form.only and name not in server.form.only:
            continue
        try:
            yield _row(server, tool, name)
        except ValueError as error:
            yield f"`{shorten(name, 100)}` of `{server.alias}` is left out: {error}"


def name_of(alias: str, tool: str) -> str:
    """Returns the name by which a tool is called in Remit. Raises ValueError if there is no such name, or it is too
    long."""
    name = f"{alias.replace('-', '_')}_{_NO_NAME.sub('_', tool.lower()).strip('_')}"
    if len(name) > MAX_NAME or name.endswith("_"):
        raise ValueError(f"its name gives no valid name of at most {MAX_NAME} letters and digits")
    return name


def _row(server: McpServer, tool: Mapping[str, JsonValue], called: str) -> AnyTool:
    form, name = server.form, name_of(server.alias, called)
    effect = Effect(form.effects.get(called, "execute"))
    digest, endpoints = digest_of(dict(tool)), endpoints_of(form)

    async def prepare(arguments: BaseModel, ctx: ToolContext) -> Plan:
        given = cast("JsonValue", arguments.model_dump(mode="json"))
        seconds = min(form.timeout_seconds, ctx.command_limit_s)
        call: dict[str, JsonValue] = {"name": called, "digest": digest, "arguments": given}
        spec = ask_spec(form, ctx.workspace.root, seconds, call, writes=effect is Effect.EXECUTE)

        def render(output: CommandOutput) -> Outcome:
            return render_answer(server, called, output, ctx)

        return CommandPlan(spec, display=f"{name} {as_json(arguments)}", render=render)

    said = tool.get("description")
    summary = one_line(said if isinstance(said, str) else called)
    parameters = parameters_of(tool.get("inputSchema", {"type": "object"}))
    command = form.command or ("mcp", str(form.url))
    return own_row(name, summary, effect, parameters=parameters, command=command, endpoints=endpoints, prepare=prepare)


def render_answer(server: McpServer, called: str, output: CommandOutput, ctx: ToolContext) -> Outcome:
    """Returns the outcome of a call. A tool that has changed since the person's review was not called."""
    found = read_answer(output)
    text, failed = text_of(found.get("result")) if "result" in found else ("", True)
    failure = None if not failed else _failure(server, called, found, text, output)
    data: dict[str, JsonValue] = {"server": server.alias, "tool": called}
    return own_outcome(f"{called} of {server.alias}", ctx.redact(text), failure, data)


def _failure(
    server: McpServer, called: str, found: Mapping[str, JsonValue], text: str, output: CommandOutput
) -> ToolError:
    if "changed" in found:
        now = "describes itself differently than when" if found["changed"] else "is gone since"
        return ToolError(
            f"`{called}` of `{server.alias}` was not called",
            f"it {now} the person looked at it",
            f"go on without it; the person can look again with `remit mcp test {server.alias}`",
            code=ErrorCode.STALE,
        )
    said = said_by(output)
    why = str(found.get("failed") or "it says that it failed") + (f"; it said: {said}" if said and not text else "")
    return ToolError(
        f"`{called}` of `{server.alias}` failed",
        shorten(why, 2_000),
        "correct its arguments, or go on without it",
        code=ErrorCode.COMMAND_FAILED,
    )
