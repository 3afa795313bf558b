"""Keeps a question that is asked by message where lenses and commands find it (LSP-09)."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.transports.lsp.reviews import Review
from remit_server.transports.lsp.rpc.io_threads import ConnectionLost

if TYPE_CHECKING:
    from remit_server.contract import ApprovalRequired
    from remit_server.transports.lsp.connection import Connection

logger = logging.getLogger(__name__)

_REFRESH_S = 10.0


@contextmanager
def under_review(connection: Connection, question: ApprovalRequired) -> Generator[None]:
    """Keeps a question with changes while it waits."""
    root = _root_of(connection, question)
    if root is None or not question.diffs:
        yield
        return
    with ExitStack() as opened:
        connection.reviews[question.approval_id] = Review(question, root, opened)
        refresh_lenses(connection)
        try:
            yield
        finally:
            connection.reviews.pop(question.approval_id, None)
            refresh_lenses(connection)


def refresh_lenses(connection: Connection) -> None:
    """Asks the client to ask for lenses again, where it can."""
    if connection.client.refreshes_lenses:
        connection.in_background(_refresh(connection))


async def _refresh(connection: Connection) -> None:
    try:
        await connection.channel.ask(lsp.WORKSPACE_CODE_LENS_REFRESH, None, _REFRESH_S)
    except (TimeoutError, ConnectionLost, JsonRpcException) as error:
        logger.warning("the client did not ask for lenses again: %s", type(error).__name__)


def _root_of(connection: Connection, question: ApprovalRequired) -> Path | None:
    """Returns the root of the folder whose runtime asks; None where it has been closed."""
    return next(
        (
            folder.root
            for folder in connection.folders
            if (runtime := folder.slot.opened) is not None and runtime.asked(question.approval_id)
        ),
        None,
    )
