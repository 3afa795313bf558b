"""A server that answers as mlx_lm.server 0.32 was seen to, as raw bytes: HTTP/1.0, a list of models without owners,
comments that tell how much of the prompt is read, and a connection that just ends if the server fails within an
answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

EMPTY = b""
"""Its list of models if the machine has no folder for models of the hub: the server fails after the headers."""
LISTED_NONE = b'{"object": "list", "data": []}'
LISTED_TWO = (
    b'{"object": "list", "data": [{"id": "mlx-community/Qwen3-4B-4bit", "object": "model", "created": 1795750826}, '
    b'{"id": "/home/me/model", "object": "model", "created": 1795750826}]}'
)
HEALTHY = b'{"status": "ok"}'
_HEAD = b'{"id": "chatcmpl-ae97c9ad", "system_fingerprint": "0.32.2-0.32.4", "object": "chat.completion.chunk", "model": "default_model", "created": 1795750826, '
_USAGE = b'{"id": "chatcmpl-ae97c9ad", "object": "chat.completion", "model": "default_model", "created": 1795750826, "choices": [], "usage": {"prompt_tokens": 35, "completion_tokens": 2, "total_tokens": 37, "prompt_tokens_details": {"cached_tokens": 0}}}'


def progress(done: int, total: int) -> bytes:
    return b": keepalive %d/%d\n\n" % (done, total)


def said(text: str) -> bytes:
    return _chunk({"role": "assistant", "content": text}, None)


def called(name: str, arguments: str) -> bytes:
    function = {"name": name, "arguments": arguments}
    calls = [{"function": function, "type": "function", "id": "6f9b7c1e-0", "index": 0}]
    return _chunk({"role": "assistant", "tool_calls": calls}, None)


def end(reason: str = "stop") -> bytes:
    return _chunk({"role": "assistant"}, reason) + b"data: " + _USAGE + b"\n\ndata: [DONE]\n\n"


def _chunk(delta: dict[str, Any], reason: str | None) -> bytes:
    choice = {"index": 0, "finish_reason": reason, "delta": delta}
    return b"data: " + _HEAD + b'"choices": [' + json.dumps(choice).encode() + b"]}\n\n"


@dataclass
class MlxLmShaped:
    port: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def mlx_lm_shaped(*answers: bytes | tuple[int, bytes], models: bytes = EMPTY) -> Iterator[MlxLmShaped]:
    """Plays the answers in order, the last one again and again; an answer with a status is the body of an error."""
    state, left = MlxLmShaped(), list(answers)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            if self.path == "/v1/models":
                self._send(200, "application/json", models)
            elif self.path == "/health":
                self._send(200, "application/json", HEALTHY)
            else:
                self._send(404, "application/json", b"Not Found")

        def do_POST(self) -> None:
            state.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            answer = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(answer, bytes):
                self._send(200, "text/event-stream", answer)
            else:
                self._send(answer[0], "application/json", answer[1])

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-type", kind)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()
            self.wfile.write(body)

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
    state.port = listener.server_port
    try:
        yield state
    finally:
        listener.shutdown()
        listener.server_close()
