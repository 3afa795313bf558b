"""Work-done progress for clients that do not know Remit's events (LSP-05)."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_governance.secrets.redaction import truncate
from remit_governance.visible import visible_again
from remit_server.contract import (
    ApprovalRequired,
    Event,
    IntentSelected,
    RunCompleted,
    ToolCallEvent,
    ToolOutput,
    ToolResultEvent,
    WarningEvent,
)
from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.transports.lsp.rpc.io_threads import ConnectionLost

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

logger = logging.getLogger(__name__)

Report = Callable[[str], None]
"""Shows one line of progress."""

MAX_LINE = 200
_CREATE_S = 5.0


@asynccontextmanager
async def work_done(
    connection: Connection, title: str, token: lsp.ProgressToken | None, on_cancel: Callable[[], object]
) -> AsyncGenerator[Report]:
    """Yields a progress while the block runs, on the client's token or a new one; without either it shows nothing.

    `on_cancel` is called when the person presses the progress's cancel button.
    """
    shown = token if token is not None else await _fresh_token(connection)
    if shown is None:
        yield lambda _: None
        return

    def send(kind: str, **fields: Json) -> None:
        connection.channel.stream(shown, {"kind": kind, **fields})

    connection.on_progress_cancelled(shown, on_cancel)
    send("begin", title=title, cancellable=True)
    try:
        yield lambda message: send("report", message=message)
    finally:
        connection.on_progress_cancelled(shown, None)
        try:
            send("end")
        except ConnectionLost:
            logger.debug("the client is gone")


def progress_line(event: Event) -> str | None:
    """Returns one line for the events that a person waits for; None for the others."""
    line: str | None = None
    match event:
        case IntentSelected(intent=intent):
            line = f"intent: {intent}"
        case ToolCallEvent(tool=tool, arguments={"path": path}):
            line = f"{tool} {path}"
        case ToolCallEvent(tool=tool):
            line = tool
        case ToolOutput(text=text):
            line = _last_line(text)
        case ToolResultEvent(tool=tool, exit_code=int(), summary=summary):
            line = f"{tool}: {visible_again(summary, 'show')}"
        case ApprovalRequired(title=title):
            line = f"waiting for your answer: {title}"
        case WarningEvent(message=message):
            line = message
        case RunCompleted(result=result) if result.status != "completed":
            line = f"{result.status}: {result.reason}" if result.reason else result.status
        case _:
            pass
    return line


def _last_line(text: str) -> str | None:
    """Returns the last line that is not empty: a progress has room for one."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return None
    return truncate(visible_again(lines[-1], "show"), MAX_LINE, "middle").replace("\n", " ")


async def _fresh_token(connection: Connection) -> str | None:
    if not connection.client.shows_progress:
        return None
    token = str(uuid.uuid4())
    try:
        await connection.channel.ask(
            lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, lsp.WorkDoneProgressCreateParams(token=token), _CREATE_S
        )
    except (TimeoutError, JsonRpcException):
        return None
    return token
