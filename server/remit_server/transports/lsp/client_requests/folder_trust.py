"""Asks the person once whether what a workspace folder brings is trusted, before its runtime opens (CFG-06)."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.transports.lsp.rpc.io_threads import ConnectionLost

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

logger = logging.getLogger(__name__)

ANSWER_S = 60.0
YES, NO = "Trust", "Do Not Trust"


async def settle_trust(connection: Connection, root: Path) -> None:
    """Records the answer of the person, or of a client that asks by itself; without an answer it is asked again later.

    What is asked about does not count meanwhile.
    """
    from remit_server.errors import SetupError
    from remit_server.runtime.folder_record import arrived, brought, read_trust, write_trust

    there = await asyncio.to_thread(brought, root)
    if not there or await asyncio.to_thread(read_trust, root) is not None:
        return
    new = await asyncio.to_thread(arrived, root)
    trusted = True if connection.client.trusts_folders else await _ask(connection, root, there, new)
    if trusted is None:
        return
    try:
        await asyncio.to_thread(lambda: write_trust(root, trusted=trusted))
    except SetupError as error:
        logger.warning("%s: %s", error.what, error.why)


async def _ask(connection: Connection, root: Path, there: tuple[str, ...], new: tuple[str, ...]) -> bool | None:
    if connection.client.asking == "never":
        return None
    names = ", ".join(f"`{name}`" for name in new or there)
    contains = "contains, since you trusted it," if new else "contains"
    message = (
        f"Remit: {root} {contains} {names}. Their text is sent to the model. Do you trust the authors of this folder?"
    )
    actions = [lsp.MessageActionItem(title=YES), lsp.MessageActionItem(title=NO)]
    params = lsp.ShowMessageRequestParams(type=lsp.MessageType.Warning, message=message, actions=actions)
    try:
        answer = await connection.channel.ask(lsp.WINDOW_SHOW_MESSAGE_REQUEST, params, ANSWER_S)
    except (TimeoutError, ConnectionLost, JsonRpcException) as error:
        logger.warning("the question whether the folder is trusted was not answered: %s", type(error).__name__)
        return None
    title = getattr(answer, "title", None)
    return title == YES if title in {YES, NO} else None
