"""The doors: the ways by which clients run turns, each spoken as raw bytes to a real process. A door sends what one
client sends, and keeps all that the client is sent.

A door uses none of the project's types: it reads and writes JSON as its protocol has it.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import websockets.exceptions
import websockets.sync.client
from command_line import begin
from queue_broker import Delivered, NatsServer, RawNats, allowed, digest_of, kept, subject_token, wait_for_queue

PATIENCE_S = 60.0
Json = Any


class Door:
    """One connected client. `events` returns all events of a turn that came, `answer` the message that ended a
    request."""

    arguments: tuple[str, ...]
    resumes = False
    names_questions = True
    """Whether an answer names its question and digest, so that a test can name a wrong one."""
    tells_of_cancelled = True
    """Whether the client still gets events of a turn that was cancelled."""

    def __init__(self, workspace: Path, environment: Mapping[str, str], *options: str) -> None:
        self.process = begin((*self.arguments, *options), workspace, {**os.environ, **environment})
        self.workspace, self.environment = workspace, environment
        self.received: list[Json] = []
        self.ended = False
        self.connections: list[http.client.HTTPConnection] = []
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._reading = threading.Event()
        self._reading.set()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        try:
            self.connect()
        except BaseException:
            self.process.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()
        self.process.kill()
        self.process.wait()
        self._reading.set()
        self._thread.join(PATIENCE_S)
        for connection in self.connections:
            connection.close()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError, ValueError):
                stream.close()

    # What each door does in its own way.

    def connect(self) -> None:
        """Connects, if the protocol has a handshake or a connection of its own."""

    def disconnect(self) -> None:
        """Disconnects, if the protocol has a connection of its own."""

    def frame(self, message: Json) -> bytes:
        """Returns a message as bytes."""
        raise NotImplementedError

    def messages(self) -> Iterator[Json]:
        """Yields the messages that come, until the end."""
        raise NotImplementedError

    def run(self, request: Json) -> str:
        """Starts a turn; returns the name of the request."""
        raise NotImplementedError

    def events(self, name: str) -> list[Json]:
        """Returns the events that came for a request."""
        raise NotImplementedError

    def answer(self, name: str) -> Json | None:
        """Returns `{"result": …}` or `{"error": …}` once a request has ended."""
        raise NotImplementedError

    def approve(self, question: Json, decision: str = "allow", **more: Json) -> Json:
        """Answers a question; returns the receipt."""
        raise NotImplementedError

    def cancel(self, name: str, request: Json) -> None:
        """Ends a turn."""
        raise NotImplementedError

    # What all of them share.

    def send(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(self.frame(message))
        self.process.stdin.flush()

    def name(self) -> str:
        return f"r{next(self._numbers)}"

    def until(self, found: Callable[[], Any]) -> Any:
        """Waits until `found` returns something true, and returns it. Fails if no message comes for `PATIENCE_S`
        seconds."""
        with self._changed:
            while not (value := found()):
                assert not self.ended, f"the process ended: {self.received[-3:]}"
                assert self._changed.wait(PATIENCE_S), f"waited: {self.received[-3:]}"
        return value

    def kinds(self, name: str) -> list[str]:
        return [event["kind"] for event in self.events(name)]

    def question(self, name: str) -> Json:
        """Returns the first question of a turn, once it is asked."""
        (asked, *_) = self.until(lambda: [e for e in self.events(name) if e["kind"] == "approval_required"])
        return asked

    def result(self, name: str) -> Json:
        return self.until(lambda: self.answer(name))["result"]

    def pause_reading(self) -> None:
        self._reading.clear()

    def go_on_reading(self) -> None:
        self._reading.set()

    def leave(self) -> None:
        """Goes away as a killed client does: closes both pipes. Stops the reading thread first, because it would hold
        the pipe."""
        self.pause_reading()
        seen = len(self.received)
        self.run(request("leaving", session="leaving"))
        self.until(lambda: len(self.received) > seen)
        for stream in (self.process.stdout, self.process.stdin):
            assert stream is not None
            stream.close()

    def _until_left(self) -> Iterator[Json]:
        with contextlib.suppress(ValueError):  # the pipe was closed here
            yield from self.messages()

    def _read(self) -> None:
        try:
            for message in self._until_left():
                with self._changed:
                    self.received.append(message)
                    self._changed.notify_all()
                self._reading.wait()
        finally:
            with self._changed:
                self.ended = True
                self._changed.notify_all()


class StdioDoor(Door):
    """`remit stdio`: each message is a line."""

    arguments = ("stdio",)
    resumes = True

    def frame(self, message: Json) -> bytes:
        return json.dumps(message).encode() + b"\n"

    def messages(self) -> Iterator[Json]:
        assert self.process.stdout is not None
        yield from map(json.loads, self.process.stdout)

    def _ask(self, **message: Json) -> str:
        name = self.name()
        self.send({"id": name, **message})
        return name

    def _to(self, name: str) -> list[Json]:
        return [each for each in self.received if each.get("id") == name]

    def run(self, request: Json) -> str:
        return self._ask(run=request)

    def resume(self, request: Json, after: int) -> str:
        return self._ask(resume={"session_id": request["session_id"], "turn_id": request["turn_id"], "after": after})

    def events(self, name: str) -> list[Json]:
        return [each["event"] for each in self._to(name) if "event" in each]

    def answer(self, name: str) -> Json | None:
        return next((each for each in self._to(name) if "event" not in each), None)

    def approve(self, question: Json, decision: str = "allow", **more: Json) -> Json:
        given = {"approval_id": question["approval_id"], "decision": decision, "digest": question["digest"], **more}
        name = self._ask(approve=given)
        return self.until(lambda: self.answer(name))["receipt"]

    def cancel(self, name: str, request: Json) -> None:
        self._ask(cancel={"session_id": request["session_id"], "turn_id": request["turn_id"]})


class LspDoor(Door):
    """`remit serve`: JSON-RPC with Content-Length headers."""

    arguments = ("serve",)

    def connect(self) -> None:
        folder = {"uri": self.workspace.as_uri(), "name": "shop"}
        options = {"remit": {"approvals": "stream"}}
        given = {"processId": None, "rootUri": folder["uri"], "capabilities": {}, "workspaceFolders": [folder]}
        name = self._ask("initialize", {**given, "initializationOptions": options})
        self.until(lambda: self.answer(name))
        self.send({"method": "initialized", "params": {}})

    def frame(self, message: Json) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def messages(self) -> Iterator[Json]:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            length = int(line.split(b":")[1])
            while self.process.stdout.readline().strip():
                pass
            yield json.loads(self.process.stdout.read(length))

    def _ask(self, method: str, params: Json, name: str | None = None) -> str:
        name = self.name() if name is None else name
        self.send({"id": name, "method": method, "params": params})
        return name

    def run(self, request: Json) -> str:
        name = self.name()
        return self._ask("remit/run", {**request, "partialResultToken": name}, name)

    def events(self, name: str) -> list[Json]:
        sent = (each["params"] for each in self.received if each.get("method") == "$/progress")
        return [params["value"] for params in sent if params["token"] == name]

    def answer(self, name: str) -> Json | None:
        found = (each for each in self.received if each.get("id") == name and "method" not in each)
        return next(found, None)

    def approve(self, question: Json, decision: str = "allow", **more: Json) -> Json:
        given = {"approval_id": question["approval_id"], "decision": decision, "digest": question["digest"], **more}
        name = self._ask("remit/approval/respond", given)
        return self.until(lambda: self.answer(name))["result"]

    def cancel(self, name: str, request: Json) -> None:
        self.send({"method": "$/cancelRequest", "params": {"id": name}})


class AcpDoor(Door):
    """`remit acp`: JSON-RPC, each message a line. The client asks for events with their numbers; questions come as
    requests."""

    arguments = ("acp",)
    names_questions = False
    SESSIONS: tuple[str, ...] = ("s", "last", "leaving")
    """The sessions that are begun in advance, because a client that pauses reading cannot begin one."""
    reads, writes_too = False, False
    """Whether the client lets its files be read, and written."""

    def connect(self) -> None:
        files = {"readTextFile": self.reads, "writeTextFile": self.writes_too}
        able = {"fs": files, "_meta": {"remit": {"events": True}}}
        self.told("initialize", {"protocolVersion": 1, "clientCapabilities": able})
        self.sessions: dict[str, str] = {}
        for each in self.SESSIONS:
            self.begin(each)
        self.turns: dict[str, tuple[str, str]] = {}

    def frame(self, message: Json) -> bytes:
        return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"

    def messages(self) -> Iterator[Json]:
        assert self.process.stdout is not None
        yield from map(json.loads, self.process.stdout)

    def ask(self, method: str, params: Json) -> str:
        name = self.name()
        self.send({"id": name, "method": method, "params": params})
        return name

    def told(self, method: str, params: Json) -> Json:
        """Sends a request and returns its answer."""
        name = self.ask(method, params)
        return self.until(lambda: self._answer(name))

    def begin(self, session: str) -> str:
        """Begins a session; the agent chooses its id."""
        asked = {"cwd": str(self.workspace), "mcpServers": []}
        self.sessions[session] = self.told("session/new", asked)["result"]["sessionId"]
        return self.sessions[session]

    def updates(self, session: str) -> list[Json]:
        """Returns the updates of a session, which is named by the door's own name for it."""
        sent = (each["params"] for each in self.received if each.get("method") == "session/update")
        return [params["update"] for params in sent if params["sessionId"] == self.sessions[session]]

    def _answer(self, name: str) -> Json | None:
        return next((each for each in self.received if each.get("id") == name and "method" not in each), None)

    def run(self, request: Json) -> str:
        session, turn = request["session_id"], request["turn_id"]
        block = {"type": "text", "text": request["input"]["text"]}
        known = self.sessions.get(session) or self.begin(session)
        asked = {"sessionId": known, "prompt": [block], "_meta": {"remit": {"turn_id": turn}}}
        name = self.ask("session/prompt", asked)
        self.turns[name] = (known, turn)
        return name

    def events(self, name: str) -> list[Json]:
        """Returns the events of a turn, put together from its updates, its questions, and the answer to its prompt."""
        session, turn = self.turns[name]
        found: dict[int, Json] = {}
        for each in self.received:
            params = each.get("params", {})
            own = params.get("_meta", {}).get("remit") if params.get("sessionId") == session else None
            if own is not None and own["turn_id"] == turn:
                text = params.get("update", {}).get("content", {})
                more = {"text": text["text"]} if own["kind"] == "token_delta" else {}
                found.setdefault(own["seq"], {**own, **more, "request": each.get("id")})
        ended = self._answer(name)
        if ended is not None and "result" in ended:
            own = ended["result"]["_meta"]["remit"]
            found[own["seq"]] = {"kind": "run_completed", **own}
        return [found[number] for number in sorted(found)]

    def answer(self, name: str) -> Json | None:
        ended = self._answer(name)
        return ended and ({"result": ended["result"]["_meta"]["remit"]["result"]} if "result" in ended else ended)

    def approve(self, question: Json, decision: str = "allow", **more: Json) -> Json:
        del more
        self.send({"id": question["request"], "result": {"outcome": {"outcome": "selected", "optionId": decision}}})
        return {"accepted": True}

    def cancel(self, name: str, request: Json) -> None:
        self.send({"method": "session/cancel", "params": {"sessionId": self.turns[name][0]}})


