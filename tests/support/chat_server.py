"""A server of chat completions or messages on a port of this machine: it plays answers, and keeps what it was sent.

What it sends is built with the types of the protocols' own libraries, so that it cannot send what they do not know.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Said:
    """One answer: its text, thinking and calls; `reason` None cuts the stream before its end."""

    text: str = ""
    thinking: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    reason: str | None = "stop"
    pause_s: float = 0.0
    endless: bool = False
    prompt_tokens: int = 11


@dataclass(frozen=True)
class Refused:
    """An answer that is an error."""

    status: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    whole: Any = None
    """The whole body, in place of the protocol's form."""


@dataclass(frozen=True)
class Raw:
    """An answer that consists of these bytes, in any protocol."""

    data: bytes


Answer = Said | Refused | Raw


@dataclass
class ChatServer:
    """`answers` are played in order, and the last one is repeated. `owner` is the owner of the one model in `/models`;
    if it is empty, `/models` answers with an empty body."""

    answers: list[Answer]
    owner: str | None = "other"
    model: Mapping[str, Any] = field(default_factory=dict)
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    url: str = ""
    answered: int = 0

    def next(self) -> Answer:
        answer = self.answers[min(self.answered, len(self.answers) - 1)]
        self.answered += 1
        return answer


@contextmanager
def chat_server(*answers: Answer, owner: str | None = "other", **model: Any) -> Iterator[ChatServer]:
    state = ChatServer(list(answers), owner, model)
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    listener.daemon_threads = True
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{listener.server_port}"
    try:
        yield state
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def _handler(state: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            if self.path.startswith("/v1beta/"):
                self._json(200, {"name": "models/m", "inputTokenLimit": 8192, **state.model})
                return
            if self.path == "/v1/models" and state.owner == "":
                self._send(200, b"", {"Content-Type": "application/json"})
                return
            row = {"id": "m", "object": "model", "created": 1, **state.model}
            row |= {} if state.owner is None else {"owned_by": state.owner}
            self._json(200, {"object": "list", "data": [row]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/api/show":
                self._show(asked)
                return
            state.requests.append(asked)
            state.paths.append(self.path)
            state.headers.append(dict(self.headers))
            answer = state.next()
            if isinstance(answer, Refused):
                if answer.whole is not None:
                    self._json(answer.status, answer.whole, answer.headers)
                    return
                error = {"message": answer.message, "type": "error", **answer.body}
                told = answer.message if self.path.startswith("/api/") else error
                self._json(answer.status, {"type": "error", "error": told}, answer.headers)
                return
            if isinstance(answer, Raw):
                self._send(200, answer.data, {"Content-Type": "text/event-stream"})
                return
            play = _PROTOCOLS.get(self.path.partition("?")[0], _completions)
            self.send_response(200)
            self.send_header(
                "Content-Type", "application/x-ndjson" if play in (_chunks, _generated) else "text/event-stream"
            )
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            try:
                time.sleep(answer.pause_s)
                for event in play(answer):
                    self.wfile.write(event)
                    self.wfile.flush()
                while answer.endless:
                    self.wfile.write(_STILL_HERE.get(play, b": still here\n\n"))
                    self.wfile.flush()
                    time.sleep(0.02)
            except OSError:
                state.left.set()

        def _show(self, asked: Any) -> None:
            if asked["model"] != "m":
                self._json(404, {"error": f"model '{asked['model']}' not found"})
                return
            self._json(200, {"model_info": {"llama.context_length": 8192}, "capabilities": ["tools"], **state.model})

        def _json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
            self._send(status, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

        def _send(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _completions(said: Said) -> Iterator[bytes]:
    from openai.types.chat import ChatCompletionChunk

    def chunk(delta: Mapping[str, Any], reason: str | None = None, usage: Mapping[str, Any] | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}] if usage is None else []
        value = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
        checked = ChatCompletionChunk.model_validate(value | ({} if usage is None else {"usage": usage}))
        return b"data: " + checked.model_dump_json(exclude_unset=True).encode() + b"\n\n"

    if said.thinking:
        yield chunk({"reasoning_content": said.thinking})
    for word in _parts(said.text):
        yield chunk({"content": word})
    for index, (name, arguments) in enumerate(said.calls):
        spelled = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield chunk({"tool_calls": [{"index": index, "id": f"c{index}", "function": {"name": name, "arguments": ""}}]})
        for part in _parts(spelled):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    if said.reason is not None:
        yield chunk({}, "tool_calls" if said.calls else said.reason)
        details = {"prompt_tokens_details": {"cached_tokens": 7}}
        yield chunk({}, usage={"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14, **details})
        yield b"data: [DONE]\n\n"


def _messages(said: Said) -> Iterator[bytes]:
    from anthropic.types import RawMessageStreamEvent
    from pydantic import TypeAdapter

    checked = TypeAdapter[Any](RawMessageStreamEvent)

    def event(kind: str, **fields: Any) -> bytes:
        value = {"type": kind, **fields}
        checked.validate_python(value)
        return f"event: {kind}\ndata: {json.dumps(value)}\n\n".encode()

    usage = {"input_tokens": 4, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0, "output_tokens": 0}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": usage}
    yield event("message_start", message=message | {"stop_reason": None, "stop_sequence": None})
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if said.thinking:
        thought = [{"type": "thinking_delta", "thinking": part} for part in _parts(said.thinking)]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, thought))
    if said.text:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in _parts(said.text)]))
    for index, (name, arguments) in enumerate(said.calls):
        spelled = arguments if isinstance(arguments, str) else json.dumps(arguments)
        block = {"type": "tool_use", "id": f"c{index}", "name": name, "input": {}}
        blocks.append((block, [{"type": "input_json_delta", "partial_json": part} for part in _parts(spelled)]))
    for index, (block, deltas) in enumerate(blocks):
        yield event("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    if said.reason is not None:
        reason = "tool_use" if said.calls else {"stop": "end_turn", "length": "max_tokens"}[said.reason]
        yield event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 3})
        yield event("message_stop")


