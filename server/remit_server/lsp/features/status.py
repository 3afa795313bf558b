"""`remit/status`: what a status bar shows (protocol.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.lsp.types import Json, StatusParams

if TYPE_CHECKING:
    from remit_server.lsp.server import RemitServer


async def status(ls: RemitServer, params: StatusParams) -> Json:
    """A StatusResult as JSON, of the folder that is named, else of the first one; an error says why there is none."""
    named, first = params.workspace_folder, ls.first_root
    folder = str(first) if named is None and first is not None else named
    runtime = await ls.runtime(folder)
    told = {"model_stats": await runtime.model_stats(), "folders": tuple(str(each.root) for each in ls.folders)}
    return runtime.status().model_copy(update=told).model_dump(mode="json")