class HttpDoor(Door):
    """`remit http`: one request for each turn, whose events come as server-sent events."""

    arguments = ("http", "--port", "0")
    resumes = True

    def connect(self) -> None:
        self.streams: dict[str, list[Json]] = {}
        self.host, self.token = address_of(self)

    def messages(self) -> Iterator[Json]:
        return printed(self)

    def call(self, method: str, path: str, body: Json = None, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE_S)
        self.connections.append(connection)
        sent = {"Authorization": f"Bearer {self.token}", **headers}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        return connection.getresponse()

    def _stream(self, name: str, answer: http.client.HTTPResponse) -> None:
        if answer.status != 200:
            self._take(name, json.loads(answer.read()))
            return
        fields: dict[str, str] = {}
        for raw in answer:
            self._reading.wait()
            if line := raw.decode().rstrip("\r\n"):
                key, _, value = line.partition(":")
                fields[key] = value.removeprefix(" ")
            elif "data" in fields:
                data, kind = json.loads(fields["data"]), fields["event"]
                self._take(
                    name, {"result": data} if kind == "result" else {"error": data} if kind == "refused" else data
                )
                fields = {}

    def _take(self, name: str, message: Json) -> None:
        with self._changed:
            self.streams[name].append(message)
            self._changed.notify_all()

    def _begin(self, *request: Json) -> str:
        name = self.name()
        self.streams[name] = []

        def work() -> None:
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException, AttributeError):  # closed here
                self._stream(name, self.call(*request))

        threading.Thread(target=work, daemon=True).start()
        return name

    def run(self, request: Json) -> str:
        return self._begin("POST", "/v1/runs", request)

    def resume(self, request: Json, after: int) -> str:
        return self._begin("GET", f"/v1/runs/{request['session_id']}/{request['turn_id']}/events?after={after}")

    def events(self, name: str) -> list[Json]:
        return [each for each in self.streams[name] if "seq" in each]

    def answer(self, name: str) -> Json | None:
        return next((each for each in self.streams[name] if "seq" not in each), None)

    def approve(self, question: Json, decision: str = "allow", **more: Json) -> Json:
        given = {"decision": decision, "digest": question["digest"], **more}
        return json.loads(self.call("POST", f"/v1/approvals/{question['approval_id']}", given).read())

    def cancel(self, name: str, request: Json) -> None:
        self.call("DELETE", f"/v1/runs/{request['session_id']}/{request['turn_id']}").read()

    def leave(self) -> None:
        """Goes away in the middle of an answer, then ends the server, which would wait for the next client."""
        for connection in self.connections:
            connection.close()
        self.process.terminate()


