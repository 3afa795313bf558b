"""The models to choose from, and the choice of one, as commands for every client of LSP (EDI-06, MOD-26, MOD-27)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.models.finding import Choice, find_choices
from remit_server.runtime.connecting import connect_model, describe_connected
from remit_server.runtime.settings import Settings
from remit_server.transports.lsp.command_params import read_asked, wrong_arguments
from remit_server.transports.lsp.open_folders import read_again
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


async def list_all(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.model.list [{workspace_folder?, uri?}]`: looks for models on this machine, because it is asked to.

    The value has of each its `reference`, `about`, whether it is `configured` and `usable`, the `problem` where it is
    not, and the host that messages to it are `sent_to`. One that is not `whole` needs a model's name behind it.
    """
    asked = read_asked(connection, params)
    configured = Settings.from_environment(connection.folders.named(asked.about.folder).root).config.model
    return [_row(each) for each in await find_choices(os.environ, configured.name)]


async def use(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.model.use [{reference, workspace_folder?, uri?}]`: tries one governed step, and keeps the model.

    The value has what was `said` of it, whether it was `kept`, and the `problem` where it cannot be used.
    """
    asked = read_asked(connection, params, "reference, ")
    reference = asked.text("reference")
    if not reference:
        raise wrong_arguments(params, "no `reference` was given", asked.shape)
    folder = connection.folders.named(asked.about.folder)
    connected = await connect_model(reference, folder.root)
    problem = connected.report.problem
    if connected.file is not None:
        await read_again(folder.slot)  # at once: the answer says that it counts
    return {
        "said": describe_connected(connected) if problem is None else f"{problem.what}: {problem.why}",
        "kept": connected.file is not None,
        "problem": None if problem is None else problem.model_dump(mode="json"),
    }


def _row(choice: Choice) -> dict[str, Json]:
    return {
        "reference": choice.reference,
        "about": choice.about,
        "configured": choice.configured,
        "usable": choice.problem is None,
        "problem": choice.problem,
        "sent_to": choice.sent_to,
        "whole": choice.whole,
    }