def _chunks(said: Said) -> Iterator[bytes]:
    from ollama import ChatResponse

    def chunk(message: Mapping[str, Any], **fields: Any) -> bytes:
        value = {"model": "m", "message": {"role": "assistant", "content": "", **message}, "done": False, **fields}
        ChatResponse.model_validate(value)
        return json.dumps(value).encode() + b"\n"

    for part in _parts(said.thinking):
        yield chunk({"thinking": part})
    for part in _parts(said.text):
        yield chunk({"content": part})
    for name, arguments in said.calls:
        yield chunk({"tool_calls": [{"function": {"name": name, "arguments": arguments}}]})
    if said.reason is not None:
        yield chunk({}, done=True, done_reason=said.reason, prompt_eval_count=said.prompt_tokens, eval_count=3)


def _generated(said: Said) -> Iterator[bytes]:
    from ollama import GenerateResponse

    def chunk(text: str, **fields: Any) -> bytes:
        value = {"model": "m", "response": text, "done": False, **fields}
        GenerateResponse.model_validate(value)
        return json.dumps(value).encode() + b"\n"

    for part in _parts(said.text):
        yield chunk(part)
    if said.reason is not None:
        yield chunk("", done=True, done_reason=said.reason, prompt_eval_count=said.prompt_tokens, eval_count=3)


def _text_completions(said: Said) -> Iterator[bytes]:
    from openai.types import Completion

    def chunk(text: str, reason: str | None = None) -> bytes:
        choice = {"index": 0, "text": text, "finish_reason": reason, "logprobs": None}
        value = {"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}
        Completion.model_validate(value if reason else value | {"choices": [choice | {"finish_reason": "stop"}]})
        return b"data: " + json.dumps(value).encode() + b"\n\n"

    for part in _parts(said.text):
        yield chunk(part)
    if said.reason is not None:
        yield chunk("", said.reason)
        yield b"data: [DONE]\n\n"


def _infill(said: Said) -> Iterator[bytes]:
    """Streams as llama-server does; no library has types for this."""

    def chunk(text: str, **fields: Any) -> bytes:
        value = {"index": 0, "content": text, "tokens": [], "stop": False, "id_slot": 0, **fields}
        return b"data: " + json.dumps(value).encode() + b"\n\n"

    for part in _parts(said.text):
        yield chunk(part)
    if said.reason is not None:
        kind = "limit" if said.reason == "length" else "eos"
        yield chunk("", stop=True, stop_type=kind, tokens_evaluated=said.prompt_tokens, tokens_predicted=3)


def _contents(said: Said) -> Iterator[bytes]:
    from google.genai.types import Candidate, Content, GenerateContentResponse, Part
    from google.genai.types import GenerateContentResponseUsageMetadata as Usage

    def chunk(*parts: Part, **more: Any) -> bytes:
        candidate = Candidate(content=Content(role="model", parts=list(parts)), **more.pop("candidate", {}))
        value = GenerateContentResponse(candidates=[candidate], **more)
        return b"data: " + value.model_dump_json(exclude_none=True, by_alias=True).encode() + b"\r\n\r\n"

    for part in _parts(said.thinking):
        yield chunk(Part(text=part, thought=True))
    for part in _parts(said.text):
        yield chunk(Part(text=part))
    for index, (name, arguments) in enumerate(said.calls):
        if isinstance(arguments, str):
            yield chunk(candidate={"finish_reason": "MALFORMED_FUNCTION_CALL", "finish_message": arguments})
            return
        signed = {"thought_signature": b"signed"} if index == 0 else {}
        yield chunk(Part.model_validate({"function_call": {"name": name, "args": dict(arguments)}} | signed))
    if said.reason is not None:
        counts = {"prompt_token_count": 11, "cached_content_token_count": 7, "candidates_token_count": 3}
        reason = {"stop": "STOP", "length": "MAX_TOKENS"}.get(said.reason, said.reason)
        yield chunk(candidate={"finish_reason": reason}, usage_metadata=Usage(**counts))


_PROTOCOLS: Mapping[str, Callable[[Said], Iterator[bytes]]] = {
    "/v1/messages": _messages,
    "/api/chat": _chunks,
    "/api/generate": _generated,
    "/v1/completions": _text_completions,
    "/infill": _infill,
    "/v1beta/models/m:streamGenerateContent": _contents,
}

_STILL_HERE = {
    _contents: b"data: {}\r\n\r\n",
    _chunks: b'{"model": "m", "message": {"role": "assistant", "content": "."}, "done": false}\n',
}


def _parts(text: str) -> Iterator[str]:
    return (text[n : n + 5] for n in range(0, len(text), 5))
