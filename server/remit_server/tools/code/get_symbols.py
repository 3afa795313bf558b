"""`get_symbols`: lists what a file defines, or finds definitions in the workspace by a part of their name (TOOL-07)."""

from __future__ import annotations

import asyncio

from pydantic import Field, JsonValue

from remit_governance.values import Effect
from remit_server.errors import ToolError
from remit_server.tools.code.language_server.ask_server import Ask, plan_for, targets_of
from remit_server.tools.code.language_server.pointing import find_symbols, symbols_of
from remit_server.tools.code.language_server.showing import Seen, Style
from remit_server.tools.files.read_source import read_source
from remit_server.tools.spec import Arguments, Plan, Target, Tool, ToolContext
from remit_server.workspace.code import Answer, CodeQuery, Symbol


class GetSymbolsArguments(Arguments):
    """Arguments of `get_symbols`."""

    path: str | None = Field(default=None, max_length=4096, description="a file")
    query: str | None = Field(default=None, min_length=1, max_length=200, description="or part of a name, in all files")


def _line(seen: Seen) -> str:
    symbol = seen.finding
    if not isinstance(symbol, Symbol):
        return seen.where
    words = " ".join(filter(None, [symbol.kind, symbol.name]))
    return f"{seen.where}  {words}{f' (in {symbol.container})' if symbol.container else ''}"


def _data(seen: Seen) -> dict[str, JsonValue]:
    symbol = seen.finding
    if not isinstance(symbol, Symbol):
        return {}
    return {"name": symbol.name, "kind": symbol.kind, "container": symbol.container}


_STYLE = Style("symbol", _line, _data)


def _query(arguments: GetSymbolsArguments, ctx: ToolContext) -> CodeQuery:
    """Returns the query. Raises ToolError if the arguments name nothing, or two things."""
    if (arguments.path is None) == (arguments.query is None):
        raise ToolError(
            "no symbols were looked for",
            "the call needs either a `path` or a `query`",
            "give one of the two; for an overview of the project use repo_map",
        )
    if arguments.path is not None:
        return CodeQuery("symbols", ctx.resolve(arguments.path).relative)
    return CodeQuery("workspace_symbols", name=arguments.query or "")


def _like(part: str, ctx: ToolContext) -> Answer:
    wanted = part.casefold()
    return find_symbols(ctx, part, lambda name: wanted in name.casefold())


def _targets(arguments: GetSymbolsArguments, ctx: ToolContext) -> tuple[Target, ...]:
    return targets_of(_query(arguments, ctx), ctx)


async def _prepare(arguments: GetSymbolsArguments, ctx: ToolContext) -> Plan:
    query = _query(arguments, ctx)
    if query.path is None:
        return await plan_for(Ask(query, f"for `{query.name}`", _STYLE, lambda: _like(query.name, ctx)), ctx)
    path = query.path
    await asyncio.to_thread(read_source, ctx.resolve(path), ctx)
    return await plan_for(Ask(query, f"in {path}", _STYLE, lambda: symbols_of(ctx, path)), ctx)


GET_SYMBOLS = Tool(
    name="get_symbols",
    summary="List what a file defines, or find definitions in all files by a part of their name.",
    effect=Effect.READ,
    arguments=GetSymbolsArguments,
    targets=_targets,
    prepare=_prepare,
    drop_rank=3,
)
