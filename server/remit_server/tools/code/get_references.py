"""`get_references`: finds where the name at a place in the code is used (TOOL-07)."""

from __future__ import annotations

import asyncio

from remit_governance.values import Effect
from remit_server.tools.code.language_server.ask_server import Ask, plan_for, targets_of
from remit_server.tools.code.language_server.pointing import PlaceArguments, parse_position
from remit_server.tools.code.language_server.showing import code_style
from remit_server.tools.spec import Plan, Target, Tool, ToolContext
from remit_server.workspace.code import CodeQuery

_STYLE = code_style("reference")


def _targets(arguments: PlaceArguments, ctx: ToolContext) -> tuple[Target, ...]:
    return targets_of(CodeQuery("references", ctx.resolve(arguments.path).relative), ctx)


async def _prepare(arguments: PlaceArguments, ctx: ToolContext) -> Plan:
    place = await asyncio.to_thread(parse_position, "references", arguments, ctx)
    return await plan_for(Ask(place.query, place.about, _STYLE), ctx)


GET_REFERENCES = Tool(
    name="get_references",
    summary="Find where the name at a line of a file is used, its definition included.",
    effect=Effect.READ,
    arguments=PlaceArguments,
    targets=_targets,
    prepare=_prepare,
    most_chars=24_000,
    drop_rank=0,
)
