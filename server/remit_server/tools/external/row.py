"""The row of a tool of the person's own: its program runs in the sandbox, like a command (TOOL-16). Also what such
rows have in common with those of MCP servers and plugins.

The type of its arguments is made from its parameters, which are a JSON Schema (TOOL-15).
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, ClassVar, Self, cast

from pydantic import BaseModel, GetJsonSchemaHandler, JsonValue, RootModel, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from remit_governance.hosts import Endpoint, parse_endpoint
from remit_governance.permissions.permissions import ANY_ARGUMENTS
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.json_bounds import has_too_many_values
from remit_server.sandbox.ports import CommandOutput, CommandSpec
from remit_server.sandbox.visible.environment import command_environment
from remit_server.tools.external.declared import Declared
from remit_server.tools.run.command_parts import failure_of, host_targets, lacked_network, with_hosts
from remit_server.tools.run.run_command import head_and_tail
from remit_server.tools.spec import AnyTool, CommandPlan, Outcome, Plan, Target, Tool, ToolContext

MAX_BYTES = 100_000
"""Limit for the arguments as JSON, because a program gets them as one argument of its command line."""


class Given(RootModel[dict[str, JsonValue]]):
    """Arguments by name, checked against the JSON Schema in `parameters`."""

    parameters: ClassVar[Mapping[str, JsonValue]] = {}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        from jsonschema import Draft202012Validator
        from referencing import Registry

        if len(self.model_dump_json()) > MAX_BYTES:
            raise PydanticCustomError("too_long", "they are longer than {most} bytes", {"most": MAX_BYTES})
        # The registry is empty, so that no reference in a schema is fetched.
        validator = cast(Any, Draft202012Validator)(dict(self.parameters), registry=cast(Any, Registry)())
        problem = next(validator.iter_errors(self.root), None)
        if problem is not None:
            where = "" if problem.json_path == "$" else f"`{problem.json_path.removeprefix('$.')}`: "
            raise PydanticCustomError("of_schema", "{said}", {"said": shorten(f"{where}{problem.message}", 300)})
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return dict(cls.parameters)


def arguments_of(name: str, parameters: Mapping[str, JsonValue]) -> type[BaseModel]:
    """Returns the type of a tool's arguments, for these parameters."""
    return type(f"Given_{name}", (Given,), {"parameters": parameters, "__module__": __name__})


def as_json(arguments: BaseModel) -> str:
    """Returns the arguments as JSON in one line, with keys in the order of the call."""
    return json.dumps(arguments.model_dump(mode="json"), ensure_ascii=False)


MAX_SHOWN_CHARS = 16_000


def own_row(
    name: str,
    summary: str,
    effect: Effect,
    *,
    parameters: Mapping[str, JsonValue],
    command: tuple[str, ...],
    endpoints: Iterable[Endpoint],
    prepare: Callable[[BaseModel, ToolContext], Awaitable[Plan]],
) -> AnyTool:
    """Returns the row of a tool that the person brought. Policy judges `command` with any arguments, and each host: a
    permission is for every call of the tool, and each call's arguments are shown to the person."""

    def targets(arguments: BaseModel, ctx: ToolContext) -> tuple[Target, ...]:
        del arguments
        started = Target("process.exec", command=(*command, ANY_ARGUMENTS), cwd=ctx.resolve("."))
        return (started, *host_targets(endpoints))

    return Tool(
        name=name,
        summary=summary,
        effect=effect,
        arguments=arguments_of(name, parameters),
        targets=targets,
        prepare=prepare,
        most_chars=MAX_SHOWN_CHARS,
        own=True,
    )


def own_outcome(
    name: str, text: str, failure: ToolError | None, data: Mapping[str, JsonValue], exit_code: int | None = None
) -> Outcome:
    """Returns the outcome of a call of such a tool; its `text` is already redacted."""
    return Outcome(
        text=head_and_tail(text, MAX_SHOWN_CHARS),
        summary=str(failure) if failure else f"{name}: {len(text)} characters",
        data={**data, "truncated": len(text) > MAX_SHOWN_CHARS},
        exit_code=exit_code,
        failure=failure,
    )


