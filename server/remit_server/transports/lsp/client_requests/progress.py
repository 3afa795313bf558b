"""Work-done progress for clients that do not know Remit's events, and its cancellation (LSP-05, LSP-16)."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from remit_governance.secrets.cutting import truncate
from remit_governance.secrets.redaction import Redacted
from remit_governance.visible import visible_again
from remit_governance.workflow.states import Mode
from remit_server.contract import (
    ApprovalRequired,
    CommandWaits,
    Event,
    IntentSelected,
    ProcessChanged,
    PromptProgress,
    RunCompleted,
    StateChanged,
    ToolCallEvent,
    ToolOutput,
    ToolResultEvent,
    WarningEvent,
)
from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.transports.lsp.rpc.frames import ConnectionLost

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection

logger = logging.getLogger(__name__)

Report = Callable[[str], None]
"""Shows one line of progress."""

MAX_LINE = 200
_CREATE_S = 5.0
_MOMENT_S = 1.0

T = TypeVar("T")


@asynccontextmanager
async def work_done(
    connection: Connection, title: str, token: lsp.ProgressToken | None, on_cancel: Callable[[], object]
) -> AsyncGenerator[Report]:
    """Shows a progress on this token while the block runs, and yields the function that reports a line of it. Without a
    token, nothing is shown.

    `on_cancel` is called when the person presses the progress's cancel button.
    """
    if token is None:
        yield lambda _: None
        return

    def send(kind: str, **fields: Json) -> None:
        connection.channel.stream(token, {"kind": kind, **fields})

    connection.on_progress_cancelled(token, on_cancel)
    send("begin", title=title, cancellable=True)
    try:
        yield lambda message: send("report", message=message)
    finally:
        connection.on_progress_cancelled(token, None)
        try:
            send("end")
        except ConnectionLost:
            logger.debug("the client is gone")


async def watched(connection: Connection, title: str, given: lsp.ProgressToken | None, work: Awaitable[T]) -> T:
    """Returns the result of the work, and shows a progress while it runs. Cancelling the progress cancels the work.

    If the client gave no token, one is created only if the work takes longer than `_MOMENT_S` seconds.
    """
    task = asyncio.ensure_future(work)
    try:
        if given is None:
            await asyncio.wait((task,), timeout=_MOMENT_S)
        if not task.done():
            token = await choose_token(connection, given)
            async with work_done(connection, title, token, task.cancel):
                await asyncio.wait((task,))
        return await task
    finally:
        task.cancel()


def progress_line(event: Event) -> str | None:
    """Returns one line for an event that a person waits for, or None for any other event."""
    line = _line_of(event)
    return line if line is None or event.sub_agent is None else f"sub-agent: {line}"


def _line_of(event: Event) -> str | None:
    line: str | None = None
    match event:
        case IntentSelected(intent=intent):
            line = f"intent: {intent}"
        case ToolCallEvent(tool=tool, arguments={"path": path}):
            line = f"{tool} {path}"
        case ToolCallEvent(tool=tool):
            line = tool
        case PromptProgress(done=done, total=total):
            line = f"the model reads the prompt: {done * 100 // total} %"
        case ToolOutput(text=text):
            line = _last_line(text)
        case CommandWaits(means=means) | ProcessChanged(means=means):
            line = means
        case ToolResultEvent(tool=tool, exit_code=int(), summary=summary):
            line = f"{tool}: {visible_again(summary, 'show')}"
        case ApprovalRequired(title=title):
            line = f"waiting for your answer: {title}"
        case StateChanged(mode=mode, state=state) if mode != Mode.EXPLORE:
            line = f"{mode} mode: {state}"
        case WarningEvent(message=message):
            line = message
        case RunCompleted(result=result) if result.status != "completed":
            line = f"{result.status}: {result.reason}" if result.reason else result.status
        case _:
            pass
    return line


def _last_line(text: str) -> str | None:
    """Returns the last line that is not empty, because a progress has room for only one."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return None
    return truncate(Redacted(visible_again(lines[-1], "show")), MAX_LINE, "middle").replace("\n", " ")


async def choose_token(connection: Connection, given: lsp.ProgressToken | None) -> lsp.ProgressToken | None:
    """Returns the client's token or else a new one, or None if the client shows no progress."""
    return given if given is not None else await _fresh_token(connection)


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
