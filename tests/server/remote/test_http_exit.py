"""What is sent to a served model's address besides the request itself, and how large an answer may be (MOD-13,
MOD-15)."""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from remit_governance.values import Intent
from remit_server.errors import ModelFailed, ModelUnavailable
from remit_server.models.ports import CallProposed, Gap, GenerateRequest, ProposedCall, ToolSpec, UserMessage
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.engines import parse_reference
from remit_server.models.remote.http_exit import MOST_ANSWER_BYTES
from remit_server.models.remote.patience import Patience
from remit_server.models.remote.provider import RemoteProvider

pytestmark = pytest.mark.slow

READ = ToolSpec("read_file", "Read.", {"type": "object", "properties": {"path": {"type": "string"}}})
REQUEST = GenerateRequest("s", (UserMessage("read a.py"),), {Intent.READ_FILE: (READ,)}, max_tokens=50)
QUICK = Patience(connect_s=2, first_token_s=60, between_tokens_s=10, retries=0)
PATHS = {"openai": "/v1", "anthropic": "", "google": "", "ollama": ""}
EACH = pytest.mark.parametrize("kind", list(PATHS))
LIBRARIES = ("openai", "anthropic", "google.genai", "google.auth", "ollama")
ALLOWED = {
    "host",
    "accept",
    "accept-encoding",
    "connection",
    "user-agent",
    "content-type",
    "content-length",
    "anthropic-version",
}
MARK = "marked-by-the-test"

Answer = Callable[[bytes, socket.socket], None]


@contextmanager
def raw_server(answer: Answer) -> Iterator[tuple[str, list[bytes]]]:
    """A raw server that keeps the head of each request, and lets `answer` write whatever it wants."""
    heads: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(peer: socket.socket) -> None:
        with suppress(OSError), peer:
            peer.settimeout(20)
            read = b""
            while b"\r\n\r\n" not in read:
                if not (more := peer.recv(65536)):
                    return
                read += more
            head, _, body = read.partition(b"\r\n\r\n")
            heads.append(head)
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            while length is not None and len(body) < int(length[1]):
                body += peer.recv(65536)
            answer(head, peer)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", heads
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def provider_at(url: str, kind: str, engine: str | None = None) -> RemoteProvider:
    """Returns a provider for the server at `url`. For the engine `mlx_lm` it makes only one request, whose calls it takes
    as they come."""
    reference = parse_reference(f"{kind}:m@{url}{PATHS[kind]}")
    assert reference is not None
    return RemoteProvider(reference, make_client, str, patience=QUICK, engine=engine)


async def ask(url: str, kind: str, request: GenerateRequest = REQUEST) -> Exception | None:
    """Makes one request; returns the error that refused it, or None."""
    provider = provider_at(url, kind)
    try:
        async for _ in provider.generate(request):
            pass
    except (ModelFailed, ModelUnavailable) as refused:
        return refused
    finally:
        await provider.close()
    return None


def variables_read() -> set[str]:
    """Returns every environment variable that the code of a library names."""
    found: set[str] = set()
    for library in LIBRARIES:
        spec = find_spec(library)
        assert spec is not None
        for folder in spec.submodule_search_locations or ():
            for file in Path(folder).rglob("*.py"):
                found |= set(re.findall(r"""["']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)["']""", file.read_text("utf-8")))
    return {name for name in found if not name.startswith(("SSL_", "REMIT_", "PYTEST_"))}


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def not_found(head: bytes, peer: socket.socket) -> None:
    del head
    peer.sendall(
        b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}"
    )


def show(head: bytes, peer: socket.socket) -> None:
    """Sends Ollama's description of a model, without which Remit makes no request to it."""
    if b"/api/show" not in head:
        not_found(head, peer)
        return
    told = b'{"model_info": {"llama.context_length": 8192}, "capabilities": ["insert"]}'
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n"
    peer.sendall(b"%bContent-Length: %d\r\n\r\n%b" % (head, len(told), told))


