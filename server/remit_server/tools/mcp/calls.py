"""Makes the sandbox command that asks an MCP server, and reads the server's answer (TOOL-18)."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from pydantic import JsonValue

from remit_governance.hosts import Endpoint, parse_endpoint
from remit_governance.secrets.cutting import shorten
from remit_server.json_bounds import has_too_many_values
from remit_server.sandbox.ports import CommandOutput, CommandSpec
from remit_server.sandbox.visible.environment import command_environment
from remit_server.tools.mcp import inside_mcp
from remit_server.tools.mcp.servers import ServerForm, filled
from remit_server.tools.run.command_parts import python_inside, with_hosts

MAX_BYTES = 4_000_000
"""Limit for one message of a server, in bytes."""

_GRACE_S = 5.0
_WORD_CHARS = 100_000


def endpoints_of(form: ServerForm) -> tuple[Endpoint, ...]:
    """Returns all hosts that a server reaches, including its own if it has a `url`."""
    own = (urlsplit(form.url).netloc,) if form.url else ()
    return tuple(dict.fromkeys(map(parse_endpoint, (*own, *form.hosts))))


def ask_spec(
    form: ServerForm, workspace: Path, seconds: int, call: Mapping[str, JsonValue] | None, *, writes: bool
) -> CommandSpec:
    """Returns the command that asks a server for its tools, or for one call. Raises ToolError if there is no Python."""
    environment = {**command_environment(os.environ), **filled(form.environment)}
    python = python_inside(environment, "ask an MCP server")
    if form.url:
        environment[inside_mcp.HEADERS] = json.dumps(filled(form.headers))
    question = {"command": list(form.command), "url": form.url, "call": call, "seconds": seconds, "most": MAX_BYTES}
    packed = base64.b64encode(zlib.compress(json.dumps(question).encode())).decode()
    words = [packed[at : at + _WORD_CHARS] for at in range(0, len(packed), _WORD_CHARS)]
    program = Path(inside_mcp.__file__).read_text(encoding="utf-8")
    spec = CommandSpec(
        argv=(python, "-I", "-c", program, *words),
        cwd=workspace,
        workspace=workspace,
        environment=environment,
        timeout_s=seconds + _GRACE_S,
        max_output_bytes=MAX_BYTES + 100_000,
        readable=form.reads,
        writes=writes,
    )
    return with_hosts(spec, endpoints_of(form))


def read_answer(output: CommandOutput) -> Mapping[str, JsonValue]:
    """Returns what the client in the sandbox printed, or `failed` with the reason if that cannot be used."""
    if output.timed_out:
        return {"failed": "it took too long"}
    if output.stopped is not None:
        return {"failed": f"it reached a limit of the sandbox: {output.stopped}"}
    if output.truncated or has_too_many_values(output.stdout):
        return {"failed": "its answer is too large"}
    try:
        found = json.loads(output.stdout)
    except (ValueError, RecursionError):
        found = None
    return cast("dict[str, JsonValue]", found) if isinstance(found, dict) else {"failed": "its answer cannot be read"}


def said_by(output: CommandOutput) -> str:
    """Returns the end of a server's output on standard error."""
    return output.stderr.decode(errors="replace").strip()[-1_000:]


def text_of(result: JsonValue) -> tuple[str, bool]:
    """Returns the result of a call as text, and whether the server says that the call failed.

    Links stay text and are not fetched. Content that is no text is replaced by its kind and size.
    """
    if not isinstance(result, dict):
        return "", True
    if result.get("resultType") == "input_required":
        return "it asks for further input, which Remit does not give", True
    content = result.get("content")
    parts = [_block(each) for each in content] if isinstance(content, list) else []
    structured = result.get("structuredContent")
    if structured is not None and not any(parts):
        parts.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(part for part in parts if part), result.get("isError") is True


def _block(block: JsonValue) -> str:
    if not isinstance(block, dict):
        return ""
    kind, resource = block.get("type"), block.get("resource")
    if kind == "text":
        return str(block.get("text", ""))
    if kind == "resource" and isinstance(resource, dict) and isinstance(text := resource.get("text"), str):
        return text
    if kind == "resource_link":
        return f"[a link, not followed: {shorten(str(block.get('uri')), 500)}]"
    size = len(str(block.get("data") or (resource.get("blob") if isinstance(resource, dict) else "") or ""))
    media = shorten(str(block.get("mimeType", "of no kind")), 80)
    return f"[{shorten(str(kind), 40)}, {media}, {size} characters: not shown]"