class WebSocketDoor(StdioDoor):
    """`remit http`: the messages of `remit stdio` over a WebSocket."""

    arguments = ("http", "--port", "0")

    def connect(self) -> None:
        host, token = address_of(self)
        headers = {"Authorization": f"Bearer {token}"}
        self._open = contextlib.ExitStack()
        connecting = websockets.sync.client.connect(
            f"ws://{host}/v1/ws", additional_headers=headers, max_size=None, proxy=None
        )
        self.socket = self._open.enter_context(connecting)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def disconnect(self) -> None:
        self._reading.set()
        self._open.close()
        self._listener.join(PATIENCE_S)

    def messages(self) -> Iterator[Json]:
        return printed(self)

    def _listen(self) -> None:
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            for text in self.socket:
                self._reading.wait()
                with self._changed:
                    self.received.append(json.loads(text))
                    self._changed.notify_all()

    def _to(self, name: str) -> list[Json]:
        return [each for each in self.received if isinstance(each, dict) and each.get("id") == name]

    def send(self, message: Json) -> None:
        self.socket.send(json.dumps(message))

    def leave(self) -> None:
        """Goes away, then ends the server, which would wait for the next client."""
        self.socket.close()
        self.process.terminate()


class McpDoor(StdioDoor):
    """`remit mcp --turns`: `run_turn` as a tool, its events as progress, questions as forms that the client gets."""

    arguments = ("mcp", "--turns")
    resumes = False
    names_questions = False
    tells_of_cancelled = False
    forms: ClassVar[Json] = {"elicitation": {"form": {}}}

    def connect(self) -> None:
        self.begun_by: dict[str, str] = {}
        info = {"name": "door", "version": "1"}
        given = {"protocolVersion": "2025-11-25", "capabilities": self.forms, "clientInfo": info}
        name = self.ask("initialize", given)
        self.until(lambda: self.answer(name))
        self.send({"method": "notifications/initialized"})

    def frame(self, message: Json) -> bytes:
        return super().frame({"jsonrpc": "2.0", **message})

    def ask(self, method: str, params: Json) -> str:
        name = self.name()
        self.send({"id": name, "method": method, "params": params})
        return name

    def call(self, tool: str, arguments: Json, **more: Json) -> str:
        return self.ask("tools/call", {"name": tool, "arguments": arguments, **more})

    def said(self, name: str) -> Json:
        """Returns the response to a request as it was sent."""
        return self.until(lambda: next(iter(self._responses(name)), None))

    def run(self, request: Json) -> str:
        text, session = request["input"]["text"], request["session_id"]
        token = self.name()
        arguments = {"prompt": text, "conversation": session, "turn": request["turn_id"]}
        self.begun_by[token] = self.call("run_turn", arguments, _meta={"progressToken": token})
        return token

    def _responses(self, name: str) -> list[Json]:
        return [each for each in self.received if each.get("id") == name and "method" not in each]

    def events(self, name: str) -> list[Json]:
        sent = (each["params"] for each in self.received if each.get("method") == "notifications/progress")
        return [params["_meta"]["remit/event"] for params in sent if params["progressToken"] == name]

    def answer(self, name: str) -> Json | None:
        for each in self._responses(self.begun_by.get(name, name)):
            result = each.get("result", {})
            return {"result": result["structuredContent"]} if "structuredContent" in result else {"error": each}
        return None

    def approve(self, question: Json, decision: str = "allow", **more: Json) -> Json:
        """Answers the form of a question. MCP has no receipts, so the turn's event about the answer serves as one."""
        form = self.until(lambda: self.form(question["digest"]))
        content = {"answer": "Allow once" if decision == "allow" else "Deny", **more}
        self.send({"id": form["id"], "result": {"action": "accept", "content": content}})
        return self.receipt(question, decision)

    def form(self, digest: str) -> Json | None:
        """Returns the request that asks this question."""
        asked = (each for each in self.received if each.get("method") == "elicitation/create")
        return next((each for each in asked if digest in each["params"]["message"]), None)

    def receipt(self, question: Json, decision: str) -> Json:
        """Waits for the turn's event about an answer."""
        wanted = ("approval_resolved", question["approval_id"], decision)

        def found() -> bool:
            told = (event for name in self.begun_by for event in self.events(name))
            return any((e["kind"], e.get("approval_id"), e.get("decision")) == wanted for e in told)

        return {"accepted": self.until(found)}

    def cancel(self, name: str, request: Json) -> None:
        self.send({"method": "notifications/cancelled", "params": {"requestId": self.begun_by[name]}})


