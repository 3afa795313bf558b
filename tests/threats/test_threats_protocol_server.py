"""Clients that are not real ones: a web page that sends to a loopback address, and bytes between messages (LSP-02)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import REMIT
from lsp_pipe import Json
from running_server import POLICY, RunningServer
from threat_bench import own

pytestmark = pytest.mark.slow


def _frame(message: Json) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Listening:
    """A running `remit serve --tcp`, and its port."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "shop"
        for name in ("shop", "config"):
            (folder / name).mkdir()
        (folder / "config" / "policy.yaml").write_text(POLICY)
        homes = {"REMIT_STATE_DIR": str(folder / "state"), "REMIT_CONFIG_DIR": str(folder / "config")}
        command = [str(REMIT), "serve", "--tcp", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, env=os.environ | homes, stderr=subprocess.PIPE)
        assert self.process.stderr is not None
        self.port = int(self.process.stderr.readline().rpartition(b":")[2])

    @property
    def written(self) -> bytes:
        """The messages of a client that initializes the server and asks it to write a file."""
        params = {"processId": None, "rootUri": self.workspace.as_uri(), "capabilities": {}}
        part = own("write_file", path="evil.txt", content="x")
        return (
            _frame({"id": 1, "method": "initialize", "params": params})
            + _frame({"method": "initialized", "params": {}})
            + _frame({"id": 2, "method": "remit/run", "params": {"session_id": "s", "turn_id": "t", "input": part}})
        )

    def say(self, data: bytes, until: bytes = b"\0") -> bytes:
        """Sends `data` on a new connection, and returns the reply up to the bytes `until` or to the end of the
        connection."""
        with socket.create_connection(("127.0.0.1", self.port)) as talk:
            talk.settimeout(60)
            got = b""
            try:
                talk.sendall(data)
                while until not in got and (chunk := talk.recv(65536)):
                    got += chunk
            except ConnectionError:
                pass
            return got


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    server = Listening(tmp_path)
    yield server
    server.process.kill()
    server.process.communicate()


PAGE = "Origin: https://evil.example\r\nContent-Type: text/plain\r\n"
REQUESTS = {
    "THR-protocol-http-another-origin": "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + PAGE,
    "THR-protocol-http-rebinding-host": "POST / HTTP/1.1\r\nHost: evil.example\r\n" + PAGE,
    "THR-protocol-http-without-a-token": "POST /remit/run HTTP/1.1\r\nHost: localhost\r\n",
    "THR-protocol-http-preflight": "OPTIONS / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccess-Control-Request-Method: POST\r\n",
    "THR-protocol-http-form": "POST / HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\n",
}


@pytest.mark.parametrize("name", REQUESTS)
def test_THR_protocol_a_web_page_is_no_client(name: str, listening: Listening) -> None:
    """The connection is cut before anything is read, and a real client is served afterwards."""
    body = listening.written
    head = f"{REQUESTS[name]}Content-Length: {len(body)}\r\n\r\n".encode()
    assert listening.say(head + body) == b""
    assert list(listening.workspace.iterdir()) == []
    assert b'"id":2' in listening.say(body, until=b'"id":2')
    assert (listening.workspace / "evil.txt").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user for a moment")
def test_LSP_17_another_user_of_the_machine_is_no_client(listening: Listening, tmp_path: Path) -> None:
    """The connection is cut before a byte is read, though the messages are correct; a real client is served
    afterwards."""
    said = tmp_path / "said"
    said.write_bytes(listening.written)
    program = (
        "import socket, sys\n"
        f"with socket.create_connection(('127.0.0.1', {listening.port})) as talk:\n"
        "    talk.settimeout(60)\n"
        "    try:\n"
        "        talk.sendall(sys.stdin.buffer.read())\n"
        "        print(talk.recv(100))\n"
        "    except ConnectionError:\n"
        "        print(b'')\n"
    )
    with said.open("rb") as given:
        other = subprocess.run(
            ["/usr/bin/python3", "-c", program], stdin=given, capture_output=True, check=True, user=65534, cwd="/"
        )
    assert other.stdout == b"b''\n"
    assert list(listening.workspace.iterdir()) == []
    assert b'"id":2' in listening.say(listening.written, until=b'"id":2')
    listening.process.kill()
    assert listening.process.stderr is not None
    assert b"not known to be a process of the server's own user" in listening.process.stderr.read()


