"""Commands that list models and choose one, for every LSP client (EDI-06, MOD-26, MOD-27)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.models.finding import Choice, find_choices
from remit_server.runtime.connecting import connect_model, describe_connected
from remit_server.runtime.settings import Settings
from remit_server.transports.lsp.commands.command_params import read_asked, wrong_arguments
from remit_server.transports.lsp.connection.open_folders import read_again
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection


async def list_all(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.model.list [{workspace_folder?, uri?}]`: looks for models on this machine, which is done on request
    only.

    The value has for each model its `reference`, `about`, whether it is `configured` and `usable`, the `problem` if it
    is not usable, and the host that its messages are `sent_to`. A reference that is not `whole` lacks a model's name.
    """
    asked = read_asked(connection, params)
    configured = Settings.from_environment(connection.folders.named(asked.about.folder).root).config.model
    return [_row(each) for each in await find_choices(os.environ, configured.name)]


async def use(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.model.use [{reference, workspace_folder?, uri?}]`: tries the model with one governed step, and keeps
    it in the person's configuration if it passes.

    The value has a message (`said`), whether the model was `kept`, and the `problem` if it cannot be used.
    """
    asked = read_asked(connection, params, "reference, ")
    reference = asked.text("reference")
    if not reference:
        raise wrong_arguments(params, "no `reference` was given", asked.shape)
    folder = connection.folders.named(asked.about.folder)
    connected = await connect_model(reference, folder.root)
    problem = connected.report.problem
    if connected.file is not None:
        await read_again(folder.slot)  # at once, because the answer says that the model is in use
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
