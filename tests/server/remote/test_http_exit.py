"""What goes out to a served model's address besides the request itself, and how much may come back (MOD-13, MOD-15)."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from remit_governance.values import Intent
from remit_server.errors import ModelFailed, ModelUnavailable
from remit_server.models.ports import Gap, GenerateRequest, ToolSpec, UserMessage
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.patience import Patience
from remit_server.models.remote.provider import RemoteProvider
from remit_server.models.remote.reference import parse_reference

READ = ToolSpec("read_file", "Read.", {"type": "object", "properties": {"path": {"type": "string"}}})
REQUEST = GenerateRequest("s", (UserMessage("read a.py"),), {Intent.READ_FILE: (READ,)}, max_tokens=50)
QUICK = Patience(connect_s=2, first_token_s=10, between_tokens_s=10, retries=0)
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
    """A server of bytes: keeps the heads of all requests as they came, and lets `answer` write what it wants."""
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


def provider_at(url: str, kind: str) -> RemoteProvider:
    reference = parse_reference(f"{kind}:m@{url}{PATHS[kind]}")
    assert reference is not None
    return RemoteProvider(reference, make_client, str, patience=QUICK)


async def ask(url: str, kind: str, request: GenerateRequest = REQUEST) -> Exception | None:
    """Asks once; returns what it was refused with."""
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
    """Every variable of the environment that the code of a library names."""
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
    peer.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}")


def show(head: bytes, peer: socket.socket) -> None:
    """Ollama's description of a model first, without which it is not asked."""
    if b"/api/show" not in head:
        not_found(head, peer)
        return
    told = b'{"model_info": {"llama.context_length": 8192}, "capabilities": ["insert"]}'
    peer.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nContent-Type: application/json\r\n\r\n%s" % (len(told), told)
    )


@EACH
async def test_MOD_15_nothing_that_a_library_reads_from_the_environment_is_sent(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All at once: some are read only where another is there. A proxy of the environment's is none for this machine."""
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
