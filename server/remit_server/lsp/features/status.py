"""`remit/status`: what a status bar shows (protocol.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.lsp.types import Json, StatusParams

if TYPE_CHECKING:
    from remit_server.lsp.server import RemitServer


async def status(ls: RemitServer, params: StatusParams) -> Json:
    """A StatusResult as JSON; an error says why there is no runtime to tell of."""
    del params
    runtime = await ls.runtime()
    stats = await runtime.model_stats()
    return runtime.status().model_copy(update={"model_stats": stats}).model_dump(mode="json")
