"""`get_definition`: finds where a name at a place in the code is defined (TOOL-07)."""

from __future__ import annotations

import asyncio

from remit_governance.values import Effect
from remit_server.tools.code.language_server.ask_server import Ask, plan_for, targets_of
from remit_server.tools.code.language_server.pointing import PlaceArguments, find_symbols, parse_position
from remit_server.tools.code.language_server.showing import code_style
from remit_server.tools.spec import Plan, Target, Tool, ToolContext
from remit_server.workspace.code import CodeQuery

_STYLE = code_style("definition")


def _targets(arguments: PlaceArguments, ctx: ToolContext) -> tuple[Target, ...]:
    return targets_of(CodeQuery("definition", ctx.resolve(arguments.path).relative), ctx)


async def _prepare(arguments: PlaceArguments, ctx: ToolContext) -> Plan:
    place = await asyncio.to_thread(parse_position, "definition", arguments, ctx)
    name = place.name
    by_name = (lambda: find_symbols(ctx, name, lambda each: each == name)) if name else None
    return await plan_for(Ask(place.query, place.about, _STYLE, by_name), ctx)


GET_DEFINITION = Tool(
    name="get_definition",
    summary="Find where the name at a line of a file is defined.",
    effect=Effect.READ,
    arguments=PlaceArguments,
    targets=_targets,
    prepare=_prepare,
    drop_rank=1,
)
