"""A raw LSP client for tests of the language server: it shares no code with pygls, and can misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from forked_servers import ForkedProcess, Servers

STAND_IN = Path(__file__).with_name("stand_in.py")
PATIENCE_S = 60
NO_ANSWER = object()


class RawClient:
    """One server process, spoken to byte by byte. `handlers` answer the server's requests; NO_ANSWER stays silent."""

    def __init__(self, process: asyncio.subprocess.Process | ForkedProcess, root: Path) -> None:
        self.process, self.root = process, root
        self.handlers: dict[str, Callable[[Any], Any]] = {}
        self.notifications: list[dict[str, Any]] = []
        self.orphans: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self._pending: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._ids = count(1)
        self._changed = asyncio.Condition()
        self._reading: asyncio.Task[None] | None = asyncio.create_task(self._read())

    # sending

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method: str, params: Any = None, msg_id: Any = None) -> tuple[Any, asyncio.Future[dict[str, Any]]]:
        msg_id = next(self._ids) if msg_id is None else msg_id
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[msg_id] = future
        self.send({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        return msg_id, future

    async def reply(self, method: str, params: Any = None) -> dict[str, Any]:
        """Returns the whole answer to a request: a result or an error."""
        return await asyncio.wait_for(self.start(method, params)[1], PATIENCE_S)

    async def result(self, method: str, params: Any = None) -> Any:
        answer = await self.reply(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    async def error(self, method: str, params: Any = None) -> dict[str, Any]:
        answer = await self.reply(method, params)
        assert "result" not in answer, answer
        return answer["error"]

    # the usual

    async def initialize(self, capabilities: Any = None, remit: Any = None, **extra: Any) -> dict[str, Any]:
        params = {
            "processId": None,
            "rootUri": self.root.as_uri(),
            "capabilities": capabilities or {},
            "initializationOptions": {"remit": remit} if remit is not None else None,
            **extra,
        }
        result = await self.result("initialize", params)
        self.notify("initialized", {})
        return result

    def open(self, relative: str, text: str, version: int = 1) -> str:
        uri = (self.root / relative).as_uri()
        document = {"uri": uri, "languageId": "x", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def change(self, uri: str, version: int, *changes: dict[str, Any]) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def run(self, text: str, token: Any = None, turn: str = "t1", **extra: Any) -> tuple[Any, asyncio.Future[Any]]:
        request = {"session_id": "s1", "turn_id": turn, "input": {"type": "text", "text": text}, **extra}
        return self.start("remit/run", {**request, **({"partialResultToken": token} if token else {})})

    def events(self, token: Any) -> list[dict[str, Any]]:
        progress = (n["params"] for n in self.notifications if n["method"] == "$/progress")
        return [p["value"] for p in progress if p["token"] == token]

    async def until(self, condition: Callable[[], Any]) -> Any:
        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(condition), PATIENCE_S)
        return condition()

    async def shutdown(self) -> int:
        await self.result("shutdown")
        self.notify("exit", None)
        return await self.wait()

    async def wait(self) -> int:
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)

    # receiving

    def stop_reading(self) -> None:
        assert self._reading is not None
        self._reading.cancel()
        self._reading = None

    async def close(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        assert self.process.stdin is not None
        self.process.stdin.close()
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)
        else:
            self.process.stdout._transport.close()  # a pipe nobody reads stays open
        await self.process.wait()
        await asyncio.sleep(0)

    async def _read(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        while header := await stdout.readline():
            name, _, length = header.partition(b":")
            assert name == b"Content-Length", f"stdout carries something else: {header!r}"
            assert await stdout.readline() == b"\r\n"
            await self._take(json.loads(await stdout.readexactly(int(length))))
        async with self._changed:
            self._changed.notify_all()

    async def _take(self, message: dict[str, Any]) -> None:
        assert message["jsonrpc"] == "2.0"
        if "method" not in message:
            future = self._pending.pop(message.get("id"), None)
            self.orphans.append(message) if future is None else future.set_result(message)
        elif "id" in message:
            self.asked.append(message)
            handler = self.handlers.get(message["method"])
            if handler is None:
                error = {"code": -32601, "message": "no such method"}
                self.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            elif (result := handler(message.get("params"))) is not NO_ANSWER:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        else:
            self.notifications.append(message)
        async with self._changed:
            self._changed.notify_all()


Start = Callable[..., Any]


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The process that forks servers."""
    with Servers() as servers:
        yield servers


@pytest_asyncio.fixture(loop_scope="module")
async def start(tmp_path: Path, servers: Servers) -> AsyncIterator[Start]:
    """Starts servers on the stand-in runtime; what still runs after the test is killed."""
    clients: list[RawClient] = []
    root = tmp_path / "work"
    root.mkdir()

    async def start_server(**environment: str) -> RawClient:
        everything = {**os.environ, "STAND_IN_LOG": str(tmp_path / "log"), **environment}
        process = await servers.start(everything, limit=2**26, script=STAND_IN)
        clients.append(RawClient(process, root))
        return clients[-1]

    yield start_server
    for client in clients:
        await client.close()


@pytest_asyncio.fixture(loop_scope="module")
async def start_real(tmp_path: Path, servers: Servers) -> AsyncIterator[Start]:
    """Starts `remit serve` itself; the person's files are in `config`, and the model is a script that says nothing."""
    clients: list[RawClient] = []
    root = tmp_path / "work"
    root.mkdir()
    (tmp_path / "script.json").write_text("[]")
    homes = {f"REMIT_{name.upper()}_DIR": str(tmp_path / name) for name in ("config", "state", "data")}

    async def start_server(**environment: str) -> RawClient:
        model = {"REMIT_MODEL": f"script:{tmp_path / 'script.json'}"}
        process = await servers.start({**os.environ, **homes, **model, **environment}, limit=2**26)
        clients.append(RawClient(process, root))
        return clients[-1]

    yield start_server
    for client in clients:
        await client.close()


@pytest_asyncio.fixture(loop_scope="module")
async def start_tcp() -> AsyncIterator[Start]:
    """Starts a server on a loopback port; answers the port and the process."""
    started: list[asyncio.subprocess.Process] = []

    async def start_server() -> tuple[int, asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(STAND_IN), "127.0.0.1:0", stderr=asyncio.subprocess.PIPE
        )
        started.append(process)
        assert process.stderr is not None
        line = await asyncio.wait_for(process.stderr.readline(), PATIENCE_S)
        return int(line.rpartition(b":")[2]), process

    yield start_server
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    """One server for tests that leave it as they found it."""
    root = tmp_path_factory.mktemp("work")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(STAND_IN),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**26,
    )
    client = RawClient(process, root)
    await client.initialize()
    yield client
    assert await client.shutdown() == 0
    await client.close()


@pytest.fixture
def runtime_log(tmp_path: Path) -> Callable[[], list[str]]:
    """Returns a function that returns the lines that the stand-in runtime has noted so far."""
    return lambda: (tmp_path / "log").read_text().split("\n")[:-1] if (tmp_path / "log").exists() else []


@pytest.fixture
def no_answer() -> object:
    """What a client's handler returns to stay silent."""
    return NO_ANSWER
