"""The person's own MCP servers: lists their tools in the sandbox, keeps and removes them (TOOL-18)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from remit_server.errors import SetupError, os_reason
from remit_server.runtime.own_files.own_file_writer import rewrite
from remit_server.sandbox.ports import Sandbox
from remit_server.tools.mcp.calls import ask_spec, read_answer, said_by
from remit_server.tools.mcp.inside_mcp import digest_of
from remit_server.tools.mcp.servers import McpServer, ServerForm, servers_file, unusable


@dataclass(frozen=True, slots=True)
class Change:
    """A tool that differs from what the person looked at; `before` is None for a new tool, `now` for a lost one."""

    name: str
    before: dict[str, JsonValue] | None
    now: dict[str, JsonValue] | None


async def list_tools(form: ServerForm, workspace: Path, sandbox: Sandbox) -> tuple[dict[str, JsonValue], ...]:
    """Starts or reaches a server in the sandbox, and returns its tools. Raises SetupError, ToolError."""
    output = await sandbox.run(ask_spec(form, workspace, form.timeout_seconds, None, writes=False))
    found = read_answer(output)
    if not isinstance(tools := found.get("tools"), list):
        said = said_by(output)
        why = str(found.get("failed", "its answer cannot be read")) + (f"; it said: {said}" if said else "")
        fix = (
            "name a program that the sandbox sees, its folders with `--read`, and the hosts that it needs with `--host`"
        )
        raise unusable(why, fix)
    return tuple(cast("dict[str, JsonValue]", tool) for tool in tools)


def looked_at(form: ServerForm, tools: tuple[dict[str, JsonValue], ...]) -> ServerForm:
    """Returns the server with these tools, and with how it is started, as the person looked at them."""
    return form.model_copy(update={"tools": tools, "launch": form.started_by})


def changes(before: tuple[dict[str, JsonValue], ...], now: tuple[dict[str, JsonValue], ...]) -> Iterator[Change]:
    """Yields the tools that differ between those that were looked at and the present ones."""
    old, new = ({str(tool.get("name")): tool for tool in tools} for tools in (before, now))
    for name in dict.fromkeys((*old, *new)):
        first, second = old.get(name), new.get(name)
        if first is None or second is None or digest_of(first) != digest_of(second):
            yield Change(name, first, second)


def keep_server(folder: Path, server: McpServer) -> Path:
    """Writes a server to a file that only the person can read; returns the file. Raises SetupError."""
    file = servers_file(folder, server.alias)
    told = server.form.model_dump(mode="json", exclude_defaults=True)
    text = json.dumps(told, indent=2, ensure_ascii=False) + "\n"
    try:
        rewrite(file, lambda _: text)
    except OSError as error:
        raise SetupError(
            "the server was not saved", f"`{file}`: {os_reason(error)}", "make its folder writable"
        ) from error
    return file


def remove_server(folder: Path, alias: str) -> bool:
    """Removes a server; returns whether there was one. Raises OSError."""
    file = servers_file(folder, alias)
    there = file.is_file()
    file.unlink(missing_ok=True)
    return there
