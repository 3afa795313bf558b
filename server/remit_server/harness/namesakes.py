"""Finds files of the same name in other folders when a call names a file that does not exist (AGT-05)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.calls import ToolCall
from remit_server.tools.spec import AnyTool
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.trees.walk import Limits, walk

MOST_NAMED = 3
MOST_ENTRIES = 20_000
MOST_SECONDS = 0.25


async def point_to_namesakes(
    refusal: ToolError, call: ToolCall, tool: AnyTool | None, workspace: Workspace, readable: Callable[[str], bool]
) -> None:
    """Adds to the refusal of a file that does not exist where `readable` files of the same name are."""
    named = call.arguments.get(tool.file_argument) if tool is not None and tool.file_argument is not None else None
    if refusal.code is not ErrorCode.NOT_FOUND or not isinstance(named, str) or not named:
        return
    limits = Limits(seconds=MOST_SECONDS, entries=MOST_ENTRIES)
    found = [f"`{path}`" for path in await asyncio.to_thread(_ends_with, workspace, named, limits) if readable(path)]
    if found:
        refusal.fix = f"did you mean {' or '.join(found[:MOST_NAMED])}?"


def _ends_with(workspace: Workspace, named: str, limits: Limits) -> list[str]:
    try:
        found = (path for path in walk(workspace, workspace.resolve("."), limits) if path.endswith(f"/{named}"))
        return list(islice(found, 2 * MOST_NAMED))
    except ToolError:
        return []
