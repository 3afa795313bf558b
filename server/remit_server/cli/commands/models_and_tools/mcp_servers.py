"""`remit mcp add|list|test|remove`: MCP servers of the person's own, whose tools Remit's agent can call (TOOL-18)."""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import os
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from remit_governance.visible import visible, visible_again
from remit_server.cli.approval import agrees, can_ask
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DENIED, DONE, FAILED
from remit_server.cli.usage import Subcommand, WrongUsage
from remit_server.errors import SetupError, os_reason
from remit_server.hooks.json_places import read_places
from remit_server.json_bounds import has_too_many_values
from remit_server.runtime.own_files.mcp_servers import (
    Change,
    changes,
    keep_server,
    list_tools,
    looked_at,
    remove_server,
)
from remit_server.runtime.own_files.places import config_folder
from remit_server.runtime.settings import Settings
from remit_server.sandbox.choose import choose_sandbox
from remit_server.tools.mcp.rows import rows_of
from remit_server.tools.mcp.servers import (
    ALIAS,
    McpServer,
    ServerForm,
    first_problem,
    read_server,
    server_files,
    servers_file,
)

_WHAT, _NOT_ASKED = "the server was not added", "nothing was asked"
_START = "start it in the sandbox, and look at its tools?"


def _declare_add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: remit mcp add time -- mcp-server-time --local-timezone Europe/Rome"
    parser.add_argument("alias", metavar="NAME", help="what you call it: its tools are NAME_TOOL")
    parser.add_argument("--url", help="where it is, in place of a command")
    parser.add_argument("--header", action="append", default=[], metavar="NAME: VALUE", help="sent with each request")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of its own")
    parser.add_argument("--host", action="append", default=[], metavar="HOST", help="a host that it reaches")
    parser.add_argument("--read", action="append", default=[], metavar="PATH", help="what else it may read")
    parser.add_argument("--reads-only", action="append", default=[], metavar="TOOL", help="a tool that changes nothing")
    parser.add_argument("--only", action="append", default=[], metavar="TOOL", help="only this tool")
    parser.add_argument("--timeout", type=int, default=60, metavar="SECONDS", help="of one call (default: 60)")
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE", help="take it from an `.mcp.json`")
    parser.add_argument("--yes", action="store_true", help="add it without asking")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- CMD", help="what starts it")


def _add(arguments: argparse.Namespace) -> int:
    """Shows how a server would be started, and then its tools; adds the server after a yes to each."""
    alias: str = arguments.alias
    if not ALIAS.fullmatch(alias):
        fix = "start with a small letter; use small letters, digits, `-` and `_`, at most 32"
        raise WrongUsage(_WHAT, f"`{alias[:100]}` is not a valid name", fix)
    folder = config_folder(os.environ)
    if servers_file(folder, alias).exists():
        raise WrongUsage(
            _WHAT, f"a server called `{alias}` exists", f"run `remit mcp remove {alias}` first, or use another name"
        )
    server = McpServer(alias, _with_program(_form(arguments)))
    if not arguments.json:
        say("\n".join(_way(server)))
    if not arguments.yes and not agrees(_START, _WHAT):
        return DENIED
    tools = _look(server.form, arguments.workspace)
    server = McpServer(alias, looked_at(server.form, tools))
    if not arguments.json:
        say("\n".join(_tools(server)))
    if not arguments.yes and not agrees(f"let models call these {len(tools)} tools?", _WHAT):
        return DENIED
    file = keep_server(folder, server)
    names = [row.name for row in rows_of(server) if not isinstance(row, str)]
    print_json({"added": alias, "file": str(file), "tools": names}) if arguments.json else say(f"kept in {file}")
    return DONE


_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "headers": "--header",
        "environment": "--env",
        "hosts": "--host",
        "reads": "--read",
        "effects": "--reads-only",
        "only": "--only",
        "timeout_seconds": "--timeout",
    }
)
"""The option that sets each field of a server's form."""


