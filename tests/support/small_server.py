"""A server that speaks as llama.cpp's does, in bytes: each answer is a step of the schema that came with the request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODELS = b'{"object":"list","data":[{"id":"small","object":"model","owned_by":"llamacpp","meta":{"n_params":500000000,"size":400000000}}]}'
PROPS = b'{"default_generation_settings":{"n_ctx":8192},"total_slots":1,"chat_template_caps":{"supports_tools":true}}'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
TRIAL: Mapping[str, Any] = {"tool": "read_file", "intent": "ANALYZE", "arguments": {"path": "README.md"}}
"""The step by which a model is tried before it is kept (MOD-27)."""


@contextmanager
def small_server(*steps: Mapping[str, Any]) -> Iterator[str]:
    """Yields its address; it plays the steps one after the other, after one for the trial."""
    left: Sequence[Mapping[str, Any]] = [TRIAL, *steps]
    played = iter(left)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            body = {"/v1/models": MODELS, "/props": PROPS}.get(self.path)
            self.send_response(200 if body else 404)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(body or b"{}")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            step = json.dumps(next(played, {"answer": "There is nothing left to do."}))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            said = json.dumps({"choices": [{"index": 0, "delta": {"content": step}}]})
            self.wfile.write(f"data: {said}\n\n".encode() + END)

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}/v1"
    finally:
        listener.shutdown()
        listener.server_close()
