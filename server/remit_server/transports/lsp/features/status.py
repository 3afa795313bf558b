"""`remit/status`: the content of a status bar (LSP-04)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_server.transports.lsp.rpc.custom_methods import Json, StatusParams

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Snapshot


async def status(snapshot: Snapshot, params: StatusParams) -> Json:
    """Returns a StatusResult as JSON, of the named folder, else of the first one. Raises RemitError."""
    named, folders = params.workspace_folder, snapshot.folders
    first = folders.first_root
    runtime = await folders.named(str(first) if named is None and first is not None else named).slot.get()
    more = {"model_stats": await runtime.model_stats(), "folders": tuple(str(each.root) for each in folders)}
    if params.session_id is not None:
        await runtime.recall(params.session_id)
    return runtime.status(params.session_id).model_copy(update=more).model_dump(mode="json")