def _form(arguments: argparse.Namespace) -> ServerForm:
    """Returns the server that the command line describes. Raises WrongUsage."""
    given: dict[str, Any] = {"command": _command(arguments.words), "url": arguments.url}
    given["headers"] = dict(_pairs(arguments.header, ":"))
    given["environment"] = dict(_pairs(arguments.env, "="))
    if arguments.source is not None:
        given |= from_editors_file(arguments.source, arguments.alias)
    given |= {"hosts": tuple(arguments.host), "only": tuple(arguments.only), "timeout_seconds": arguments.timeout}
    given["reads"] = tuple(Path(each).expanduser().absolute() for each in arguments.read)
    given["effects"] = dict.fromkeys(arguments.reads_only, "read")
    try:
        return ServerForm.model_validate(given)
    except ValidationError as error:
        option = _OPTIONS.get(str(next(iter(error.errors()[0]["loc"]), "")))
        fix = f"give `{option}` another value" if option else "give `--url https://…`, or its command after `--`"
        raise WrongUsage(_WHAT, first_problem(error), fix) from error


def _command(words: list[str]) -> tuple[str, ...]:
    """Returns the command. Raises WrongUsage for an option after the name, because it would be part of the command."""
    if words and words[0].startswith("-"):
        fix = "put options before the name, and the command after `--`: `remit mcp add --yes time -- mcp-server-time`"
        raise WrongUsage(_WHAT, f"`{words[0][:100]}` comes after the name", fix)
    return tuple(words)


def _pairs(texts: Iterable[str], between: str) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, found, value = text.partition(between)
        if not found or not name.strip():
            raise WrongUsage(_WHAT, f"`{text[:100]}` has no `{between}`", f"write NAME{between}VALUE")
        yield name.strip(), value.strip()


