"""Asks the editor for its settings of Remit, where it has some, and says once what of them does not count (LSP-15)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.transports.lsp.rpc.io_threads import ConnectionLost

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

logger = logging.getLogger(__name__)

SECTION = "remit"
ANSWER_S = 5.0
MOST_SAID = 100


async def ask_settings(connection: Connection, root: Path) -> bool:
    """Takes over the editor's settings for a folder. Returns whether other ones count now."""
    given = await _given(connection, root)
    values, complaints = await asyncio.to_thread(_read, given, root)
    for complaint in complaints:
        if complaint not in connection.said and len(connection.said) < MOST_SAID:
            connection.said.add(complaint)
            connection.show(lsp.MessageType.Warning, f"Remit: {complaint}")
    before = connection.editor_settings.get(root, {})
    connection.editor_settings[root] = values
    return values != before


async def _given(connection: Connection, root: Path) -> Json:
    if not connection.client.has_configuration:
        return connection.sent_settings
    item = lsp.ConfigurationItem(scope_uri=root.as_uri(), section=SECTION)
    try:
        answer: Json = await connection.channel.ask(
            lsp.WORKSPACE_CONFIGURATION, lsp.ConfigurationParams(items=[item]), ANSWER_S
        )
    except (TimeoutError, ConnectionLost, JsonRpcException) as error:
        logger.warning("the client did not say what its settings are: %s", type(error).__name__)
        return None
    return answer[0] if answer else None


def _read(given: Json, root: Path) -> tuple[Mapping[tuple[str, str], Any], tuple[str, ...]]:
    from remit_server.errors import SetupError
    from remit_server.runtime.config.editor import read_editor
    from remit_server.runtime.config.layers import resolve
    from remit_server.runtime.folder_record import read_trust

    if not given:  # some editors spell an empty object as a list or as false
        return {}, ()
    try:
        before = resolve(root)
    except SetupError:  # nothing opens with such files, and they are asked for again when something does
        return {}, ()
    return read_editor(given, before, trusted=read_trust(root))