class ModernMcpDoor(McpDoor):
    """The same by the protocol of 2026-07-28: without a handshake, and with a question as the answer to a call, which
    the client sends again with the person's answer."""

    def connect(self) -> None:
        self.begun_by = {}
        self.asked: dict[str, Json] = {}
        assert "supportedVersions" in self.said(self.ask("server/discover", {}))["result"]

    def ask(self, method: str, params: Json) -> str:
        key = "io.modelcontextprotocol/"
        meta = {
            f"{key}protocolVersion": "2026-07-28",
            f"{key}clientCapabilities": self.forms,
            **params.get("_meta", {}),
        }
        name = super().ask(method, {**params, "_meta": meta})
        self.asked[name] = params
        return name

    def approve(self, question: Json, decision: str = "allow", **more: Json) -> Json:
        (token, result) = self.until(lambda: self.form(question["digest"]))
        content = {"answer": "Allow once" if decision == "allow" else "Deny", **more}
        given = {question["approval_id"]: {"action": "accept", "content": content}}
        again = {**self.asked[self.begun_by[token]], "inputResponses": given, "requestState": result["requestState"]}
        self.begun_by[token] = self.ask("tools/call", again)
        return self.receipt(question, decision)

    def form(self, digest: str) -> Json | None:
        """Returns the token of the request whose answer asks this question, and that answer."""
        for token, name in self.begun_by.items():
            for each in self._responses(name):
                if each.get("result", {}).get("resultType") == "input_required" and digest in json.dumps(each):
                    return token, each["result"]
        return None

    def answer(self, name: str) -> Json | None:
        found = super().answer(name)
        waits = found is not None and found.get("error", {}).get("result", {}).get("resultType") == "input_required"
        return None if waits else found