class _EditorsServer(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str | None = None
    headers: Mapping[str, str] = {}


class _EditorsFile(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    servers: Mapping[str, _EditorsServer] = Field(
        default={},
        validation_alias=AliasChoices(
            "mcpServers", "servers", "context_servers", "mcp_servers", AliasPath("mcp", "servers")
        ),
        max_length=500,
    )


def from_editors_file(file: Path, alias: str) -> Mapping[str, Any]:
    """Returns one server from a configuration file of Claude Code, Cursor, Gemini CLI, VS Code, Zed or Codex. Raises
    WrongUsage."""
    try:
        data = file.read_bytes()
        if has_too_many_values(data):
            raise WrongUsage(_WHAT, f"`{file}` holds too many values", "name an `.mcp.json`")
        text = data.decode()
        given = tomllib.loads(text) if file.suffix == ".toml" else read_places(text).plain()
        servers = _EditorsFile.model_validate(given).servers
    except (OSError, ValueError, RecursionError) as error:
        why = os_reason(error) if isinstance(error, OSError) else first_problem(error)
        raise WrongUsage(_WHAT, f"`{file}`: {why}", "name an `.mcp.json`") from error
    one = servers.get(alias)
    if one is None:
        raise WrongUsage(_WHAT, f"`{file}` has no server `{alias}`", f"it has: {', '.join(servers) or 'none'}")
    if one.url is not None:
        return {"url": one.url, "headers": one.headers}
    return {"command": (one.command, *one.args) if one.command else (), "environment": one.env}


def _with_program(form: ServerForm) -> ServerForm:
    """Returns the form with the full path of its program, and with the program's virtual environment among the paths to
    read."""
    found = shutil.which(form.command[0]) if form.command else None
    if found is None:
        return form
    place = Path(found).absolute()
    # pipx links to a program in a virtual environment; a sandbox does not show the link, so name the program itself.
    hops = ((hop, hop.parent.parent) for hop in (place, place.resolve()))
    place, venv = next((each for each in hops if (each[1] / "pyvenv.cfg").is_file()), (place, None))
    reads = form.reads if venv is None else tuple(dict.fromkeys((*form.reads, venv)))
    return form.model_copy(update={"command": (str(place), *form.command[1:]), "reads": reads})


def _look(form: ServerForm, workspace: Path) -> tuple[dict[str, JsonValue], ...]:
    here = Settings.of_places(workspace).workspace
    return asyncio.run(list_tools(form, here, choose_sandbox(here)))


def _way(server: McpServer) -> Iterator[str]:
    """Yields how a server is started, and what it gets."""
    form = server.form
    yield f"{server.alias}: {visible(server.where, 'show')}"
    yield f"  reaches: {', '.join(form.hosts) or ('its own host' if form.url else 'nothing')}"
    yield f"  reads: {', '.join(('the workspace', *(visible(str(path), 'show') for path in form.reads)))}"
    if names := (*form.environment, *form.headers):
        yield f"  is given: {visible(', '.join(names), 'show')}"


def _tools(server: McpServer) -> Iterator[str]:
    for row in rows_of(server):
        if isinstance(row, str):
            yield f"  {style_text('✗', 'red')} {visible_again(row)}"
        else:
            yield f"  {row.name} ({row.effect}): {visible_again(row.summary)}"


def _list(arguments: argparse.Namespace) -> int:
    code = DONE
    files = list(server_files(config_folder(os.environ)))
    for file in files:
        try:
            server = read_server(file)
        except SetupError as error:
            code = FAILED
            shown = {"file": str(file), "problem": error.why}
            print_json(shown) if arguments.json else say(f"{style_text('✗', 'red')} {error.why}; {error.fix}")
            continue
        rows = list(rows_of(server))
        problems = [row for row in rows if isinstance(row, str)]
        if arguments.json:
            tools = [row.name for row in rows if not isinstance(row, str)]
            told = {"name": server.alias, "where": server.where, "enabled": server.form.enabled, "tools": tools}
            print_json({**told, "problems": problems})
        else:
            say("\n".join((*_way(server), *_tools(server))))
        code = FAILED if problems and server.form.enabled else code
    if not files and not arguments.json:
        say("there are no MCP servers; add one: `remit mcp add NAME -- COMMAND`")
    return code


def _test(arguments: argparse.Namespace) -> int:
    """Asks a server again, and shows what changed since the person looked at it; keeps the changes after a yes. If the
    way in which it is started has changed, starts it only after a yes."""
    folder = config_folder(os.environ)
    file = servers_file(folder, arguments.alias)
    if not ALIAS.fullmatch(arguments.alias) or not file.exists():
        raise WrongUsage(_NOT_ASKED, f"there is no server `{arguments.alias[:100]}`", "see `remit mcp list`")
    server = read_server(file)
    moved = server.form.launch != server.form.started_by
    if moved and arguments.json and not arguments.accept:
        print_json({"name": server.alias, "moved": True, "where": server.where})
        return FAILED
    if moved and not arguments.json:
        say("it is started differently from when you looked at it:")
        say("\n".join(_way(server)))
    if moved and not arguments.accept and not agrees(_START, _NOT_ASKED, "--accept"):
        return DENIED
    tools = _look(server.form, arguments.workspace)
    found = list(changes(server.form.tools, tools))
    if arguments.json:
        print_json(
            {"name": server.alias, "tools": len(tools), "changed": [each.name for each in found], "moved": moved}
        )
    else:
        say(f"{server.alias} answers: {len(tools)} tools")
        for line in (line for each in found for line in _differences(each)):
            say(visible(line))
    if not found and not moved:
        return DONE
    asks = can_ask() and not arguments.json
    if not arguments.accept and not asks:
        return FAILED
    if not arguments.accept and not agrees("let models call them as they are now?"):
        return DENIED
    keep_server(folder, McpServer(server.alias, looked_at(server.form, tools)))
    return DONE


def _differences(change: Change) -> Iterator[str]:
    """Yields a diff of a tool that changed."""
    before, now = (
        json.dumps(each, indent=1, ensure_ascii=False).splitlines() if each else []
        for each in (change.before, change.now)
    )
    yield from difflib.unified_diff(
        before, now, f"{change.name}, as you looked at it", f"{change.name}, now", lineterm=""
    )


def _declare_test(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("alias", metavar="NAME", help="the server")
    parser.add_argument("--accept", action="store_true", help="accept its tools as they are now")


def _remove(arguments: argparse.Namespace) -> int:
    try:
        there = ALIAS.fullmatch(arguments.alias) and remove_server(config_folder(os.environ), arguments.alias)
    except OSError as error:
        raise SetupError("the server was not removed", os_reason(error), "remove its file by hand") from error
    if not there:
        raise WrongUsage("nothing was removed", f"there is no server `{arguments.alias[:100]}`", "see `remit mcp list`")
    print_json({"removed": arguments.alias}) if arguments.json else say(f"removed {arguments.alias}")
    return DONE


def _declare_remove(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("alias", metavar="NAME", help="the server")


SERVERS: Mapping[str, Subcommand] = {
    "add": Subcommand(_add, "add an MCP server, whose tools Remit's own agent can call", _declare_add),
    "list": Subcommand(_list, "show the MCP servers that you added, and their tools"),
    "test": Subcommand(_test, "ask a server again, and show what changed since you looked at its tools", _declare_test),
    "remove": Subcommand(_remove, "remove a server", _declare_remove),
}
