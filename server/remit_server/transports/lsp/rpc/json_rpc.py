"""JSON-RPC over pygls, with corrections of pygls 2.1 (LSP-02).

Every request gets exactly one answer, in every phase of the server and for any params. Commands can be cancelled too.
The ids of the client's requests never mix with the server's, and a payload that looks like a message is not handled as
one.
"""

from __future__ import annotations

import asyncio
import enum
import inspect
import json
import logging
import os
import uuid
from collections.abc import Callable, Collection, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

import cattrs
from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method

from remit_server.streams.pulse import has_bootstrap
from remit_server.transports.lsp.buffers.uris import Root
from remit_server.transports.lsp.buffers.virtual_addresses import SCHEMES
from remit_server.transports.lsp.connection.client import Client, announces_completion, describe_client, workspace_roots
from remit_server.transports.lsp.rpc.custom_methods import (
    CUSTOM,
    CUSTOM_RESULTS,
    PROTOCOL,
    Json,
    WrongParams,
)
from remit_server.transports.lsp.rpc.frames import ConnectionLost, End, Frame, Garbage, Message
from remit_server.transports.lsp.rpc.shapes import mend_envelope, mismatch

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)

MessageId: TypeAlias = int | str
Handler: TypeAlias = Callable[..., Any]


class Phase(enum.Enum):
    """The phase of the connection."""

    NEW = "new"
    OPEN = "open"
    SHUT_DOWN = "shut down"


_OURS_ALONE = (
    lsp.TEXT_DOCUMENT_DID_OPEN,
    lsp.TEXT_DOCUMENT_DID_CHANGE,
    lsp.TEXT_DOCUMENT_DID_CLOSE,
    lsp.NOTEBOOK_DOCUMENT_DID_OPEN,
    lsp.NOTEBOOK_DOCUMENT_DID_CHANGE,
    lsp.NOTEBOOK_DOCUMENT_DID_CLOSE,
    lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
)
"""Methods that pygls would handle by itself: its text sync splits lines at form feeds, which LSP does not."""

_WITHOUT_PARAMS = frozenset({lsp.SHUTDOWN, lsp.EXIT})
_METHOD_SHOWN = 100
RESTARTED = (
    "Remit's server was started again and knows nothing of this editor: restart the language server in the editor"
)


class Life(Protocol):
    """Receives the events of the connection's life."""

    def connect(self, client: Client, roots: Collection[Root], process_id: int | None) -> None:
        """Is called with the client and its workspace folders when the client has sent `initialize`."""
        ...

    def warm_up(self) -> None:
        """Is called when the client is ready: slow imports may start."""
        ...

    def cancel_progress(self, token: lsp.ProgressToken) -> None:
        """Is called when the person has cancelled the progress of this token."""
        ...

    async def close(self) -> None:
        """Is called when no further request follows."""
        ...

    def end(self, code: int) -> None:
        """Is called when the process has to exit with this code."""
        ...


