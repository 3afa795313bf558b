"""`remit mcp --http`: a process, its address and its token."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doors import HttpDoor, Json, printed

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


class McpHttpDoor(HttpDoor):
    """A server of MCP over HTTP. Each message is an HTTP request of its own; `session` begins a session of the older
    protocol."""

    arguments = ("mcp", "--http", "--port", "0")
    resumes = False

    def connect(self) -> None:
        (told,) = self.until(lambda: [e for e in self.received if "at http" in e][:1])
        (kept,) = self.until(lambda: [e for e in self.received if "token in" in e][:1])
        self.url = told.split()[-1]
        self.host = self.url.split("/")[2]
        self.port = int(self.host.split(":")[1])
        self.file = Path(kept.split()[-1])
        self.token = self.file.read_text().strip()

    def messages(self) -> Iterator[Json]:
        return printed(self)

    def post(self, message: Json, **headers: str) -> tuple[int, dict[str, str], list[Json]]:
        """Sends a message; returns the status, the headers and the messages of the answer."""
        accepts = {"Accept": "application/json, text/event-stream", "Connection": "close"}
        answer = self.call("POST", "/mcp", {"jsonrpc": "2.0", **message}, **accepts, **headers)
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, read_messages(answer)

    def modern(self, method: str, params: Json, **more: Json) -> Json:
        """Returns the answer to a request of the newer protocol."""
        meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": more.pop("capabilities", {})}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        _, _, answers = self.post({"id": 1, "method": method, "params": {**params, "_meta": meta}}, **headers, **more)
        return answers[-1]

    def session(self) -> str:
        """Begins a session of the older protocol; returns its id."""
        given = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        _, headers, _ = self.post({"id": 0, "method": "initialize", "params": given})
        session = headers["mcp-session-id"]
        self.post({"method": "notifications/initialized"}, **{"Mcp-Session-Id": session})
        return session

    def legacy(self, session: str, method: str, params: Json) -> Json:
        """Returns the answer to a request in a session of the older protocol."""
        headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
        return self.post({"id": 1, "method": method, "params": params}, **headers)[2][-1]


def read_messages(answer: http.client.HTTPResponse) -> list[Any]:
    """Returns the messages of a response, whether it is one or a stream of them."""
    text = answer.read().decode()
    if answer.headers.get_content_type() == "text/event-stream":
        return [json.loads(data) for data in re.findall(r"^data: ?(\S.*?)\r?$", text, re.MULTILINE)]
    return [json.loads(text)] if text.strip() else []
