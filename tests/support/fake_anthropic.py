"""A model for Claude Code that says which commands to run, or which tools to call, one a step, and then that it is done."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class FakeAnthropic:
    """The server, at `address`; `results` are those of the calls that were made, by the order they were asked in. `tools`
    are the names of those that the agent has offered."""

    def __init__(self, calls: Sequence[str | tuple[str, dict[str, Any]]]) -> None:
        self.results: dict[str, dict[str, Any]] = {}
        self.tools: set[str] = set()
        left = [(f"toolu_{number:04}", _call(call)) for number, call in enumerate(calls)]
        tools = self.tools
        results = self.results

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
                for message in request.get("messages", []):
                    parts = message["content"] if isinstance(message["content"], list) else []
                    results.update({p["tool_use_id"]: p for p in parts if p.get("type") == "tool_result"})
                tools.update(tool["name"] for tool in request.get("tools") or ())
                self.send_response(200)
                asks = request.get("tools") and "count_tokens" not in self.path and left
                if not request.get("stream"):
                    self.send_header("content-type", "application/json")
                    self.end_headers()
                    self.wfile.write(json.dumps(_message([{"type": "text", "text": "done"}], "end_turn")).encode())
                    return
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for name, data in _events(*(left.pop(0) if asks else ("", None))):
                    self.wfile.write(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode())

            def do_GET(self) -> None:
                self.send_error(404)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
                del format, args

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _message(content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "stop_sequence": None}
    return {**head, "content": content, "stop_reason": stop, "usage": usage}


def _call(asked: str | tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return ("Bash", {"command": asked, "description": "as asked"}) if isinstance(asked, str) else asked


def _events(call: str, asked: tuple[str, dict[str, Any]] | None) -> list[tuple[str, dict[str, Any]]]:
    if asked is None:
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": "done"}
    else:
        name, arguments = asked
        block = {"type": "tool_use", "id": call, "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    stop = "end_turn" if asked is None else "tool_use"
    return [
        ("message_start", {"message": _message([], None)}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    ]