def printed(door: Door) -> Iterator[str]:
    """Returns the lines that a server prints."""
    assert door.process.stdout is not None
    return (line.decode().strip() for line in door.process.stdout)


def address_of(door: Door) -> tuple[str, str]:
    """Returns the host and the token that `remit http` prints."""
    told = door.until(lambda: next((line for line in door.received if isinstance(line, str) and "/#" in line), None))
    address = told.split()[-1]
    return address.split("/")[2], address.partition("#")[2]


class TerminalDoor(Door):
    """`remit ask --json`: one process for each turn, whose events are lines. It asks nobody, and names its turns
    itself."""

    arguments = ("ask", "--json", "--", "go")

    def messages(self) -> Iterator[Json]:
        assert self.process.stdout is not None
        yield from map(json.loads, self.process.stdout)

    def run(self, request: Json) -> str:
        """Returns a name for the turn, which began with the process."""
        return self.name()

    def events(self, name: str) -> list[Json]:
        return self.received

    def answer(self, name: str) -> Json | None:
        return {"result": self.received[-1]["result"]} if self.ended else None

    def cancel(self, name: str, request: Json) -> None:
        self.process.send_signal(signal.SIGINT)

    def leave(self) -> None:
        """Goes away in the middle of the events."""
        self.pause_reading()
        seen = len(self.received)
        self.until(lambda: len(self.received) > seen)
        assert self.process.stdout is not None
        self.process.stdout.close()


