"""A server of a small model that answers as llama.cpp, LM Studio or Ollama does, as raw bytes. Each answer is a step by
the schema that came with the request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
TRIAL: Mapping[str, Any] = {"read_file": "ANALYZE", "path": "README.md"}
"""The step by which a model is tried before it is kept (MOD-27)."""


@dataclass(frozen=True)
class Shape:
    """One kind of server: `pages` are what it tells of itself, by path; `kind` is the content type of its answers,
    `before` and `after` stand around each of them, and `reference` names its model, with its address in place of
    `{}`."""

    pages: Mapping[str, bytes]
    kind: str
    before: bytes
    after: bytes
    reference: str


SHAPES = {
    "llama.cpp": Shape(
        {
            "/v1/models": b'{"object":"list","data":[{"id":"small","object":"model","owned_by":"llamacpp",'
            b'"meta":{"n_ctx":8192,"n_params":500000000,"size":400000000}}]}',
            "/props": b'{"default_generation_settings":{"n_ctx":8192},"total_slots":1,'
            b'"chat_template_caps":{"supports_tools":true}}',
        },
        "text/event-stream",
        b'data: {"choices":[{"index":0,"delta":{"content":%b}}]}\n\n',
        END,
        "openai:small@{}/v1",
    ),
    "LM Studio": Shape(
        {
            "/v1/models": b'{"data":[{"id":"small","object":"model","owned_by":"organization_owner"}],"object":"list"}',
            "/api/v0/models": b'{"object":"list","data":[{"id":"small","object":"model","type":"llm","publisher":"qwen",'
            b'"arch":"qwen2","compatibility_type":"gguf","quantization":"Q4_K_M","state":"loaded",'
            b'"max_context_length":32768,"loaded_context_length":8192}]}',
        },
        "text/event-stream",
        b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"small","system_fingerprint":"small",'
        b'"choices":[{"index":0,"delta":{"role":"assistant","content":%b},"logprobs":null,"finish_reason":null}]}\n\n',
        END,
        "openai:small@{}/v1",
    ),
    "Ollama": Shape(
        {
            "/api/version": b'{"version":"0.12.6"}',
            "/api/tags": b'{"models":[{"name":"small:latest","model":"small:latest","size":400000000,"digest":"a",'
            b'"details":{"format":"gguf","family":"qwen2","parameter_size":"494.03M","quantization_level":"Q4_K_M"}}]}',
            "/api/show": b'{"details":{"family":"qwen2"},"model_info":{"general.architecture":"qwen2",'
            b'"general.parameter_count":494032768,"qwen2.context_length":32768},"capabilities":["completion","tools"]}',
        },
        "application/x-ndjson",
        b'{"model":"small","created_at":"2025-10-01T00:00:00.1Z","message":{"role":"assistant","content":%b},"done":false}\n',
        b'{"model":"small","created_at":"2025-10-01T00:00:00.2Z","message":{"role":"assistant","content":""},"done":true,'
        b'"done_reason":"stop","total_duration":9,"prompt_eval_count":500,"eval_count":20}\n',
        "ollama:small@{}",
    ),
}


@contextmanager
def small_server(
    *steps: Mapping[str, Any], shape: str = "llama.cpp", trial: bool = True, asked: list[bytes] | None = None
) -> Iterator[str]:
    """Yields the reference of the server's model. The server plays the steps one after the other, first that of the
    trial if there will be one, and appends the requests for steps to `asked`."""
    left: Sequence[Mapping[str, Any]] = [*([TRIAL] if trial else []), *steps]
    played, like = iter(left), SHAPES[shape]

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._page(like.pages.get(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path in like.pages:
                self._page(like.pages[self.path])
                return
            if asked is not None:
                asked.append(body)
            step = json.dumps(next(played, {"answer": "There is nothing left to do."}))
            self.send_response(200)
            self.send_header("content-type", like.kind)
            self.end_headers()
            self.wfile.write(like.before % json.dumps(step).encode() + like.after)

        def _page(self, body: bytes | None) -> None:
            self.send_response(200 if body else 404)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(body or b"{}")

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield like.reference.format(f"http://127.0.0.1:{listener.server_port}")
    finally:
        listener.shutdown()
        listener.server_close()
