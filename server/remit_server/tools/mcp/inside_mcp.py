"""The MCP client: a program that runs in the sandbox, beside the server that it starts or reaches (TOOL-18).

It imports only the standard library, and its source text is passed to Python. It speaks both eras of the protocol,
offers a server nothing of its own (no sampling, no roots, no questions to the person), and prints one JSON object.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zlib
from typing import Any, cast

LEGACY, MODERN = "2025-11-25", "2026-07-28"
PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""The fields of a tool that a person has reviewed. A tool that differs in any of them counts as another tool."""

HEADERS = "MCP_HEADERS"
"""The environment variable with the headers of requests, so that secrets are on no command line."""

_META = "io.modelcontextprotocol/"
_PAGES, _TOOLS = 50, 500
_NOT_OFFERED = -32601


class Unanswered(Exception):
    """The server could not be asked; the message says why."""


def digest_of(tool: dict[str, Any]) -> str:
    """Returns the digest of the fields of a tool that a person has reviewed."""
    said = {name: tool[name] for name in PINNED if name in tool}
    spelled = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(spelled.encode()).hexdigest()


class Pipe:
    """A server that is a process: its streams carry one JSON object a line."""

    def __init__(self, command: list[str], most: int) -> None:
        pipe = subprocess.PIPE
        try:
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        except OSError as error:
            raise Unanswered(f"`{command[0]}` cannot be started: {error.strerror}") from error
        self._most = most
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline(self._most + 1):
            self._lines.put(line)
        self._lines.put(b"")

    def exchange(self, message: dict[str, Any], until: float) -> Any:
        """Sends a message and yields what the server sends afterwards. Raises Unanswered."""
        self.tell(message)
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise Unanswered("it did not answer in time") from None
            if not line:
                raise Unanswered(f"it ended with code {self.process.wait()}")
            if len(line) > self._most:
                raise Unanswered("it sent too much at once")
            found = parse(line)
            if found is not None:
                yield found

    def tell(self, message: dict[str, Any]) -> None:
        """Sends a message."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass  # the server has ended, and `exchange` reports that

    def settle(self, version: str) -> None:
        """Does nothing, because over pipes no header names the version."""


class Web:
    """A server that is reached by HTTP: each message is a request, answered by one JSON object or by events."""

    def __init__(self, url: str, headers: dict[str, str], most: int) -> None:
        self._url, self._headers, self._most = url, dict(headers), most
        self._open = urllib.request.build_opener(NoRedirects).open

    def exchange(self, message: dict[str, Any], until: float) -> Any:
        """Sends a message and yields what the server answers. Raises Unanswered."""
        yield from self._post(message, until)
        raise Unanswered("its response ended without an answer")

    def tell(self, message: dict[str, Any]) -> None:
        """Sends a message and ignores the answer."""
        for _ in self._post(message, time.monotonic() + 10):
            pass

    def settle(self, version: str) -> None:
        """Sends this version in the headers of further requests."""
        self._headers["MCP-Protocol-Version"] = version

    def _post(self, message: dict[str, Any], until: float) -> Any:
        named = {"Mcp-Method": message["method"]} if "method" in message else {}
        if isinstance(name := message.get("params", {}).get("name"), str) and name.isascii() and name.isprintable():
            named["Mcp-Name"] = name
        accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers = {**accepted, **named, **self._headers}
        asked = urllib.request.Request(self._url, json.dumps(message).encode(), headers, method="POST")  # noqa: S310 https
        try:
            with self._open(asked, timeout=max(0.1, until - time.monotonic())) as answer:
                if session := answer.headers.get("Mcp-Session-Id"):
                    self._headers["Mcp-Session-Id"] = session
                events = answer.headers.get_content_type() == "text/event-stream"
                yield from self._events(answer) if events else self._whole(answer)
        except urllib.error.HTTPError as error:
            found = parse(error.read(self._most))
            if found is None:
                raise Unanswered(f"it answered with HTTP {error.code}") from error
            yield found
        except OSError as error:
            raise Unanswered(f"it cannot be reached: {getattr(error, 'reason', error)}") from error

    def _whole(self, answer: Any) -> Any:
        found = parse(answer.read(self._most))
        if found is not None:
            yield found

    def _events(self, answer: Any) -> Any:
        size, data = 0, b""
        for raw in answer:
            size += len(raw)
            if size > self._most:
                raise Unanswered("it sent too much")
            line = raw.rstrip(b"\r\n")
            if line.startswith(b"data:"):
                data += line[5:].strip()
            elif not line:
                found, data = parse(data), b""
                if found is not None:
                    yield found


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:  # noqa: PLR0917
        """Returns None, so that the redirect itself is the answer."""
        del req, fp, code, msg, headers, newurl


def parse(data: bytes) -> dict[str, Any] | None:
    """Returns the JSON object in `data`, or None if it holds no object."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


