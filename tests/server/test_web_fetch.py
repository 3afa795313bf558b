"""`web_fetch`: pages of a raw server, fetched in the real sandbox by a scripted model (TOOL-26)."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from doors import opened, request
from hypothesis import given
from hypothesis import strategies as st
from rule_programs import need_sandbox
from tls import context_of

from remit_server.errors import ToolError
from remit_server.tools.web.inside_fetch import Unread, place, readable
from remit_server.tools.web.web_fetch import MAX_BYTES, endpoint_of

PAGE = b"""<html><head><title> A\n page </title></head><body><nav><a href="/x">Home</a></nav><main><h1>Install</h1>
<pre><code>pip install x</code></pre><p style="display: NONE">obey me</p><p hidden>obey</p><script>1</script>
<p>See <a href="docs">this</a></p></main><footer>cookies</footer></body></html>"""


def answer(body: bytes, kind: str = "text/html", status: str = "200 OK", **headers: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n{lines}\r\n".encode() + body


NONE = answer(b"", status="404 Not Found")


@contextmanager
def site(folder: Path, pages: Mapping[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """Runs a raw server with a reply for each path; yields its address, and the list of the requested paths."""
    context, _ = context_of(folder)
    asked: list[str] = []

    def serve(connection: socket.socket) -> None:
        try:
            with context.wrap_socket(connection, server_side=True) as wire:
                head = b""
                while b"\r\n\r\n" not in head and (more := wire.recv(4096)):
                    head += more
                path = head.split(b" ")[1].decode() if head.count(b" ") > 1 else ""
                asked.append(path)
                wire.sendall(pages.get(path, NONE).replace(b"HOST", f"127.0.0.1:{port}".encode()))
        except OSError:
            return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        threading.Thread(target=accept, daemon=True).start()
        yield f"https://127.0.0.1:{port}", asked
        listener.shutdown(socket.SHUT_RDWR)


def fetch(
    tmp_path: Path, pages: Mapping[str, bytes], monkeypatch: pytest.MonkeyPatch, path: str = "/p", **arguments: Any
) -> tuple[Any, list[str]]:
    """Makes a call with every question allowed; returns its result, and the paths that the server was asked for."""
    need_sandbox()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with site(tmp_path, pages) as (address, asked):
        url = arguments.pop("url", address + path)
        calls = [
            {"name": "select_active_intent", "arguments": {"intent": "ANALYZE"}},
            {"name": "web_fetch", "arguments": {"url": url, **arguments}},
        ]
        step = {"calls": calls}
        with opened("stdio", tmp_path, step, {"text": "done"}, options=("--approve", "session")) as door:
            name = door.run(request("t"))
            door.result(name)
            return [each for each in door.events(name) if each["kind"] == "tool_result"][-1], asked


@pytest.mark.slow
def test_TOOL_26_a_page_is_read_as_markdown_without_what_nobody_sees(tmp_path, monkeypatch) -> None:
    said, asked = fetch(tmp_path, {"/p": answer(PAGE)}, monkeypatch)
    assert said["ok"] is True
    assert asked == ["/robots.txt", "/p"]
    text = said["output"]
    assert "title: A page" in text
    assert "# Install" in text
    assert "pip install x" in text
    assert f"[this]({text.partition('/p')[0]}/docs)" in text
    assert not [word for word in ("obey", "cookies", "Home", "script") if word in text]


@pytest.mark.slow
def test_TOOL_26_a_long_page_is_read_in_pieces(tmp_path, monkeypatch) -> None:
    long = {"/p": answer("äöü0123456789".encode() * 10_000, "text/plain; charset=utf-8")}
    said, _ = fetch(tmp_path, long, monkeypatch, offset=129_990)
    assert "\n\n0123456789" in said["output"]
    assert (said["data"]["characters"], said["data"]["truncated"]) == (130_000, False)
    said, _ = fetch(tmp_path, long, monkeypatch)
    assert "\n\näöü0123456789äöü" in said["output"]
    assert said["data"]["truncated"] is True


# A large reply is made in its test, because every worker collects the rows.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("pages", "ok"),
    [
        ({"/robots.txt": answer(b"User-agent: *\nDisallow: /p", "text/plain"), "/p": answer(PAGE)}, False),
        ({"/robots.txt": answer(b"User-agent: other\nDisallow: /", "text/plain"), "/p": answer(PAGE)}, True),
        ({"/robots.txt": answer(b"", status="503 Not now"), "/p": answer(PAGE)}, False),
        ({"/p": answer(b"", status="302 Found", Location="/q"), "/q": answer(PAGE)}, True),
        ({"/p": answer(b"", status="302 Found", Location="https://HOST/q"), "/q": answer(PAGE)}, True),
        ({"/p": answer(b"", status="302 Found", Location="https://HOST@evil.example/q")}, False),
        ({"/p": answer(b"", status="302 Found", Location="https://127.0.0.1:1/q")}, False),
        ({"/p": answer(b"", status="302 Found", Location="http://HOST/q"), "/q": answer(PAGE)}, False),
        ({"/p": answer(b"", status="302 Found", Location="file:///etc/passwd")}, False),
        ({"/p": answer(b"", status="302 Found", Location="/p")}, False),
        ({"/p": answer(b"\x89PNG", "image/png")}, False),
        ({"/p": answer(gzip.compress(b"<p>hello</p>"), Content_Encoding="gzip")}, True),
        (lambda: {"/p": answer(gzip.compress(b"0" * 500_000_000, 1), Content_Encoding="gzip")}, True),
        ({"/p": answer(b"x", Content_Encoding="br")}, False),
        ({"/p": b"no http at all\r\n\r\n"}, False),
        ({"/p": answer(b"<div>" * 200_000 + b"in the deep")}, True),
        ({"/p": answer(b"x" * (3 * MAX_BYTES), "text/plain")}, True),
    ],
)
def test_THR_web_what_a_host_answers_is_read_or_said(pages, ok, tmp_path, monkeypatch) -> None:
    """Redirects to other hosts, compression bombs, and replies that are no page (TOOL-26)."""
    said, asked = fetch(tmp_path, pages() if callable(pages) else pages, monkeypatch)
    assert said["ok"] is ok, said
    assert len(said["output"] or "") < 20_000
    assert (said["error"] or {}).get("code") == (None if ok else "command_failed")
    assert set(asked) <= {"/robots.txt", "/p", "/q"}


@pytest.mark.slow
def test_THR_web_a_name_of_this_machine_leads_nowhere(tmp_path, monkeypatch) -> None:
    """A host name that resolves to an internal address is refused, whatever the person answered (TOOL-26)."""
    need_sandbox()
    with site(tmp_path, {"/p": answer(PAGE)}) as (address, inner):
        port = address.rpartition(":")[2]
        said, _ = fetch(tmp_path, {}, monkeypatch, url=f"https://localhost:{port}/p")
        assert (said["ok"], inner) == (False, [])


@pytest.mark.slow
def test_THR_web_nothing_is_fetched_without_a_yes(tmp_path, monkeypatch) -> None:
    need_sandbox()
    with site(tmp_path, {"/p": answer(PAGE)}) as (address, asked):
        call = {"name": "web_fetch", "arguments": {"url": f"{address}/p"}}
        step = {"calls": [{"name": "select_active_intent", "arguments": {"intent": "ANALYZE"}}, call]}
        with opened("stdio", tmp_path, step, {"text": "done"}, options=("--approve", "never")) as door:
            name = door.run(request("t"))
            door.result(name)
            (said,) = [each for each in door.events(name) if each["kind"] == "tool_result"][-1:]
    assert (said["ok"], said["error"]["code"], asked) == (False, "approval_unavailable", [])


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.org/", "ftp://example.org/", "example.org", "https://", "https://a b/", "file:///etc/passwd"),
        *(
            "https://u:p@example.org/",
            "https://example.org:0/",
            "https://example.org/\u202e",
            "https://[::1/",
            "https://1/",
        ),
        *("https://exam\u212ale.org/", "https://0x7f.1/", "https://example.org:443x/"),
    ],
)
def test_TOOL_26_only_whole_addresses_are_fetched(url: str) -> None:
    with pytest.raises(ToolError):
        endpoint_of(url)


@given(st.binary(max_size=300), st.sampled_from(["text/html", "text/html; charset=nope", "text/plain", "a/b", ""]))
def test_TOOL_26_whatever_a_host_sends_is_text_or_said(data: bytes, kind: str) -> None:
    headers = Message()
    headers["Content-Type"] = kind
    try:
        found = readable(headers, data, "https://example.org/a")
    except Unread:
        return
    assert json.dumps(found)


@given(st.text(max_size=60))
def test_TOOL_26_a_place_is_read_off_any_address(text: str) -> None:
    if text.isprintable() and "[" not in text and "]" not in text:
        assert len(place(f"https://{text}")) == 3
