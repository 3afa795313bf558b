"""The models to choose from, as a command for every client of LSP (EDI-06): what `remit model list` tells."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.models.local.hub.listing import ListedModel, list_models
from remit_server.runtime.settings import Settings
from remit_server.transports.lsp.command_params import read_asked
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

MIB = 1 << 20


async def list_all(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.model.list [{workspace_folder?, uri?}]`; `/model` in the chat switches to one of them.

    The value has of each model its `reference`, whether it is `configured`, `usable` and `fits` into memory, and in
    `about` what it is, or why it cannot be used. A configured model that is elsewhere comes first.
    """
    asked = read_asked(connection, params)
    root = connection.folders.named(asked.about.folder).root
    return await asyncio.to_thread(_listed, root)


def _listed(root: Path) -> Json:
    configured = Settings.from_environment(root).model
    rows = [_row(each) for each in list_models(os.environ, configured)]
    if not any(row["configured"] for row in rows):
        about = "not a model of this machine's own"
        rows.insert(0, {"reference": configured, "configured": True, "usable": True, "fits": True, "about": about})
    return [*rows]


def _row(listed: ListedModel) -> dict[str, Json]:
    model = listed.model
    about = model.problem or " · ".join(
        [
            *filter(None, (model.architecture, model.weights)),
            f"{model.size_bytes / MIB:,.0f} MiB",
            *([] if model.context is None else [f"{model.context:,} tokens"]),
            f"needs {model.memory_bytes / MIB:,.0f} MiB of memory" + ("" if listed.fits else ", more than there is"),
        ]
    )
    return {
        "reference": listed.reference,
        "configured": listed.configured,
        "usable": model.problem is None,
        "fits": listed.fits,
        "about": about,
    }