ASKED = _frame({"id": "in it", "method": "remit/status", "params": {}}).partition(b"\r\n\r\n")[2]
SIZE = len(ASKED)
JUNK = {
    "THR-protocol-server-lines-of-a-wrapper": b"starting up\nplease wait\n\n",
    "THR-protocol-server-another-protocol": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "THR-protocol-server-bytes": bytes(range(256)) * 50,
    "THR-protocol-server-lines-of-json": b'{"jsonrpc":"2.0","id":9,"method":"shutdown"}\n',
    "THR-protocol-server-a-negative-length": b"Content-Length: -%d\r\n\r\n%b" % (SIZE, ASKED),
    "THR-protocol-server-length-with-a-sign": b"Content-Length: +%d\r\n\r\n%b" % (SIZE, ASKED),
    "THR-protocol-server-length-in-hexadecimal": b"Content-Length: 0x%x\r\n\r\n%b" % (SIZE, ASKED),
    "THR-protocol-server-length-on-a-folded-line": b"Content-Length:\r\n %d\r\n\r\n%b" % (SIZE, ASKED),
    "THR-protocol-server-length-folded-in-two": b"Content-Length: 5\r\n 3\r\n\r\n%b" % ASKED,
    "THR-protocol-server-two-lengths": b"Content-Length: 2\r\nContent-Length: %d\r\n\r\n%b" % (SIZE, ASKED),
    "THR-protocol-server-cr-alone": b"Content-Length: %d\r\r%b" % (SIZE, ASKED),
    "THR-protocol-server-no-empty-line": b"Content-Length: %d\r\n%b" % (SIZE, ASKED),
    "THR-protocol-server-half-a-header": b"Content-Length: %d" % SIZE,
    "THR-protocol-server-half-a-body": b"Content-Length: %d\r\n\r\n%b" % (SIZE, ASKED[:9]),
    "THR-protocol-server-far-too-long": b"Content-Length: %d\r\n\r\n%b" % (SIZE + 10**8, ASKED),
}


@pytest.mark.parametrize("name", JUNK)
def test_THR_protocol_a_server_answers_after_bytes_that_are_no_message(name: str, tmp_path: Path) -> None:
    """The server reports what was wrong and finds the next message, or ends; it never waits for ever."""
    with RunningServer(tmp_path) as running:
        running.client.send_bytes(JUNK[name])
        running.client.result(running.client.request("remit/status", {}))
        assert running.call("write_file", path="a.txt", content="x").code is None


def test_THR_protocol_a_second_client_of_a_running_server_is_not_heard(listening: Listening) -> None:
    """THR-protocol-second-client-server: the server does nothing for the second client, and goes on with the first."""
    params = {"processId": None, "rootUri": listening.workspace.as_uri(), "capabilities": {}}
    first = _frame({"id": 1, "method": "initialize", "params": params})
    rest = listening.written.removeprefix(first)
    with socket.create_connection(("127.0.0.1", listening.port)) as talk:
        talk.settimeout(60)
        talk.sendall(first)
        _until(talk, b'"id":1')
        for _ in range(3):
            try:
                assert listening.say(listening.written) == b""
            except ConnectionError:
                continue  # the server no longer listens
        assert list(listening.workspace.iterdir()) == []
        talk.sendall(rest)
        _until(talk, b'"id":2')
    assert (listening.workspace / "evil.txt").exists()


def _until(talk: socket.socket, text: bytes) -> None:
    """Reads what the server sends until it contains `text`."""
    got = b""
    while text not in got:
        chunk = talk.recv(65536)
        assert chunk, got
        got += chunk
