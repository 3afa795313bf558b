"""MCP over a pipe, one message per line (TRN-20). The SDK's own reader is not used, because it has no limits and does
not answer a line that is no message.

The size of a message and the number of its values are checked before it is read as JSON (TRN-24).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as mcp
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit_server.json_bounds import has_too_many_values
from remit_server.local_http.guard import Refusal, answer_refusal
from remit_server.streams.line_streams import LineReader, LineWriter

MOST_BYTES = 4 << 20


class Bounded:
    """Passes requests to an application, but refuses a body that is too long or holds too many values."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on with its whole body, or answers it with a refusal."""
        body = bytearray()
        message: Message = {"more_body": scope["type"] == "http"}
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
            if len(body) > MOST_BYTES:
                why = f"it has more than {MOST_BYTES >> 20} MiB"
                return await answer_refusal(Refusal(413, why, "send less in one message"))(scope, receive, send)
        if has_too_many_values(bytes(body)):
            refused = Refusal(413, "it holds too many values", "send less in one message")
            return await answer_refusal(refused)(scope, receive, send)
        waiting: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, again, send)
        return None


_END_S = 5.0
"""The seconds that a client may take to read the last answers."""


def read_message(line: bytes | None) -> SessionMessage | mcp.JSONRPCError:
    """Returns the message in a line, or else the error to answer with, which repeats nothing of the line."""
    if line is None or len(line) > MOST_BYTES:
        return _error(mcp.INVALID_REQUEST, f"Message has more than {MOST_BYTES >> 20} MiB")
    if has_too_many_values(line):
        return _error(mcp.INVALID_REQUEST, "Message holds too many values")
    try:
        given: object = from_json(line)
    except ValueError:
        return _error(mcp.PARSE_ERROR, "Parse error")
    try:
        message = mcp.jsonrpc_message_adapter.validate_python(given, by_name=False)
    except ValidationError:
        return _error(mcp.INVALID_REQUEST, "Invalid message")
    # The SDK takes a request with an invalid id for a notification, and would not answer it.
    if isinstance(message, mcp.JSONRPCNotification) and isinstance(given, dict) and "id" in given:
        return _error(mcp.INVALID_REQUEST, "Invalid message")
    return SessionMessage(message)


def _error(code: int, message: str) -> mcp.JSONRPCError:
    return mcp.JSONRPCError(jsonrpc="2.0", id=None, error=mcp.ErrorData(code=code, message=message))


async def serve_lines(server: Server[Any], in_fd: int, out_fd: int, on_lost: Callable[[], None]) -> None:
    """Serves one client until its input ends. `on_lost` is called if the client closes its end of the output."""
    to_server, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    writer = LineWriter(out_fd, on_lost)
    taking: set[asyncio.Task[None]] = set()

    async def deliver(line: bytes | None) -> None:
        message = read_message(line)
        if isinstance(message, SessionMessage):
            await to_server.send(message)
        else:
            await write(message)

    async def write(message: mcp.JSONRPCMessage) -> None:
        told = message.model_dump_json(by_alias=True, exclude_unset=True).encode(errors="backslashreplace")
        await writer.write(told + b"\n")

    def take(line: bytes | None) -> asyncio.Task[None]:
        task = asyncio.create_task(deliver(line))
        taking.add(task)
        task.add_done_callback(taking.discard)
        return task

    async def finish() -> None:
        await asyncio.gather(*taking, return_exceptions=True)
        await to_server.aclose()

    async def write_all() -> None:
        async for message in from_server:
            await write(message.message)

    ending: list[asyncio.Task[None]] = []
    writer.start()
    LineReader(in_fd, take, lambda: ending.append(asyncio.create_task(finish()))).start()
    writing = asyncio.create_task(write_all())
    try:
        await server.run(received, sent, server.create_initialization_options())
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await writing
                await writer.drain()
    finally:
        for task in (*taking, *ending, writing):
            task.cancel()
