"""Web pages of other sites, names that resolve to this machine, and programs without the token attack a real
`remit http`; none of them gets anything done (TRN-06)."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import HttpDoor, opened, request

pytestmark = pytest.mark.slow

WRITES = {
    "calls": [
        {"name": "select_active_intent", "arguments": {"intent": "CODE"}},
        {"name": "write_file", "arguments": {"path": "b.py", "content": "x = 1\n"}},
    ]
}
ALLOWS = "version: 1\ncapabilities:\n  - { name: w, match: { syscall: fs.write, path_glob: ['**'] }, action: allow }\n"


@pytest.fixture
def door(tmp_path: Path) -> Iterator[HttpDoor]:
    """A server whose model writes a file as soon as a turn begins, which policy allows."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(ALLOWS)
    with opened("http", tmp_path, WRITES, {"text": "done"}) as made:
        yield made


def raw(door: HttpDoor, data: bytes, seconds: float = 5.0) -> bytes:
    """Sends these bytes and returns the reply, up to where the server closes or sends nothing for `seconds`."""
    host, port = door.host.split(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=seconds) as sent:
        sent.sendall(data)
        with contextlib.suppress(TimeoutError, ConnectionError):
            while chunk := sent.recv(65536):
                received += chunk
                if b"\r\n\r\n" in received and b"HTTP/1.1 4" in received:
                    break
    return received


def posted(door: HttpDoor, body: bytes, *headers: str, path: str = "/v1/runs") -> bytes:
    """Posts `body` with exactly these headers and its length, and returns the raw reply."""
    head = "\r\n".join((f"POST {path} HTTP/1.1", *headers, f"Content-Length: {len(body)}", "", ""))
    return raw(door, head.encode() + body)


RUN = json.dumps(request("t")).encode()


def untouched(door: HttpDoor) -> None:
    """Asserts that nothing was done and that the server still serves a client with the token."""
    assert not (door.workspace / "b.py").exists()
    status = json.loads(door.call("GET", "/v1/status").read())
    assert (status["running_turns"], status["workspace"]) == (0, str(door.workspace))
    assert json.loads(door.call("GET", "/v1/sessions").read()) == []


def test_what_has_the_token_is_served(door: HttpDoor) -> None:
    assert door.result(door.run(request("t")))["status"] == "completed"
    assert (door.workspace / "b.py").exists()


HEADERS = {
    "THR-http-no-token": ("Host: {host}", "Content-Type: application/json"),
    "THR-http-a-wrong-token": ("Host: {host}", "Content-Type: application/json", "Authorization: Bearer {wrong}"),
    "THR-http-a-shorter-token": ("Host: {host}", "Content-Type: application/json", "Authorization: Bearer {short}"),
    "THR-http-another-scheme": ("Host: {host}", "Content-Type: application/json", "Authorization: Basic {token}"),
    "THR-http-two-tokens": (
        "Host: {host}",
        "Content-Type: application/json",
        "Authorization: Bearer {wrong}",
        "Authorization: Bearer {token}",
    ),
    "THR-http-a-cookie": ("Host: {host}", "Content-Type: application/json", "Cookie: token={token}"),
    "THR-http-a-name-that-resolves-here": (
        "Host: evil.example:{port}",
        "Content-Type: application/json",
        "Authorization: Bearer {token}",
    ),
    "THR-http-another-port": ("Host: 127.0.0.1:1", "Content-Type: application/json", "Authorization: Bearer {token}"),
    "THR-http-no-host": ("Content-Type: application/json", "Authorization: Bearer {token}"),
    "THR-http-two-hosts": (
        "Host: {host}",
        "Host: evil.example",
        "Content-Type: application/json",
        "Authorization: Bearer {token}",
    ),
    "THR-http-another-origin": (
        "Host: {host}",
        "Content-Type: application/json",
        "Origin: http://evil.example",
        "Authorization: Bearer {token}",
    ),
    "THR-http-the-origin-of-a-file": (
        "Host: {host}",
        "Content-Type: application/json",
        "Origin: null",
        "Authorization: Bearer {token}",
    ),
    "THR-http-a-page-of-another-site": (
        "Host: {host}",
        "Content-Type: application/json",
        "Sec-Fetch-Site: cross-site",
        "Authorization: Bearer {token}",
    ),
    "THR-http-a-form-of-text": ("Host: {host}", "Content-Type: text/plain", "Authorization: Bearer {token}"),
    "THR-http-a-form-of-fields": (
        "Host: {host}",
        "Content-Type: application/x-www-form-urlencoded",
        "Authorization: Bearer {token}",
    ),
}


def spelled(door: HttpDoor, headers: tuple[str, ...]) -> tuple[str, ...]:
    values = {"host": door.host, "port": door.host.split(":")[1], "token": door.token}
    values |= {"wrong": "x" * len(door.token), "short": door.token[:-1]}
    return tuple(header.format(**values) for header in headers)


