"""Tells the client whether there is completion at the cursor: only where the person switched it on (LSP-12).

A variable that says so is known before `initialize` is answered. What files say is read later, and told to clients that
take registrations.
"""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.transports.lsp.client import announces_completion
from remit_server.transports.lsp.rpc.io_threads import ConnectionLost

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

logger = logging.getLogger(__name__)

_ID = "remit-inline-completion"
_ANSWER_S = 10.0


async def follow_setting(connection: Connection, root: Path) -> None:
    """Registers completion with the client, or takes that back, as the configuration is now; only the person sets it,
    so that it is the same in all folders.
    """
    client = connection.client
    if not client.registers_inline or announces_completion(client, os.environ):
        return
    wanted = await asyncio.to_thread(_is_enabled, root)
    if wanted is None or wanted == connection.offers_completion:
        return
    connection.offers_completion = wanted
    try:
        if wanted:
            options = lsp.InlineCompletionRegistrationOptions(document_selector=[lsp.TextDocumentFilterScheme("file")])
            added = lsp.Registration(_ID, lsp.TEXT_DOCUMENT_INLINE_COMPLETION, options)
            await connection.channel.ask(lsp.CLIENT_REGISTER_CAPABILITY, lsp.RegistrationParams([added]), _ANSWER_S)
        else:
            gone = lsp.Unregistration(_ID, lsp.TEXT_DOCUMENT_INLINE_COMPLETION)
            await connection.channel.ask(lsp.CLIENT_UNREGISTER_CAPABILITY, lsp.UnregistrationParams([gone]), _ANSWER_S)
    except (TimeoutError, ConnectionLost, JsonRpcException) as error:
        logger.warning("the client did not take a change of its capabilities: %s", type(error).__name__)


def _is_enabled(root: Path) -> bool | None:
    """Returns what the configuration says; None where it cannot be used, which the person is told elsewhere."""
    from remit_server.errors import SetupError
    from remit_server.runtime.settings import Settings

    try:
        return Settings.from_environment(root).config.completion.enabled
    except SetupError:
        return None