@EACH
async def test_MOD_15_nothing_that_a_library_reads_from_the_environment_is_sent(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All variables are set at once, because some are read only with others. This machine is not reached through a
    proxy."""
    names = variables_read()
    assert {"OPENAI_ORG_ID", "OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS", "GOOGLE_CLOUD_PROJECT"} <= names
    headers = "\n".join(f"{name}: {MARK}" for name in (f"X-{MARK}", "User-Agent", "Accept", "Authorization", "Host"))
    for name in names:
        monkeypatch.setenv(name, headers if name.endswith("_HEADERS") else MARK)
    monkeypatch.chdir(tmp_path)
    with raw_server(show) as (url, heads):
        await ask(url, kind)
        await ask(url, kind, GenerateRequest("s", (), {}, max_tokens=9, priority="cursor", gap=Gap("a", "b")))
    assert heads
    for head in heads:
        line, *rest = head.decode("latin-1").split("\r\n")
        assert MARK not in line
        assert MARK not in "\n".join(rest).lower()
        assert {each.partition(":")[0].lower() for each in rest} <= ALLOWED
    assert names_in(tmp_path) == []


@dataclass
class Flood:
    """An answer that does not end, or that begins with prepared bytes; it counts the bytes that were read of it."""

    head: bytes = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
    begin: bytes = b""
    again: bytes = b""
    sent: int = 0
    described: bool = True

    def __call__(self, head: bytes, peer: socket.socket) -> None:
        if self.described and head.startswith((b"GET ", b"POST /api/show")):
            show(head, peer)
            return
        peer.sendall(self.head + b"\r\n" + self.begin)
        while self.again:
            peer.sendall(self.again)
            self.sent += len(self.again)


KB = b"x" * 65_536
FLOODS: Mapping[str, Callable[[], Flood]] = {
    "one line": lambda: Flood(begin=b'data: {"a": "', again=KB),
    "one line of JSON": lambda: Flood(begin=b'{"message": {"content": "', again=KB),
    "many lines": lambda: Flood(again=b"\n" * 65_536),
    "an event of many lines": lambda: Flood(again=b": %b\n" % KB),
    "an error": lambda: Flood(
        head=b"HTTP/1.1 500 No\r\nContent-Type: application/json\r\n", begin=b'{"error": "', again=KB
    ),
    "a refusal in lines": lambda: Flood(head=b"HTTP/1.1 400 No\r\n", again=b"no\n" * 20_000),
    "what is there": lambda: Flood(begin=b'{"object": "list", "data": [{"id": "', again=KB, described=False),
    "compressed": lambda: Flood(
        head=b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nConnection: close\r\n",
        begin=gzip.compress(b"data: " + b"x" * 200_000_000, 1)[:1_000_000],
    ),
}


STILL_HERE = {
    "openai": b": %b\n\n" % KB,
    "anthropic": b": %b\n\n" % KB,
    "google": b'data: {"modelVersion": "%b"}\n\n' % KB,
    "ollama": b'{"at": "%b"}\n' % KB,
}


@EACH
async def test_MOD_13_an_answer_that_only_goes_on_is_refused_by_its_bytes(kind: str) -> None:
    answer = Flood(again=STILL_HERE[kind])
    with raw_server(answer) as (url, _):
        refused = await ask(url, kind)
    assert isinstance(refused, ModelFailed)
    assert f"{MOST_ANSWER_BYTES:,}" in str(refused)
    assert answer.sent <= MOST_ANSWER_BYTES + 16 * 1024 * 1024  # plus what the sockets hold


@EACH
@pytest.mark.parametrize("flood", FLOODS)
async def test_MOD_13_an_answer_without_end_is_refused_and_not_kept(kind: str, flood: str) -> None:
    answer = FLOODS[flood]()
    with raw_server(answer) as (url, _):
        refused = await ask(url, kind)
    assert isinstance(refused, ModelFailed)
    at_once = flood == "an event of many lines" and kind in {"google", "ollama"}  # their protocols have no comments
    assert ("not read to its end" in refused.what) is not at_once
    assert answer.sent <= MOST_ANSWER_BYTES + 16 * 1024 * 1024  # plus what the sockets hold


def deep(levels: int) -> str:
    return '{"path": ' + "[" * levels + "]" * levels + "}"


def spelled_answer(kind: str, arguments: str) -> bytes:
    """Returns an answer, in a protocol, that selects an intent with these arguments."""
    name = '"name": "select_active_intent"'
    text = json.dumps(arguments)
    match kind:
        case "openai":
            call = f'{{"index": 0, "id": "c", "function": {{{name}, "arguments": {text}}}}}'
            return (
                f'data: {{"choices": [{{"index": 0, "delta": {{"tool_calls": [{call}]}}, "finish_reason": "tool_calls"}}]}}'
                "\n\ndata: [DONE]\n\n"
            ).encode()
        case "anthropic":
            block = f'{{"type": "tool_use", "id": "c", {name}, "input": {{}}}}'
            delta = f'{{"type": "input_json_delta", "partial_json": {text}}}'
            events = [
                f'{{"type": "content_block_start", "index": 0, "content_block": {block}}}',
                f'{{"type": "content_block_delta", "index": 0, "delta": {delta}}}',
                '{"type": "content_block_stop", "index": 0}',
                '{"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}',
                '{"type": "message_stop"}',
            ]
            named = ((json.loads(event)["type"], event) for event in events)
            return "".join(f"event: {what}\ndata: {event}\n\n" for what, event in named).encode()
        case "google":
            part = f'{{"functionCall": {{{name}, "args": {arguments}}}}}'
            content = f'"content": {{"role": "model", "parts": [{part}]}}, "finishReason": "STOP"'
            return f'data: {{"candidates": [{{{content}}}]}}\n\n'.encode()
        case _:
            call = f'{{"function": {{{name}, "arguments": {arguments}}}}}'
            return f'{{"message": {{"content": "", "tool_calls": [{call}]}}, "done": true}}\n'.encode()


@EACH
@pytest.mark.parametrize("levels", [100, 480, 2_000, 200_000])
async def test_MOD_13_arguments_that_are_nested_too_deep_are_told_in_every_protocol(kind: str, levels: int) -> None:
    """It is reported to the model, or refused as no valid answer; it never causes an internal error."""
    answer = Flood(begin=spelled_answer(kind, deep(levels)))
    calls: list[ProposedCall] = []
    with raw_server(answer) as (url, _):
        provider = provider_at(url, kind, engine="mlx_lm")
        try:
            calls = [event.call async for event in provider.generate(REQUEST) if isinstance(event, CallProposed)]
        except ModelFailed:
            assert levels > 480
        finally:
            await provider.close()
    assert [call.name for call in calls] == ["unreadable_call"] * len(calls)
    assert calls or levels > 480