class RemitProtocol(LanguageServerProtocol):
    """The protocol of one connection."""

    def __init__(self, server: LanguageServer, converter: cattrs.Converter) -> None:
        super().__init__(server, converter)
        self.phase = Phase.NEW
        self._told_of_restart = False
        self._running: dict[MessageId, asyncio.Future[Any]] = {}
        self._notified: set[asyncio.Future[Any]] = set()
        self._closing: asyncio.Task[Any] | None = None
        self._table = cast("Any", self.fm)  # pygls leaves its tables untyped
        for method in _OURS_ALONE:
            self._table.builtin_features.pop(method, None)

    @property
    def _life(self) -> Life:
        return cast("Life", self._server)

    # Incoming messages

    def take(self, frame: Frame) -> None:
        """Handles one frame; the end of input is handled elsewhere."""
        match frame:
            case Message(message):
                try:
                    self.handle_message(message)
                except Exception as error:  # a defect here must still give the client its answer
                    self._refuse_unexpected(_read_id(message), error)
            case Garbage(problem):
                self._refuse(None, JsonRpcParseError(f"cannot parse the message: {problem}"))
            case End():
                pass

    def handle_message(self, message: Json) -> None:
        """Dispatches a JSON value by its kind, or refuses it."""
        if not isinstance(message, dict):
            why = "batches are not part of LSP" if isinstance(message, list) else "a message is a JSON object"
            self._refuse(None, JsonRpcInvalidRequest(f"invalid request: {why}"))
            return
        envelope = cast("dict[str, Json]", message)
        known_id, method = _read_id(envelope), envelope.get("method")
        if envelope.get("jsonrpc") != self.VERSION:
            self._refuse(known_id, JsonRpcInvalidRequest('invalid request: `jsonrpc` is not "2.0"'))
        elif isinstance(method, str) and "id" not in envelope:
            self._take_notification(method, envelope)
        elif isinstance(method, str) and known_id is not None:
            self._take_request(known_id, method, envelope)
        elif "method" not in envelope and known_id is not None and envelope.keys() & {"result", "error"}:
            self._take_response(known_id, envelope)
        else:
            self._refuse(known_id, JsonRpcInvalidRequest("invalid request: `id` or `method` is missing or wrong"))

    def _take_request(self, msg_id: MessageId, method: str, envelope: dict[str, Json]) -> None:
        try:
            self._check_phase(method)
            if msg_id in self._running:
                raise JsonRpcInvalidRequest("invalid request: a request with this id is still running")
            handler = self._handler(method)
            params = self._params(method, envelope)
        except JsonRpcException as refusal:
            self._refuse(msg_id, refusal)
            return

        if method == lsp.SHUTDOWN:
            self.phase = Phase.SHUT_DOWN  # before the handler runs, because an `exit` may follow at once

        def answer(future: Future[Any] | asyncio.Future[Any]) -> None:
            self._running.pop(msg_id, None)
            self._answer(msg_id, future)

        self._start(handler, params, answer, lambda task: self._running.__setitem__(msg_id, task))

    def _take_notification(self, method: str, envelope: dict[str, Json]) -> None:
        if self.phase is not Phase.OPEN and method != lsp.EXIT:
            return
        try:
            handler = self._handler(method)  # first, so that the params of an unknown method are not read
            params = self._params(method, envelope)
        except JsonRpcMethodNotFound:
            logger.debug("a notification of an unknown method was ignored")
            return
        except JsonRpcException as refusal:
            logger.warning("a malformed notification was ignored: %s", refusal.message)
            return

        def report(future: Future[Any] | asyncio.Future[Any]) -> None:
            self._notified.discard(cast("asyncio.Future[Any]", future))
            if not future.cancelled() and (error := future.exception()) is not None:
                logger.error("a notification could not be handled", exc_info=error)

        self._start(handler, params, report, self._notified.add)

    def _take_response(self, msg_id: MessageId, envelope: dict[str, Json]) -> None:
        future = self._request_futures.pop(msg_id, None)
        expected = self._result_types.pop(msg_id, None)
        if future is None or not future.set_running_or_notify_cancel():
            logger.debug("an answer to no open question was ignored")
            return
        try:
            if "error" in envelope:
                error = self._converter.structure(envelope["error"], lsp.ResponseError)
                future.set_exception(JsonRpcException.from_error(error))
            else:
                future.set_result(self._member("result", envelope, expected))
        except Exception as problem:  # whatever the error is, the answer is unusable
            future.set_exception(JsonRpcInvalidParams(f"the answer cannot be used: {_describe_problem(problem)}"))

    def _check_phase(self, method: str) -> None:
        if self.phase is Phase.NEW and method != lsp.INITIALIZE:
            self._tell_of_restart()
            raise JsonRpcServerNotInitialized("the server is not initialized: send `initialize` first")
        if self.phase is Phase.OPEN and method == lsp.INITIALIZE:
            raise JsonRpcInvalidRequest("invalid request: the server is already initialized")
        if self.phase is Phase.SHUT_DOWN:
            raise JsonRpcInvalidRequest("invalid request: the server is shutting down")

    def _tell_of_restart(self) -> None:
        """Tells the person once that the bootstrap has restarted the server (CLI-13). The client does not know this and
        sends no new `initialize`, so its requests are refused.
        """
        if self._told_of_restart or not has_bootstrap():
            return
        self._told_of_restart = True
        params = lsp.ShowMessageParams(type=lsp.MessageType.Error, message=RESTARTED)
        self.notify(lsp.WINDOW_SHOW_MESSAGE, params)

    def _handler(self, method: str) -> Handler:
        """Returns a method's handler. Raises JsonRpcMethodNotFound."""
        handler: Handler | None = self._table.builtin_features.get(method) or self._table.features.get(method)
        if handler is None:
            raise JsonRpcMethodNotFound(f"there is no method `{method[:_METHOD_SHOWN]}`")
        return handler

    def _params(self, method: str, envelope: dict[str, Json]) -> Any:
        """Returns the params converted to the method's type, or None if the method takes none or has no known type.

        Raises JsonRpcInvalidParams.
        """
        try:
            if (custom := CUSTOM.get(method)) is not None:
                return custom.read(envelope.get("params"))
            return self._member(
                "params",
                mend_envelope(method, envelope),
                None if method in _WITHOUT_PARAMS else self.get_message_type(method),
            )
        except Exception as problem:
            raise JsonRpcInvalidParams(f"invalid params for `{method}`: {_describe_problem(problem)}") from problem

    def _member(self, name: Literal["params", "result"], envelope: dict[str, Json], message: type[Any] | None) -> Any:
        """Returns the converted member `name` of a message of the type `message`. Raises WrongParams at the first value
        of the wrong shape, before any conversion, or the error of the converter.
        """
        if message is None:
            return None
        if message not in CUSTOM_RESULTS.values() and (wrong := mismatch(envelope, message, name)) is not None:
            raise WrongParams(str(wrong))
        converted: Any = self._converter.structure(envelope, message)
        return getattr(converted, name, None)

    def _start(
        self,
        handler: Handler,
        params: Any,
        done: Callable[[Any], None],
        keep: Callable[[asyncio.Future[Any]], object],
    ) -> None:
        """Runs a handler: a coroutine function as a new task, any other handler at once, in the order of messages."""
        if inspect.iscoroutinefunction(handler):
            task = asyncio.ensure_future(handler(params))
            keep(task)
            task.add_done_callback(done)
            return
        future: Future[Any] = Future()
        try:
            future.set_result(handler(params))
        except Exception as error:  # `done` reports it
            future.set_exception(error)
        done(future)

    async def cancel_running(self) -> None:
        """Cancels every running handler except the caller and `shutdown`, and waits until all but the caller ended."""
        mine = asyncio.current_task()
        others = [task for task in (*self._running.values(), *self._notified) if task is not mine]
        for task in others:
            if task is not self._closing:
                task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    # Outgoing messages

    async def ask(self, method: str, params: Any, timeout_s: float) -> Any:
        """Sends a request to the client and waits for at most `timeout_s` seconds.

        Raises TimeoutError, ConnectionLost, or JsonRpcException for an error or an unusable answer. If the wait times
        out or is cancelled, the request is cancelled at the client too, so that the client can close its dialog.
        """
        msg_id = str(uuid.uuid4())
        try:
            return await asyncio.wait_for(self.send_request_async(method, params, msg_id), timeout_s)
        except (TimeoutError, asyncio.CancelledError):
            self._tell(lsp.CANCEL_REQUEST, {"id": msg_id})
            raise
        finally:
            self._request_futures.pop(msg_id, None)
            self._result_types.pop(msg_id, None)

    def stream(self, token: lsp.ProgressToken, value: Json) -> None:
        """Sends one `$/progress` value, as plain JSON. Raises ConnectionLost."""
        self._send_data({"jsonrpc": self.VERSION, "method": lsp.PROGRESS, "params": {"token": token, "value": value}})

    def _tell(self, method: str, params: Json) -> None:
        try:
            self._send_data({"jsonrpc": self.VERSION, "method": method, "params": params})
        except ConnectionLost:
            logger.debug("the client is gone")

    def _send_data(self, data: Any) -> None:
        if self.writer is None:
            raise ConnectionLost("there is no client")
        body = json.dumps(data, default=self._serialize_message, separators=(",", ":")).encode()
        self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _refuse(self, msg_id: MessageId | None, refusal: JsonRpcException) -> None:
        logger.info("refused: %s", refusal.message)
        error = {"code": int(refusal.code), "message": refusal.message, "data": refusal.data}
        self._reply(msg_id, {"error": {key: value for key, value in error.items() if value is not None}})

    def _answer(self, msg_id: MessageId, future: Future[Any] | asyncio.Future[Any]) -> None:
        if future.cancelled():
            self._refuse(msg_id, JsonRpcRequestCancelled("the request was cancelled"))
        elif isinstance(error := future.exception(), ConnectionLost):
            logger.debug("the client is gone")
        elif error is not None:
            self._refuse_unexpected(msg_id, error)
        else:
            self._reply(msg_id, {"result": future.result()})

    def _refuse_unexpected(self, msg_id: MessageId | None, error: BaseException) -> None:
        from remit_server.transports.lsp.rpc.custom_methods import from_unexpected

        self._refuse(msg_id, from_unexpected(error))

    def _reply(self, msg_id: MessageId | None, outcome: dict[str, Any]) -> None:
        try:
            self._send_data({"jsonrpc": self.VERSION, "id": msg_id, **outcome})
        except ConnectionLost:
            logger.debug("the client is gone")

    # The life of the connection

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        """Returns the class of the client's answer to a standard or custom method, or None for an unknown method."""
        return CUSTOM_RESULTS.get(method) or super().get_result_type(method)

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> lsp.InitializeResult:  # type: ignore[override]
        """Returns the server's capabilities. Nothing slow has been imported before this."""
        client = describe_client(params)
        if params.capabilities.general is not None:
            params.capabilities.general.position_encodings = None  # otherwise pygls would choose the first one
        result = _finish(super().lsp_initialize(params))
        result.capabilities.position_encoding = client.encoding
        if result.capabilities.execute_command_provider is not None:
            result.capabilities.execute_command_provider.work_done_progress = True
        result.capabilities.experimental = {"remit": {"protocol": PROTOCOL, "methods": sorted(CUSTOM)}}
        if client.reads_virtual_documents and result.capabilities.workspace is not None:
            contents = lsp.TextDocumentContentOptions(schemes=list(SCHEMES))
            result.capabilities.workspace.text_document_content = contents
        if not client.takes_code_actions:  # LSP allows an object of options only for a client that takes them
            result.capabilities.code_action_provider = True
        if not announces_completion(client, os.environ):
            result.capabilities.inline_completion_provider = None
        self._life.connect(client, workspace_roots(params), params.process_id)
        self.phase = Phase.OPEN
        return result

    @lsp_method(lsp.INITIALIZED)
    def lsp_initialized(self, *_: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Starts the slow imports, because the client has its answer to `initialize`."""
        self._life.warm_up()

    @lsp_method(lsp.SHUTDOWN)
    async def lsp_shutdown(self, *_: Any) -> None:  # type: ignore[override]
        """Cancels running handlers, closes the runtime, and only then answers, because some clients kill the server as
        soon as they have the answer.
        """
        self._closing = asyncio.current_task()
        await self.cancel_running()
        await self._life.close()

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *_: Any) -> None:  # type: ignore[override]
        """Ends the process, with exit code 0 after `shutdown`, else with 1."""
        self._life.end(0 if self.phase is Phase.SHUT_DOWN else 1)

    @lsp_method(lsp.CANCEL_REQUEST)
    def lsp_cancel_request(self, params: lsp.CancelParams) -> None:
        """Cancels a running request. Any other request has been answered already."""
        task = self._running.get(params.id)
        if task is not None:
            task.cancel()

    @lsp_method(lsp.SET_TRACE)
    def lsp_set_trace(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        self, params: lsp.SetTraceParams
    ) -> None:
        """Stores the trace level."""
        self.trace = params.value

    @lsp_method(lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, params: lsp.WorkDoneProgressCancelParams
    ) -> None:
        """Handles the person's cancellation of a progress."""
        self._life.cancel_progress(params.token)

    @lsp_method(lsp.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(self, params: lsp.ExecuteCommandParams) -> Any:  # type: ignore[override]
        """Runs a command inside the request's own task, so that cancelling the request cancels the command."""
        command: Handler | None = self._table.commands.get(params.command)
        if command is None:
            raise JsonRpcInvalidParams(f"invalid params: there is no command `{params.command}`")
        return await command(params)


def _finish(steps: Generator[Any, Any, lsp.InitializeResult]) -> lsp.InitializeResult:
    """Returns the result of a pygls handler, a generator that yields only for user handlers, which this server has not
    registered.
    """
    try:
        next(steps)
    except StopIteration as stop:
        return cast("lsp.InitializeResult", stop.value)
    raise AssertionError("a pygls handler yielded")


def _read_id(message: Json) -> MessageId | None:
    """Returns a message's id if it is a string or a whole number, else None."""
    given = cast("dict[str, Json]", message).get("id") if isinstance(message, dict) else None
    return given if isinstance(given, int | str) and not isinstance(given, bool) else None


def _describe_problem(error: Exception) -> str:
    """Describes the problem with a value, without the value itself, which may be a secret."""
    return str(error) if isinstance(error, WrongParams) else "a value has the wrong kind"
