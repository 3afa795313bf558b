"""The SDK's connection over lines. All corrections of defects in `agent-client-protocol` 0.12.1 are here (TRN-11).

Its router is not used, because it knows no `session/delete` and no `logout`, hides stable methods behind a flag, and
lets a request's `_meta` overwrite its parameters. The SDK's errors repeat what was sent. It does not know
`$/cancel_request`. It turns a part that it cannot use into a `dict`. An answer with an id of the wrong kind ends its
connection, it silently skips a line that is no message, and it sends nothing more after the end of the input.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.utils import serialize_params
from pydantic import BaseModel, ValidationError

from remit_server.contract import ErrorCode
from remit_server.contract.refused import place_of
from remit_server.errors import RemitError
from remit_server.json_bounds import has_too_many_values
from remit_server.streams.line_streams import LineReader, LineWriter

log = logging.getLogger(__name__)

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
CANCELLED, NOT_FOUND = -32800, -32002
CANCEL = "$/cancel_request"
_CODES: Mapping[ErrorCode, int] = {ErrorCode.NOT_FOUND: NOT_FOUND, ErrorCode.INVALID_REQUEST: INVALID_PARAMS}
_PROBLEMS_SHOWN = 8

RequestId = int | str
Json = dict[str, Any]
Form = TypeVar("Form", bound=BaseModel)

_answering: ContextVar[RequestId | None] = ContextVar("_answering", default=None)
"""The id of the request that a task of the connection answers. The task begins right after the request was read."""
_asking: ContextVar[RequestId | None] = ContextVar("_asking", default=None)
"""The id of the request that this task sent last."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method that a client can call: the form of its parameters, and its handler. `holds` is false if the answer can
    take as long as a turn; then the request does not hold up later messages, which the turn may wait for."""

    form: type[BaseModel]
    answer: Callable[[Any], Awaitable[BaseModel | None]]
    holds: bool = True


def refusal(error: RemitError) -> RequestError:
    """Returns a RemitError as an error of the protocol."""
    payload = error.payload()
    return RequestError(_CODES.get(payload.code, INTERNAL), payload.message, payload.model_dump(mode="json"))


def parse(form: type[Form], given: object) -> Form:
    """Returns what was sent as a value of its form. Raises ValidationError.

    It is read twice, because the SDK replaces an unusable part by its default, which may be a `dict` in place of a
    model. It is read as JSON, because that refuses a text with half of a surrogate pair.
    """
    read = form.model_validate_json(json.dumps(given))
    return form.model_validate_json(read.model_dump_json(by_alias=True, exclude_none=True, warnings=False))


class Lines:
    """Messages as lines on two descriptors, as a transport of the SDK. `on_lost` is called if nobody reads any more."""

    def __init__(self, in_fd: int, out_fd: int, on_lost: Callable[[], None]) -> None:
        self._writer = LineWriter(out_fd, on_lost)
        self._lines: asyncio.Queue[tuple[bytes | None, asyncio.Future[None]] | None] = asyncio.Queue()
        self._reader = LineReader(in_fd, self._take, partial(self._lines.put_nowait, None))
        self._places: dict[RequestId, asyncio.Future[None]] = {}
        self.running: dict[RequestId, asyncio.Task[BaseModel | None] | None] = {}
        self._after: dict[RequestId, list[Callable[[], Awaitable[None]]]] = {}
        self._working: set[asyncio.Future[None]] = set()
        self._one_answered = asyncio.Event()
        self.holds: Callable[[str], bool] = lambda method: True

    def start(self) -> None:
        """Starts reading and writing."""
        self._writer.start()
        self._reader.start()

    def _take(self, line: bytes | None) -> asyncio.Future[None]:
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.put_nowait((line, answered))
        return answered

    async def receive(self) -> Json | None:
        """Returns the next message, or None at the end. A line that is no message is answered with an error."""
        while (taken := await self._lines.get()) is not None:
            line, answered = taken
            message = self._read(line)
            if isinstance(message, RequestError):
                self.later(self._refuse(message, answered))
                continue
            name = message.get("id") if "method" in message else None
            if name is not None:
                self.running[name] = None
            if name is not None and self.holds(message["method"]):
                self._places[name] = answered
            else:
                _settle(answered)
            _answering.set(name)
            return message
        return None

    async def send(self, message: Json) -> None:
        """Writes a message. Waits if many are unwritten, so that a client that does not read is not served further."""
        if "method" in message:
            _asking.set(message.get("id"))
        try:
            await self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        finally:
            if "method" not in message and message.get("id") is not None:
                self._answered(message["id"])

    def after_answer(self, work: Callable[[], Awaitable[None]]) -> None:
        """Runs `work` once the request that is being answered has its answer."""
        name = _answering.get()
        assert name is not None, "called while a request is answered"
        self._after.setdefault(name, []).append(work)

    def later(self, work: Awaitable[None]) -> None:
        """Runs `work` in the background, and ignores its error if the client is gone."""
        task = asyncio.ensure_future(_until_lost(work))
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    def _answered(self, name: RequestId) -> None:
        self.running.pop(name, None)
        self._one_answered.set()
        _settle(self._places.pop(name, None))
        for work in self._after.pop(name, ()):
            self.later(work())

    async def close(self) -> None:
        """Does nothing, because the descriptors end with the process."""

    async def answered(self) -> None:
        """Waits until every request has its answer and all answers are written."""
        while self.running:
            await self._one_answered.wait()
            self._one_answered.clear()
        await self._writer.drain()

    def _read(self, line: bytes | None) -> Json | RequestError:
        if line is None or has_too_many_values(line):
            return RequestError(INVALID_REQUEST, "the message is too long")
        try:
            given = json.loads(line)
        except (ValueError, RecursionError):
            return RequestError(PARSE_ERROR, "the line is not JSON")
        return given if _is_message(given) and not self._is_known(given) else RequestError(INVALID_REQUEST, _SHAPE)

    async def _refuse(self, error: RequestError, answered: asyncio.Future[None]) -> None:
        """Answers a line with an error. The line keeps its place in the queue until the error is written."""
        try:
            await self.send({"jsonrpc": "2.0", "id": None, "error": error.to_error_obj()})
        finally:
            _settle(answered)

    def _is_known(self, message: Json) -> bool:
        """Returns whether a request has the id of a request that is not answered yet."""
        return "method" in message and message.get("id") in self.running


_SHAPE = "a message is an object with a `method` or an `id` that is not in use, as in JSON-RPC 2.0"


def _is_message(given: object) -> bool:
    message = cast("Json", given) if isinstance(given, dict) else {}
    if message.get("jsonrpc") != "2.0":
        return False
    named = "id" not in message or (isinstance(message["id"], int | str) and not isinstance(message["id"], bool))
    if "method" in message:
        return named and isinstance(message["method"], str)
    error: object = message.get("error") or {}
    code = cast("Json", error).get("code", 0) if isinstance(error, dict) else None
    return named and "id" in message and type(code) is int


def _settle(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)


class AcpClient:
    """The client at the other end: answers its messages by tables of methods, and sends it requests and
    notifications.
    """

    def __init__(self, lines: Lines, requests: Mapping[str, Method], notifications: Mapping[str, Method]) -> None:
        self._lines, self._requests, self._notifications = lines, requests, notifications
        lines.holds = lambda method: method not in requests or requests[method].holds
        self._connection = Connection(self._handle, lines, listening=False)

    async def listen(self) -> None:
        """Answers messages until the input ends. Handlers that run then go on."""
        await self._connection.main_loop()

    async def close(self) -> None:
        """Cancels the handlers that still run."""
        await self._connection.close()

    async def tell(self, method: str, params: BaseModel) -> None:
        """Sends a notification, also after the end of the input. Waits if the client reads slowly."""
        await self._lines.send({"jsonrpc": "2.0", "method": method, "params": serialize_params(params)})

    async def ask(self, method: str, params: BaseModel, form: type[Form]) -> Form:
        """Sends a request and returns its answer. If the caller is cancelled, the client is told to cancel the request.

        Raises RequestError, ValidationError if the answer has the wrong form, ConnectionError if the client sends
        nothing any more.
        """
        try:
            answer = await self._connection.send_request(method, serialize_params(params))
        except asyncio.CancelledError:
            withdrawn = {"jsonrpc": "2.0", "method": CANCEL, "params": {"requestId": _asking.get()}}
            self._lines.later(self._lines.send(withdrawn))
            raise
        return parse(form, answer)

    async def _handle(self, method: str, params: object, is_notification: bool) -> BaseModel | None:
        """Answers one message; called by the SDK's connection. Raises only RequestError."""
        if is_notification and method == CANCEL:
            self._cancel(params)
            return None
        row = (self._notifications if is_notification else self._requests).get(method)
        if row is None:
            if is_notification:  # a client may send notifications that this agent does not know
                return None
            raise RequestError(UNKNOWN_METHOD, "Method not found")
        return await self._answer(row, params, None if is_notification else _answering.get())

    async def _answer(self, row: Method, params: object, name: RequestId | None) -> BaseModel | None:
        try:
            given = parse(row.form, params)
        except ValidationError as error:
            raise RequestError(INVALID_PARAMS, "Invalid params", _problems(error)) from None
        task: asyncio.Task[BaseModel | None] = asyncio.ensure_future(_run(row.answer(given)))
        if name is not None:
            self._lines.running[name] = task
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:  # the connection closes
            task.cancel()
            await asyncio.wait({task})
            raise
        if task.cancelled():
            raise RequestError(CANCELLED, "Request cancelled")
        return task.result()

    def _cancel(self, params: object) -> None:
        name = cast("Json", params).get("requestId") if isinstance(params, dict) else None
        task = self._lines.running.get(name) if isinstance(name, int | str) else None
        if task is not None:
            task.cancel()


async def _run(answering: Awaitable[BaseModel | None]) -> BaseModel | None:
    try:
        return await answering
    except RequestError:
        raise
    except RemitError as error:
        raise refusal(error) from error
    except ConnectionError:  # nobody reads the answer
        raise RequestError(INTERNAL, "Internal error") from None
    except Exception:
        log.exception("a request could not be answered")
        raise RequestError(INTERNAL, "Internal error") from None


def _problems(error: ValidationError) -> Json:
    """Returns where and how parameters are wrong, but never what was sent, which may be a secret."""
    found = error.errors(include_url=False, include_context=False, include_input=False)[:_PROBLEMS_SHOWN]
    return {"problems": [{"at": place_of(each["loc"]), "is": each["type"]} for each in found]}


async def _until_lost(work: Awaitable[None]) -> None:
    with contextlib.suppress(ConnectionError):
        await work
