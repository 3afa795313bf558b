"""A small editor without a display: starts `remit serve` and speaks LSP with it, for the demo and tests (LSP-04).

It uses only the standard library, and deliberately not pygls, so that client and server do not share defects.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from remit_server import __version__
from remit_server.contract import ErrorCode
from remit_server.errors import RemitError

Json = dict[str, Any]
Handler = Callable[[Any], Awaitable[Any]]
HEADER_END = b"\r\n\r\n"
STREAM_LIMIT = 64 * 1024 * 1024
OWN_SERVER = (sys.executable, "-P", "-m", "remit_server.cli.main", "serve")
"""This Remit as a server, without modules from the workspace."""


class ServerGone(RemitError):
    """The language server ended, or never started."""

    code = ErrorCode.INTERNAL


class ResponseError(Exception):
    """The server answered a request with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.data = code, message, data


@dataclass(slots=True)
class ClientBuffer:
    """An open document. While it is open, `text` counts and not the file."""

    path: Path
    version: int
    text: str


@dataclass(slots=True)
class Editor:
    """One connection to one server: `start`, `initialize`, and finally `shutdown`."""

    process: asyncio.subprocess.Process
    root: Path
    buffers: dict[str, ClientBuffer] = field(default_factory=dict[str, ClientBuffer])
    streams: dict[str, Callable[[Json], None]] = field(default_factory=dict[str, Callable[[Json], None]])
    handlers: dict[str, Handler] = field(default_factory=dict[str, Handler])
    notifications: list[Json] = field(default_factory=list[Json])
    _pending: dict[int, asyncio.Future[Any]] = field(default_factory=dict[int, "asyncio.Future[Any]"])
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _reader: asyncio.Task[None] | None = None
    _answers: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])

    @staticmethod
    async def start(
        command: Sequence[str],
        root: Path,
        environment: Mapping[str, str] | None = None,
        log: IO[bytes] | None = None,
    ) -> Editor:
        """Starts a server process; its log goes to a file, or this process's stderr."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            cwd=root,
            env=environment,
            limit=STREAM_LIMIT,
        )
        editor = Editor(process, root)
        editor.handlers["workspace/applyEdit"] = editor._apply_edit
        editor._reader = asyncio.create_task(editor._read())
        return editor

    async def initialize(self, options: Json | None = None) -> Json:
        """Performs the handshake. Returns the server's capabilities."""
        result: Json = await self.request(
            "initialize",
            {
                "processId": None,
                "clientInfo": {"name": "remit-demo-editor", "version": __version__},
                "rootUri": self.root.as_uri(),
                "workspaceFolders": [{"uri": self.root.as_uri(), "name": self.root.name}],
                "capabilities": {
                    "workspace": {
                        "applyEdit": True,
                        "workspaceEdit": {"documentChanges": True},
                        "executeCommand": {},
                    },
                    "textDocument": {"synchronization": {"didSave": True}},
                },
                "initializationOptions": {"remit": options or {"approvals": "stream"}},
            },
        )
        self.notify("initialized", {})
        return result

    def open(self, relative: str) -> ClientBuffer:
        """Opens a file of the workspace in a buffer."""
        path = self.root / relative
        buffer = ClientBuffer(path, 1, path.read_bytes().decode("utf-8"))
        self.buffers[path.as_uri()] = buffer
        document = {"uri": path.as_uri(), "languageId": "plaintext", "version": 1, "text": buffer.text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return buffer

    def save(self, buffer: ClientBuffer) -> None:
        """Writes a buffer to disk, as when a person saves."""
        buffer.path.write_bytes(buffer.text.encode("utf-8"))
        self.notify("textDocument/didSave", {"textDocument": {"uri": buffer.path.as_uri()}})

    async def request(self, method: str, params: Any) -> Any:
        """Sends a request and awaits its result. Raises ResponseError, or ServerGone."""
        number = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return await answer
        except asyncio.CancelledError:
            self.notify("$/cancelRequest", {"id": number})
            raise
        finally:
            self._pending.pop(number, None)

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def run(self, request: Json, on_event: Callable[[Json], None]) -> Json:
        """Sends `remit/run`; `on_event` receives the streamed events. Returns the RunResult."""
        token = f"run-{next(self._ids)}"
        self.streams[token] = on_event
        try:
            result: Json = await self.request("remit/run", {**request, "partialResultToken": token})
            return result
        finally:
            del self.streams[token]

    async def shutdown(self) -> int:
        """Shuts the server down in order. Returns its exit code."""
        with contextlib.suppress(ServerGone, ResponseError, TimeoutError):
            await asyncio.wait_for(self.request("shutdown", None), 10)
            self.notify("exit", None)
        try:
            code = await asyncio.wait_for(self.process.wait(), 10)
        except TimeoutError:
            self.process.kill()
            code = await self.process.wait()
        if self._reader is not None:
            await self._reader
        return code

    def _send(self, message: Json) -> None:
        body = json.dumps(message, ensure_ascii=False).encode("utf-8")
        if self.process.stdin is None or self.process.stdin.is_closing():
            raise gone()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _read(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        try:
            while True:
                header = await stdout.readuntil(HEADER_END)
                length = next(
                    int(line.split(b":")[1])
                    for line in header.split(b"\r\n")
                    if line.lower().startswith(b"content-length:")
                )
                self._take(json.loads(await stdout.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            for future in self._pending.values():
                if not future.done():
                    future.set_exception(gone())

    def _take(self, message: Json) -> None:
        if "method" not in message:
            future = self._pending.get(message["id"])
            if future is None or future.done():
                return
            if error := message.get("error"):
                future.set_exception(ResponseError(error["code"], error["message"], error.get("data")))
            else:
                future.set_result(message.get("result"))
        elif "id" in message:
            task = asyncio.create_task(self._answer(message))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)
        elif message["method"] == "$/progress" and message["params"]["token"] in self.streams:
            self.streams[message["params"]["token"]](message["params"]["value"])
        else:
            self.notifications.append(message)

    async def _answer(self, message: Json) -> None:
        handler = self.handlers.get(message["method"])
        answer: Json = {"jsonrpc": "2.0", "id": message["id"]}
        if handler is None:
            answer["error"] = {"code": -32601, "message": f"no handler for {message['method']}"}
        else:
            answer["result"] = await handler(message.get("params"))
        with contextlib.suppress(ServerGone):
            self._send(answer)

    async def _apply_edit(self, params: Json) -> Json:
        """Applies an edit to open buffers if the versions match, and returns the response."""
        for change in params["edit"].get("documentChanges", []):
            document = change["textDocument"]
            buffer = self.buffers.get(document["uri"])
            if buffer is None or document.get("version") not in (None, buffer.version):
                return {"applied": False, "failureReason": "the document is not open at that version"}
            buffer.text = apply_edits(buffer.text, change["edits"])
            buffer.version += 1
            self.notify(
                "textDocument/didChange",
                {
                    "textDocument": {"uri": document["uri"], "version": buffer.version},
                    "contentChanges": [{"text": buffer.text}],
                },
            )
        return {"applied": True}


def apply_edits(text: str, edits: Sequence[Json]) -> str:
    """Returns the text with LSP edits applied (zero-based, UTF-16 characters), the last one first."""
    for edit in sorted(edits, key=lambda e: _key(e["range"]["start"]), reverse=True):
        start, end = (offset_of(text, edit["range"][end]) for end in ("start", "end"))
        text = text[:start] + edit["newText"] + text[end:]
    return text


def offset_of(text: str, position: Json) -> int:
    """Returns an LSP position's index in `text`; a character past the line's end means its end."""
    number: int = position["line"]
    lines = text.splitlines(keepends=True)
    if number >= len(lines):
        return len(text)
    before = lines[number].encode("utf-16-le")[: 2 * position["character"]].decode("utf-16-le", "ignore")
    return sum(map(len, lines[:number])) + len(before)


def gone() -> ServerGone:
    """Returns the error for a server that has ended."""
    return ServerGone("the language server is gone", "its process ended", "see its log and start it again")


def _key(position: Json) -> tuple[int, int]:
    return position["line"], position["character"]