@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
def test_a_request_that_is_not_the_persons_has_nothing_done(headers: tuple[str, ...], door: HttpDoor) -> None:
    answer = posted(door, RUN, *spelled(door, headers))
    assert answer.startswith(b"HTTP/1.1 4"), answer[:200]
    assert b"access-control" not in answer.lower()
    untouched(door)


def test_THR_http_a_token_in_an_address_is_none(door: HttpDoor) -> None:
    for path in (f"/v1/runs?token={door.token}", f"/v1/runs?access_token={door.token}", f"/v1/runs#{door.token}"):
        answer = posted(door, RUN, f"Host: {door.host}", "Content-Type: application/json", path=path)
        assert answer.startswith(b"HTTP/1.1 4")
    untouched(door)


def test_THR_http_looking_changes_nothing(door: HttpDoor) -> None:
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "TRACE"):
        answer = door.call(method, "/v1/runs")
        answer.read()
        assert answer.status in {404, 405}
        assert answer.getheader("Access-Control-Allow-Origin") is None
    untouched(door)


LOOKS = (
    "/v1/approvals",
    "/v1/audit",
    "/v1/audit/{call}",
    "/v1/agents",
    "/v1/sessions",
    "/v1/status",
    "/v1/openapi.json",
)


def test_THR_http_looking_needs_the_token_and_changes_nothing(door: HttpDoor) -> None:
    assert door.result(door.run(request("t")))["status"] == "completed"
    before = recorded(door)
    for path in (look.format(call=before[0]) for look in LOOKS):
        for kept, headers in (
            (False, {"Authorization": "Bearer wrong"}),
            (False, {"Authorization": f"Bearer {door.token}", "Origin": "http://evil.example"}),
            (False, {"Authorization": f"Bearer {door.token}", "Sec-Fetch-Site": "cross-site"}),
            (True, {}),
        ):
            answer = door.call("GET", path, **headers)
            answer.read()
            assert (answer.status < 300) is kept, (path, headers)
            assert answer.getheader("Access-Control-Allow-Origin") is None
            if kept:
                assert answer.getheader("X-Content-Type-Options") == "nosniff"
                assert answer.getheader("Cache-Control") == "no-store"
        for method in ("POST", "PUT", "DELETE"):
            assert door.call(method, path, {}).status in {404, 405}, (method, path)
    assert recorded(door) == before


def recorded(door: HttpDoor) -> list[Any]:
    return [each["number"] for each in json.loads(door.call("GET", "/v1/audit?limit=500").read())]


HOSTILE = (
    *("limit=0", "limit=501", "limit=-1", "limit=1e9", "limit=%D9%A1", "limit=", "limit=1&limit=2", "decision=allow"),
    *("decision=denied%27%20OR%201=1", "token=x", "since=0", "kind=%00", "database=/etc/passwd"),
)


def test_THR_http_a_hostile_query_is_refused_and_finds_no_other_file(door: HttpDoor) -> None:
    assert door.result(door.run(request("t")))["status"] == "completed"
    for query in HOSTILE:
        answer = door.call("GET", f"/v1/audit?{query}")
        assert (answer.status, json.loads(answer.read())["error"]["code"]) == (400, "invalid_request"), query
    for session in ("%27%20OR%20%271%27=%271", "%25", "*", "..%2F..", "%00", "x" * 4000):
        assert json.loads(door.call("GET", f"/v1/audit?session={session}").read()) == []
    for call in ("999999", "0", "-1", "1e3", "%27%20OR%201=1", "..%2Fetc%2Fpasswd", "%00", "9" * 400, "x" * 4000):
        answer = door.call("GET", f"/v1/audit/{call}")
        assert answer.status == 404, (call, answer.status)
        assert json.loads(answer.read())["error"]["fix"]


def shaken(door: HttpDoor, *headers: str) -> bytes:
    """Returns the reply to the handshake of a WebSocket."""
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}")
    return raw(door, "\r\n".join(("GET /v1/ws HTTP/1.1", *headers, *upgrade, "", "")).encode(), seconds=2.0)


SHAKEN = {
    "THR-websocket-no-token": HEADERS["THR-http-no-token"],
    "THR-websocket-a-wrong-token": HEADERS["THR-http-a-wrong-token"],
    "THR-websocket-a-cookie": HEADERS["THR-http-a-cookie"],
    "THR-websocket-a-name-that-resolves-here": HEADERS["THR-http-a-name-that-resolves-here"],
    "THR-websocket-another-origin": HEADERS["THR-http-another-origin"],
    "THR-websocket-a-page-of-another-site": HEADERS["THR-http-a-page-of-another-site"],
}


@pytest.mark.parametrize("headers", SHAKEN.values(), ids=SHAKEN)
def test_a_websocket_that_is_not_the_persons_is_not_opened(headers: tuple[str, ...], door: HttpDoor) -> None:
    assert b"101" not in shaken(door, *spelled(door, headers)).partition(b"\r\n")[0]
    untouched(door)


