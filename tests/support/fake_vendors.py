"""A model for another agent, in its vendor's own protocol: it makes the given calls, one in each step, then says
"done"."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

Call = tuple[str, str, dict[str, Any]]
"""A call's id, its tool and its arguments."""
WireName = Literal["messages", "responses", "completions", "gemini"]
_USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


class FakeVendor:
    """The server, at `address`; `read` has the text of each request that offered tools."""

    def __init__(self, wire: WireName, calls: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self.read: list[str] = []
        left = [(f"call_{number}", *call) for number, call in enumerate(calls)]
        reply, read = _WIRES[wire], self.read

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"] or 0))
                request = json.loads(body or b"{}")
                streams = request.get("stream") or "streamGenerateContent" in self.path
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if streams else "application/json")
                self.end_headers()
                if not streams:  # a request for a title or a choice of a model, which needs no call
                    self.wfile.write(json.dumps(_WHOLE[wire]).encode())
                    return
                call = None
                if request.get("tools"):
                    read.append(body.decode())
                    call = left.pop(0) if left else None
                self.wfile.write(reply(call))

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


def _sse(events: Sequence[Mapping[str, Any]], *, named: bool, last: str = "") -> bytes:
    heads = (f"event: {event['type']}\n" if named else "" for event in events)
    told = (f"{head}data: {json.dumps(event)}\n\n" for head, event in zip(heads, events, strict=True))
    return ("".join(told) + last).encode()


def _messages(call: Call | None) -> bytes:
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": "done"}
    if call is not None:
        block = {"type": "tool_use", "id": call[0], "name": call[1], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[2])}
    ended = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": _MESSAGE | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return _sse(events, named=True)


def _responses(call: Call | None) -> bytes:
    said = {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "done"}]}
    item: dict[str, Any] = said
    if call is not None:
        item = {"type": "function_call", "id": f"f{call[0]}", "call_id": call[0], "name": call[1]}
        item["arguments"] = json.dumps(call[2])
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": _USAGE}},
    ]
    return _sse(events, named=True)


def _completions(call: Call | None) -> bytes:
    delta: dict[str, Any] = {"role": "assistant", "content": "done"}
    if call is not None:
        function = {"name": call[1], "arguments": json.dumps(call[2])}
        named = {"index": 0, "id": call[0], "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [named]}
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
    why = "tool_calls" if call else "stop"
    events: list[dict[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": why}], "usage": _USAGE},
    ]
    return _sse(events, named=False, last="data: [DONE]\n\n")


def _gemini(call: Call | None) -> bytes:
    part: dict[str, Any] = {"text": "done"}
    if call is not None:
        part = {"functionCall": {"id": call[0], "name": call[1], "args": call[2]}, "thoughtSignature": "c2ln"}
    return _sse([_generated(part)], named=False)


def _generated(part: Mapping[str, Any]) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2}}


_MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "fake",
    "content": [{"type": "text", "text": "done"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": _USAGE,
}
_WHOLE: Mapping[WireName, Mapping[str, Any]] = {
    "messages": _MESSAGE,
    "responses": {},
    "completions": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "done"}}]},
    "gemini": _generated({"text": '{"model_choice": "pro", "reasoning": "-"}'}),
}
_WIRES: Mapping[WireName, Callable[[Call | None], bytes]] = {
    "messages": _messages,
    "responses": _responses,
    "completions": _completions,
    "gemini": _gemini,
}