class QueueDoor(Door):
    """`remit worker`, through a real broker: the client speaks the broker's own protocol."""

    arguments = ("worker",)
    resumes = True

    def __init__(self, workspace: Path, environment: Mapping[str, str], *options: str) -> None:
        self.streams: dict[str, Followed] = {}
        self.broker = NatsServer(workspace.parent / "broker")
        self.arguments = (*self.arguments, "--queue", self.broker.url, "--turns", "16")
        try:
            super().__init__(workspace, {**environment, **allowed("worker")}, *options)
        except BaseException:
            self.broker.kill()
            raise

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.broker.kill()

    def connect(self) -> None:
        self._woken, self._left = threading.Event(), False
        self.raw, self.reader = RawNats(self.broker.port), RawNats(self.broker.port)
        self.raw.subscribe("remit.ev.>", lambda _: self._woken.set())
        self.raw.subscribe("remit.ask.>", lambda message: self.raw.publish(message.reply, b"{}"))
        self._follower = threading.Thread(target=self._follow, daemon=True)
        self._follower.start()
        wait_for_queue(self.raw)

    def disconnect(self) -> None:
        self._left = True
        self._woken.set()
        self._follower.join(PATIENCE_S)
        self.raw.close()
        self.reader.close()

    def messages(self) -> Iterator[Json]:
        return printed(self)

    def _follow(self) -> None:
        while not self._left:
            self._woken.wait(0.1)
            self._woken.clear()
            with contextlib.suppress(OSError, ValueError):
                for followed in tuple(self.streams.values()):
                    self._read_on(followed)

    def _read_on(self, followed: Followed) -> None:
        if followed.ended:
            return
        for message in kept(self.reader, f"remit.ev.{followed.key}", place=followed.place):
            self._reading.wait()
            followed.place = int(message.headers["Nats-Sequence"]) + 1
            found = followed.take(message)
            if followed.request not in {None, followed.claimed}:
                break
            with self._changed:
                followed.events += [event for event in found if event["seq"] > followed.after]
                followed.ended = followed.ended or any(event["kind"] == "run_completed" for event in found)
                self._changed.notify_all()
        if not followed.ended:
            for message in kept(self.reader, f"remit.dead.{followed.key}"):
                if followed.request is None or message.headers["Remit-Request"] == followed.request:
                    with self._changed:
                        followed.error, followed.ended = json.loads(message.headers["Remit-Error"]), True
                        self._changed.notify_all()

    def run(self, request: Json) -> str:
        data = json.dumps(request).encode()
        followed = Followed(
            f"{subject_token(request['session_id'])}.{subject_token(request['turn_id'])}", digest_of(data)
        )
        taken = self.raw.request(f"remit.run.{followed.key}", data, {"Nats-Msg-Id": digest_of(data)})
        assert taken is not None
        assert json.loads(taken.data)["stream"] == "REMIT_RUNS"
        return self._begin(followed)

    def resume(self, request: Json, after: int) -> str:
        key = f"{subject_token(request['session_id'])}.{subject_token(request['turn_id'])}"
        return self._begin(Followed(key, None, after, unknown=next(kept(self.raw, f"remit.ev.{key}"), None) is None))

    def _begin(self, followed: Followed) -> str:
        name = self.name()
        self.streams[name] = followed
        self._woken.set()
        return name

    def events(self, name: str) -> list[Json]:
        return self.streams[name].events

    def answer(self, name: str) -> Json | None:
        followed = self.streams[name]
        if followed.error is not None or followed.unknown:
            return {"error": followed.error}
        return {"result": followed.result} if followed.ended else None

    def _say(self, key: str, message: Json) -> Json:
        said = self.raw.request(f"remit.do.{key}", json.dumps(message).encode())
        return None if said is None else json.loads(said.data)

    def approve(self, question: Json, decision: str = "allow", **more: Json) -> Json:
        key = f"{subject_token(question['session_id'])}.{subject_token(question['turn_id'])}"
        given = {"approval_id": question["approval_id"], "decision": decision, "digest": question["digest"], **more}
        said = self._say(key, {"approve": given})
        return {"accepted": False} if said is None else said["receipt"]  # a turn that has ended takes no answer

    def cancel(self, name: str, request: Json) -> None:
        self._say(self.streams[name].key, {"cancel": {}})

    def leave(self) -> None:
        """Goes away, then ends the worker, which would wait for the next client."""
        self.raw.close()
        self.process.terminate()