_BOTH_WAYS = 'printf %s "$1" | "$0" "$1"'
"""Passes the arguments to a program both as its first argument and on standard input; it may read either."""


def row_of(declared: Declared) -> AnyTool:
    """Returns the row of one tool of the person's own."""
    endpoints = tuple(parse_endpoint(host) for host in declared.hosts)

    async def prepare(arguments: BaseModel, ctx: ToolContext) -> Plan:
        given = as_json(arguments)
        seconds = min(declared.timeout_s, ctx.command_limit_s)
        spec = CommandSpec(
            argv=("/bin/sh", "-c", _BOTH_WAYS, str(declared.path), given),
            cwd=ctx.workspace.root,
            workspace=ctx.workspace.root,
            environment=command_environment(os.environ),
            timeout_s=float(seconds),
            readable=(declared.path, *declared.reads),
            writes=declared.effect is Effect.EXECUTE,
        )

        def render(output: CommandOutput) -> Outcome:
            return render_result(declared, output, seconds, ctx)

        return CommandPlan(with_hosts(spec, endpoints), display=f"{declared.name} {given}", render=render)

    return own_row(
        declared.name,
        declared.description,
        declared.effect,
        parameters=declared.parameters,
        command=(str(declared.path),),
        endpoints=endpoints,
        prepare=prepare,
    )


def render_result(declared: Declared, output: CommandOutput, seconds: int, ctx: ToolContext) -> Outcome:
    """Returns the `result` in the program's JSON, or all of the JSON. The call failed if the JSON says so or is
    missing."""
    found = read_json(output.stdout)
    failure = failure_of(output, _too_long(declared, seconds)) or _failure(declared, found, output, ctx)
    text = ctx.redact(_text_of(found))
    data: dict[str, JsonValue] = {"exit_code": output.exit_code, "timed_out": output.timed_out}
    return own_outcome(declared.name, text, failure, data, output.exit_code)


def _failure(declared: Declared, found: JsonValue, output: CommandOutput, ctx: ToolContext) -> ToolError | None:
    """Returns why a call failed by the program's output or exit code, or None if it did not fail."""
    said = ctx.redact(output.stderr.decode(errors="replace")).strip()
    if isinstance(found, dict) and found.get("success") is False:
        why = ctx.redact(str(found.get("error") or found.get("message") or "it does not say why"))
    elif output.exit_code:
        why = f"it ended with code {output.exit_code}" + (f", and said: {said[-1_000:]}" if said else "")
    elif found is None:
        why = "it did not print JSON"
    else:
        return None
    fix = "correct its arguments, or go on without it"
    if not declared.hosts and lacked_network(f"{why} {said}"):
        fix = f"it can reach no host: the person can name those it needs as `hosts` of `{declared.name}` in tools.yaml"
    return ToolError(f"`{declared.name}` failed", shorten(why, 2_000), fix, code=ErrorCode.COMMAND_FAILED)


def read_json(data: bytes) -> JsonValue:
    """Returns the JSON value that a program printed, or None if it is no JSON."""
    if has_too_many_values(data):
        return None
    try:
        return cast("JsonValue", json.loads(data))
    except (ValueError, RecursionError):
        return None


def _text_of(found: JsonValue) -> str:
    """Returns the `result` if it is a text, else the JSON; empty if the program printed no JSON."""
    if found is None:
        return ""
    if isinstance(found, dict):
        rest: dict[str, Any] = {key: value for key, value in found.items() if key not in {"success", "error"}}
        if isinstance(result := rest.get("result"), str):
            return result
        return json.dumps(rest, ensure_ascii=False, indent=1) if rest else ""
    return json.dumps(found, ensure_ascii=False)


def _too_long(declared: Declared, seconds: int) -> ToolError:
    return ToolError(
        f"`{declared.name}` was stopped",
        f"it took {seconds} s, its time limit",
        f"ask it for less; the person can raise `timeout_seconds` of `{declared.name}` in tools.yaml",
        code=ErrorCode.TIMED_OUT,
    )
