"""Work-done progress for clients that know nothing of Remit's events (protocol.md §3, Commands)."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_server.contract import ApprovalRequired, Event, IntentSelected, ToolCallEvent, WarningEvent
from remit_server.lsp.types import Json
from remit_server.lsp.wire import ConnectionLost

if TYPE_CHECKING:
    from remit_server.lsp.server import RemitServer

logger = logging.getLogger(__name__)

Report = Callable[[str], None]
"""Shows one line of progress."""

_CREATE_S = 5.0


@asynccontextmanager
async def work_done(
    ls: RemitServer, title: str, token: lsp.ProgressToken | None, on_cancel: Callable[[], object]
) -> AsyncGenerator[Report]:
    """A progress while the block runs, on the client's token or a fresh one; silent where there is none to be had.

    `on_cancel` is called when the person presses the progress's cancel button.
    """
    shown = token if token is not None else await _fresh_token(ls)
    if shown is None:
        yield lambda _: None
        return

    def send(kind: str, **fields: Json) -> None:
        ls.rpc.stream(shown, {"kind": kind, **fields})

    ls.on_progress_cancelled(shown, on_cancel)
    send("begin", title=title, cancellable=True)
    try:
        yield lambda message: send("report", message=message)
    finally:
        ls.on_progress_cancelled(shown, None)
        try:
            send("end")
        except ConnectionLost:
            logger.debug("the client is gone")


def progress_line(event: Event) -> str | None:
    """One line for the events a person waits on; None for the rest."""
    match event:
        case IntentSelected(intent=intent):
            return f"intent: {intent}"
        case ToolCallEvent(tool=tool, arguments={"path": path}):
            return f"{tool} {path}"
        case ToolCallEvent(tool=tool):
            return tool
        case ApprovalRequired(title=title):
            return f"waiting for your answer: {title}"
        case WarningEvent(message=message):
            return message
        case _:
            return None


async def _fresh_token(ls: RemitServer) -> str | None:
    if not ls.client.shows_progress:
        return None
    token = str(uuid.uuid4())
    try:
        await ls.rpc.ask(lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, lsp.WorkDoneProgressCreateParams(token=token), _CREATE_S)
    except (TimeoutError, JsonRpcException):
        return None
    return token