@dataclass
class Followed:
    """One turn as it is read from its subject."""

    key: str
    request: str | None
    after: int = 0
    unknown: bool = False
    place: int = 1
    ended: bool = False
    error: Json = None
    result: Json = None
    claimed: str | None = None
    rest: bytes = b""
    events: list[Json] = field(default_factory=list)

    def take(self, message: Delivered) -> list[Json]:
        """Returns the events that this message completes."""
        if message.headers["Remit-Part"] == "0":
            self.claimed, self.rest = message.headers["Remit-Request"], b""
            return []
        *lines, self.rest = (self.rest + message.data).split(b"\n")
        found = [json.loads(line) for line in lines]
        self.result = next((event["result"] for event in found if event["kind"] == "run_completed"), self.result)
        return found


DOORS = {
    "stdio": StdioDoor,
    "lsp": LspDoor,
    "acp": AcpDoor,
    "http": HttpDoor,
    "websocket": WebSocketDoor,
    "mcp": McpDoor,
    "mcp-modern": ModernMcpDoor,
    "queue": QueueDoor,
}
EVERY = {**DOORS, "terminal": TerminalDoor}
"""The doors by which a client asks for turns, and the terminal, where each turn is a process."""


@contextmanager
def opened(kind: str | type[Door], folder: Path, *steps: Json, options: tuple[str, ...] = ()) -> Iterator[Any]:
    """Yields a door, given by its name or its class, into a new workspace whose model plays these steps."""
    door_of = EVERY[kind] if isinstance(kind, str) else kind
    workspace = folder / "shop"
    workspace.mkdir(exist_ok=True)
    (workspace / "a.py").write_text("total = 1\n")
    script = folder / "script.json"
    script.write_text(json.dumps(steps))
    named = {"STATE": folder / "state", "CONFIG": folder / "config", "DATA": folder / "data"}
    environment = {f"REMIT_{name}_DIR": str(path) for name, path in named.items()}
    environment |= {"HOME": str(folder), "REMIT_MODEL": f"script:{script}"}
    with door_of(workspace, environment, *options) as door:
        yield door


def request(turn: str, text: str = "go", session: str = "s") -> Json:
    """Returns the request for a turn with this text."""
    return {"session_id": session, "turn_id": turn, "input": {"type": "text", "text": text}}


def results(folder: Path, *steps: Any) -> list[Any]:
    """Runs a turn with these steps and every question allowed; returns the results of its calls."""
    with opened("stdio", folder, *steps, {"text": "done"}, options=("--approve", "session")) as door:
        name = door.run(request("t"))
        assert door.result(name)["final_output"] == "done"
        return [event for event in door.events(name) if event["kind"] == "tool_result"]