def test_a_websocket_of_our_own_page_is_opened(door: HttpDoor) -> None:
    named = f"Sec-WebSocket-Protocol: remit, remit.token.{door.token}"
    answer = shaken(door, f"Host: {door.host}", f"Origin: http://{door.host}", named)
    assert b"101" in answer.partition(b"\r\n")[0]
    assert door.token.encode() not in answer, "the token is not sent back"


SMUGGLED = {
    "THR-http-a-length-and-chunks": "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "THR-http-two-lengths": "Content-Length: 0\r\nContent-Length: 200\r\n\r\n",
    "THR-http-a-length-with-a-sign": "Content-Length: +0\r\n\r\n",
    "THR-http-chunks-spelled-oddly": "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "THR-http-a-folded-header": "Content-Length: 0\r\nX: a\r\n  Content-Length: 9\r\n\r\n",
}


@pytest.mark.parametrize("framing", SMUGGLED.values(), ids=SMUGGLED)
def test_a_request_within_a_request_needs_a_token_of_its_own(framing: str, door: HttpDoor) -> None:
    outer = f"POST /v1/nothing HTTP/1.1\r\nHost: {door.host}\r\nAuthorization: Bearer {door.token}\r\n{framing}"
    inner = f"POST /v1/runs HTTP/1.1\r\nHost: {door.host}\r\nContent-Type: application/json\r\nContent-Length: {len(RUN)}\r\n\r\n"
    raw(door, outer.encode() + inner.encode() + RUN, seconds=2.0)
    untouched(door)


def test_THR_http_hundreds_of_connections_that_say_nothing_end_nothing(door: HttpDoor) -> None:
    host, port = door.host.split(":")
    with contextlib.ExitStack() as held:
        for _ in range(400):
            idle = held.enter_context(socket.create_connection((host, int(port)), timeout=5))
            idle.sendall(b"POST /v1/runs HTTP/1.1\r\nHost: ")
    deadline = time.monotonic() + 20
    while door.call("GET", "/v1/status").status == 503:  # until the server has noticed that they are closed
        assert time.monotonic() < deadline
        time.sleep(0.05)
    untouched(door)


def test_THR_http_a_body_without_end_is_not_kept(door: HttpDoor) -> None:
    part = b"%x\r\n%b\r\n" % (1 << 20, b"[" * (1 << 20))
    head = f"POST /v1/runs HTTP/1.1\r\nHost: {door.host}\r\nAuthorization: Bearer {door.token}\r\n"
    head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    host, port = door.host.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as sent, contextlib.suppress(ConnectionError):
        sent.sendall(head.encode())
        for _ in range(40):
            sent.sendall(part)
        assert sent.recv(64).startswith(b"HTTP/1.1 413")
    untouched(door)


def test_THR_http_what_is_no_request_of_the_contract_is_answered(door: HttpDoor) -> None:
    bodies: list[Any] = [{}, [], "x", {"run": 1}, {**request("t"), "more": 1}, [[[]]] * 1000]
    for body in bodies:
        answer = door.call("POST", "/v1/runs", body)
        assert answer.status == 400
        assert json.loads(answer.read())["error"]["fix"]
    for path in ("/v1/runs/s/t/events", "/v1/runs/s/t/events?after=-1", "/v1/runs/s/t/events?after=x", "/v1/nothing"):
        answer = door.call("GET", path)
        assert answer.status in {400, 404, 409}
        assert json.loads(answer.read())["error"]["why"]
    untouched(door)


def test_THR_http_the_token_is_the_persons_alone_and_gone_with_the_server(door: HttpDoor, tmp_path: Path) -> None:
    (file,) = (tmp_path / "state").rglob("http-token-*")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().strip() == door.token
    door.process.terminate()
    door.process.wait(20)
    assert not file.exists()


def test_THR_http_it_listens_on_this_machine_alone(door: HttpDoor) -> None:
    port = int(door.host.split(":")[1])
    local = socket.gethostbyname(socket.gethostname())
    if local.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((local, port), timeout=2).close()


def test_the_page_holds_no_token_and_runs_no_script_but_its_own(door: HttpDoor) -> None:
    scripts = ("page", "common", "questions", "chat", "audit", "agents")
    for path in ("/", "/page.css", *(f"/{name}.js" for name in scripts)):
        answer = door.call("GET", path, Authorization="none")
        assert answer.status == 200
        text = answer.read().decode()
        assert door.token not in text
        # Text of a file, a model or an agent must not become markup, and nothing is loaded from another site.
        assert not [
            word for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(") if word in text
        ]
        assert "//" not in text.replace("// ", "")
        policy = answer.getheader("Content-Security-Policy") or ""
        assert "default-src 'none'; script-src 'self'" in policy
        assert "unsafe" not in policy