class Client:
    """Asks one server, in the era of the protocol that it speaks."""

    def __init__(self, wire: Any, seconds: float) -> None:
        self._wire, self._until, self._number = wire, time.monotonic() + seconds, 0
        self._meta: dict[str, Any] = {}
        self.server: dict[str, Any] = {}

    def connect(self) -> None:
        """Finds out which era of the protocol the server speaks."""
        info = {"name": "remit", "version": "1"}
        given = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
        found = self._ask("initialize", given)
        if "result" in found:
            said = found["result"]
            self._wire.settle(str(said.get("protocolVersion", LEGACY)))
            self._wire.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        else:
            self._meta = {
                f"{_META}protocolVersion": MODERN,
                f"{_META}clientCapabilities": {},
                f"{_META}clientInfo": info,
            }
            self._wire.settle(MODERN)
            said = self.ask("server/discover", {})
        self.server = said.get("serverInfo", {}) if isinstance(said.get("serverInfo"), dict) else {}

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Returns the result of a request. Raises Unanswered."""
        found = self._ask(method, params)
        if "error" in found:
            raise Unanswered(f"it refused `{method}`: {json.dumps(found['error'])[:1000]}")
        if not isinstance(result := found.get("result"), dict):
            raise Unanswered(f"its answer to `{method}` has no result")
        return cast("dict[str, Any]", result)

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        given = {**params, "_meta": self._meta} if self._meta else params
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": given}
        found: dict[str, Any]
        for found in self._wire.exchange(message, self._until):
            if "method" in found:
                if "id" in found:  # a request from the server, and this client offers nothing
                    refusal = {"code": _NOT_OFFERED, "message": "this client offers nothing"}
                    self._wire.tell({"jsonrpc": "2.0", "id": found["id"], "error": refusal})
            elif found.get("id") == self._number:
                return found
        raise Unanswered("it did not answer")

    def tools(self) -> list[dict[str, Any]]:
        """Returns all tools that the server has."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        for _ in range(_PAGES):
            page = self.ask("tools/list", cursor)
            listed: Any = page.get("tools") or []
            found += [cast("dict[str, Any]", tool) for tool in listed if isinstance(tool, dict)]
            if len(found) > _TOOLS:
                raise Unanswered(f"it lists more than {_TOOLS} tools")
            if not isinstance(following := page.get("nextCursor"), str):
                return found
            cursor = {"cursor": following}
        raise Unanswered("its list of tools has no end")


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer to a question: the tools of a server, or the result of one call."""
    most = int(question["most"])
    try:
        headers = json.loads(os.environ.pop(HEADERS, "{}"))
        wire: Any = Web(question["url"], headers, most) if question.get("url") else Pipe(question["command"], most)
        client = Client(wire, float(question["seconds"]))
        client.connect()
        tools = client.tools()
        call = question.get("call")
        if call is None:
            return {"server": client.server, "tools": tools}
        now = next((tool for tool in tools if tool.get("name") == call["name"]), None)
        if now is None or digest_of(now) != call["digest"]:
            return {"changed": now is not None}
        return {"result": client.ask("tools/call", {"name": call["name"], "arguments": call["arguments"]})}
    except Unanswered as error:
        return {"failed": str(error)}


if __name__ == "__main__":
    # `Pipe` reads the server's output; the server can write to this process's output only what it could answer anyway.
    asked = json.loads(zlib.decompress(base64.b64decode("".join(sys.argv[1:]))))
    sys.stdout.write(json.dumps(answer(asked)))
    sys.stdout.flush()
    # The sandbox ends processes that the server has left running.
    os._exit(0)
