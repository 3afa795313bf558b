"""The rules of the proxy: what it accepts as a request, and to which addresses a name may lead (LSP-04)."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from rows import rows
from tls import client_hello

from remit_governance.hosts import Endpoint
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.commands.inside import MAX_DENIED, Attempts
from remit_server.machine.peers import connections
from remit_server.sandbox.network.client_hello import NoHello, check_hello, read_hello
from remit_server.sandbox.network.proxy import (
    MAX_HEAD,
    MAX_OPEN,
    Attempt,
    Denied,
    Proxy,
    parse_request,
    refused_address,
)
from remit_server.sandbox.network.sandbox_peer import Caller, SandboxProcesses

LISTED = frozenset({Endpoint("example.org"), Endpoint("127.0.0.1", 8080)})


@pytest.mark.parametrize("target", ["example.org:443", "EXAMPLE.ORG:443", "example.org.:443"])
def test_a_listed_host_is_the_same_in_every_spelling(target: str) -> None:
    assert parse_request(f"CONNECT {target} HTTP/1.1\r\nHost: evil.org\r\n\r\n".encode(), LISTED) == Endpoint(
        "example.org"
    )


REFUSED = (
    *("CONNECT example.org:80 HTTP/1.1", "CONNECT example.org HTTP/1.1", "CONNECT sub.example.org:443 HTTP/1.1"),
    *(
        "CONNECT evil.org:443 HTTP/1.1",
        "CONNECT example.org@evil.org:443 HTTP/1.1",
        "CONNECT  example.org:443 HTTP/1.1",
    ),
    *("GET http://example.org/ HTTP/1.1", "GET / HTTP/1.1", "connect example.org:443 HTTP/1.1", "CONNECT"),
    *("CONNECT example.org:443 HTTP/1.1 x", "CONNECT example.org:443", "CONNECT example.org:443 HTTP/2", ""),
    *(
        "CONNECT /run/docker.sock HTTP/1.1",
        "CONNECT unix:/run/docker.sock:443 HTTP/1.1",
        "CONNECT 2130706433:8080 HTTP/1.1",
    ),
    *("CONNECT 127.1:8080 HTTP/1.1", "CONNECT [::ffff:127.0.0.1]:8080 HTTP/1.1", "CONNECT example.org\t:443 HTTP/1.1"),
    *("CONNECT exam\u212ale.org:443 HTTP/1.1", "CONNECT example.org\u3002:443 HTTP/1.1", "CONNECT *:443 HTTP/1.1"),
)


@rows("line", REFUSED)
def test_thr_sandbox_network_another_spelling_is_another_host(line: str) -> None:
    """THR-sandbox-network-spellings: user parts, wide dots, wrapped and shortened addresses, paths, other methods."""
    with pytest.raises(Denied):
        parse_request(f"{line}\r\n\r\n".encode(), LISTED)


@given(st.binary(max_size=60))
def test_whatever_comes_is_a_listed_host_or_denied(head: bytes) -> None:
    for text in (head, b"CONNECT " + head + b" HTTP/1.1\r\n\r\n"):
        try:
            endpoint = parse_request(text, LISTED)
        except Denied:
            continue
        assert endpoint in LISTED


INSIDE = (
    *(
        "127.0.0.1",
        "127.9.9.9",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "0.0.0.0",
    ),
    *("168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "203.0.113.1"),
    *("::1", "::", "fe80::1", "fd00:ec2::254", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254"),
    *("64:ff9b::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::", "2001:db8::1"),
)


@rows("address", INSIDE)
def test_thr_sandbox_network_no_name_leads_inside(address: str) -> None:
    """THR-sandbox-network-private-address: such an address is allowed only if it is listed itself, with its port."""
    parsed = ipaddress.ip_address(address)
    assert refused_address(parsed, 443, LISTED) is not None
    assert refused_address(parsed, 443, frozenset({Endpoint(str(parsed), 444)})) is not None
    assert refused_address(parsed, 443, frozenset({Endpoint(str(parsed), 443)})) is None


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101"])
def test_a_public_address_may_be_reached(address: str) -> None:
    assert refused_address(ipaddress.ip_address(address), 443, LISTED) is None


def anybody(theirs: tuple[str, int], ours: tuple[str, int]) -> Caller:
    """Finds a process for each connection, because the tests' own connections come from no sandbox."""
    del theirs, ours
    return Caller(os.getpid(), os.getpid())


@asynccontextmanager
async def served(proxy: Proxy) -> AsyncIterator[int]:
    """Serves the proxy on a port of this machine, for a client that needs no sandbox; yields the port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        async with proxy.serving(listener):
            yield listener.getsockname()[1]


async def said(port: int, text: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text)
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_a_request_without_end_is_cut_off() -> None:
    told: list[Attempt] = []
    async with served(Proxy(LISTED, told.append, anybody)) as port:
        with_luck = await said(port, b"CONNECT example.org:443 HTTP/1.1\r\nX: " + b"x" * 2 * MAX_HEAD)
    assert b"200" not in with_luck
    assert told == []


async def test_no_more_than_so_many_connections_at_one_time() -> None:
    async with served(Proxy(LISTED, lambda _: None, anybody)) as port:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MAX_OPEN)]
        with contextlib.suppress(ConnectionResetError):
            assert await said(port, b"CONNECT x:1 HTTP/1.1\r\n\r\n") == b""
        idle[0][1].close()
        await idle[0][1].wait_closed()
    for reader, writer in idle[1:]:
        assert await reader.read() == b""  # closed together with the proxy
        writer.close()


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(1000):
            writer.write(chunk)
    writer.close()


@asynccontextmanager
async def echo() -> AsyncIterator[int]:
    async with await asyncio.start_server(_echo, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def test_a_tunnel_that_breaks_inside_ends_outside() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waiting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await reader.read(1)
            begun.set()
            await reader.read()
        ended.set()
        writer.close()

    async with await asyncio.start_server(waiting, "127.0.0.1", 0) as server:
        target = server.sockets[0].getsockname()[1]
        async with served(Proxy(frozenset({Endpoint("127.0.0.1", target)}), lambda _: None, anybody)) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"CONNECT 127.0.0.1:{target} HTTP/1.1\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            writer.write(client_hello(None))
            await asyncio.wait_for(begun.wait(), 20)
            writer.transport.abort()
            await asyncio.wait_for(ended.wait(), 20)


async def test_what_cannot_be_recorded_is_not_reached() -> None:
    def told(_: Attempt) -> None:
        raise ToolError("it is full", "the disk is full", "free some", code=ErrorCode.AUDIT_BROKEN)

    async with echo() as target, served(Proxy(frozenset({Endpoint("127.0.0.1", target)}), told, anybody)) as port:
        answer = await said(port, f"CONNECT 127.0.0.1:{target} HTTP/1.1\r\n\r\nhello".encode())
    assert answer.startswith(b"HTTP/1.1 403")
    assert b"hello" not in answer


async def test_the_tunnels_carry_no_more_than_the_limit() -> None:
    async with echo() as target:
        proxy = Proxy(frozenset({Endpoint("127.0.0.1", target)}), lambda _: None, anybody, max_bytes=10_000)
        async with served(proxy) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"CONNECT 127.0.0.1:{target} HTTP/1.1\r\n\r\n".encode() + client_hello(None))
            assert await reader.readuntil(b"\r\n\r\n")
            got = len(await reader.readexactly(len(client_hello(None))))
            try:
                while got < 1_000_000:
                    writer.write(b"x" * 1000)
                    await writer.drain()
                    chunk = await reader.read(100_000)
                    if not chunk:
                        break
                    got += len(chunk)
            except OSError:
                pass
            writer.close()
    assert 1000 < got < 100_000


NAMED = client_hello("example.org")
SECURE, ADDRESS = Endpoint("example.org"), Endpoint("127.0.0.1", 8080)


def passes(data: bytes, endpoint: Endpoint = SECURE) -> bool | None:
    """Returns whether a tunnel may begin with this data, or None if more data is needed."""
    try:
        hello = read_hello(data)
        if hello is None:
            return None
        check_hello(hello, endpoint)
    except NoHello:
        return False
    return True


def records(data: bytes, size: int) -> bytes:
    """Splits a hello, which is one record, into several records."""
    parts = [data[5:][at : at + size] for at in range(0, len(data) - 5, size)]
    return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2) + part for part in parts)


@rows("size", [1, 3, 7, 100, 1 << 14])
def test_a_hello_is_read_however_it_is_cut(size: int) -> None:
    cut = records(NAMED, size)
    assert [passes(cut[:end]) for end in range(len(cut))] == [None] * len(cut)
    assert passes(cut) is passes(cut + b"more") is True


@rows(
    ("name", "endpoint", "expected"),
    [
        ("example.org", SECURE, True),
        ("EXAMPLE.org", SECURE, True),
        ("evil.org", SECURE, False),
        ("sub.example.org", SECURE, False),
        ("example.org.evil.org", SECURE, False),
        (None, SECURE, False),
        (None, ADDRESS, True),
        ("example.org", ADDRESS, False),
    ],
)
def test_THR_sandbox_network_a_hello_names_the_host_that_is_listed(
    name: str | None, endpoint: Endpoint, expected: bool
) -> None:
    assert passes(client_hello(name), endpoint) is expected


NO_TLS = [
    b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n", b"\x16\x02", b"\x17\x03\x03\x00\x01x", b"\x80\x2e\x01\x00\x02", b"\x00",
    b"\x16\x03\x01\x00\x00", b"\x16\x03\x01\xff\xff", b"\x16\x03\x01\x00\x05\x02", b"\x16\x03\x01\x00\x04\x01\x02\x00\x00",
]  # fmt: skip


@rows("data", NO_TLS)
def test_THR_sandbox_network_what_is_no_hello_is_cut_at_once(data: bytes) -> None:
    assert passes(data) is False


def test_THR_sandbox_network_a_second_name_in_a_hello_is_refused() -> None:
    """A server might use the second name."""
    name = b"\x00\x00\x00\x10\x00\x0e\x00\x00\x0bexample.org"
    assert name in NAMED
    for more in (name, name.replace(b"example.org", b"evilest.org")):
        body = bytearray(NAMED[9:])
        at = body.index(name)
        length = at - 2  # the list's length stands before its first extension, which may be the name
        while int.from_bytes(body[length : length + 2]) != len(body) - length - 2:
            length -= 1
        body[length : length + 2] = (len(body) - length - 2 + len(more)).to_bytes(2)
        body[at:at] = more
        message = b"\x01" + len(body).to_bytes(3) + body
        assert passes(b"\x16\x03\x01" + len(message).to_bytes(2) + message) is False


@given(st.data())
def test_whatever_bytes_come_are_a_hello_or_none(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(NAMED) - 1))
    changed = NAMED[:at] + data.draw(st.binary(max_size=4)) + NAMED[at + data.draw(st.integers(0, 3)) :]
    assert passes(changed) in {True, False, None}
    assert passes(data.draw(st.binary(max_size=80))) is not True


async def test_THR_sandbox_network_nothing_passes_before_a_hello_either_way() -> None:
    """Neither what a server sends first, nor plain text, nor silence passes; each is reported with its reason."""
    heard: list[bytes] = []

    async def greeting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            writer.write(b"220 welcome")
            heard.append(await reader.read())
        writer.close()

    told: list[Attempt] = []
    async with await asyncio.start_server(greeting, "127.0.0.1", 0) as server:
        target = server.sockets[0].getsockname()[1]
        async with served(Proxy(frozenset({Endpoint("127.0.0.1", target)}), told.append, anybody)) as port:
            line = f"CONNECT 127.0.0.1:{target} HTTP/1.1\r\n\r\n".encode()
            for text in (b"GET / HTTP/1.1\r\n\r\n", client_hello("evil.org"), b"\x16\x03", b""):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(line + text)
                if len(text) < 3:
                    writer.write_eof()
                assert await reader.read() == b"HTTP/1.1 200 Connection Established\r\n\r\n"
                writer.close()
    assert not any(heard)
    assert [attempt.why for attempt in told if not attempt.allowed] == [
        SAYS.it_does_not_begin_as,
        "its TLS is for `evil.org`",
        SAYS.it_ended_before_its_tls,
        SAYS.it_carried_nothing,
    ]


async def test_a_name_that_leads_to_this_machine_is_denied() -> None:
    """THR-sandbox-network-rebinding: the proxy connects to the address that it has checked."""
    told: list[Attempt] = []
    async with (
        echo() as target,
        served(Proxy(frozenset({Endpoint("localhost", target)}), told.append, anybody)) as port,
    ):
        answer = await said(port, f"CONNECT localhost:{target} HTTP/1.1\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 403")
    assert [(a.allowed, a.target) for a in told] == [(False, f"localhost:{target}")]
    assert "not public" in told[0].why


def test_attempts_are_recorded_once_each_and_not_without_end() -> None:
    admitted: list[Attempt] = []
    recorded: list[Attempt] = []
    attempts = Attempts(admitted.append, recorded.append)
    for number in range(3 * MAX_DENIED):
        attempts.note(Attempt(f"h{number}.org", allowed=False, why="it is not listed"))
        attempts.note(Attempt("example.org", allowed=True))
    attempts.note(Attempt("other.org", allowed=True))
    assert len(admitted) == 6 * MAX_DENIED + 1, "each of them has to be let go on"
    assert len(recorded) == MAX_DENIED + 3
    assert recorded[-1] == Attempt("other.org", allowed=True)
    assert "network: allowed example.org, 300 times" in attempts.report()
    assert attempts.report().endswith(f"network: and {len(recorded) - 20} more")


async def test_BOX_09_a_connection_from_no_process_of_the_sandbox_is_cut_and_told() -> None:
    told: list[Attempt] = []
    nobody = SandboxProcesses()  # a sandbox that has not begun
    async with served(Proxy(LISTED, told.append, nobody.find)) as port:
        assert await said(port, b"CONNECT example.org:443 HTTP/1.1\r\n\r\n") == b""
    assert told == [Attempt("the proxy", allowed=False, why=SAYS.the_process_that_connects_is)]


@pytest.mark.skipif(sys.platform != "linux", reason="it is bubblewrap's, on Linux")
def test_BOX_09_the_kernel_says_which_process_connects_and_below_which_one_it_is() -> None:
    """A child of the sandbox's first process is found; another process is not, nor one whose sandbox has ended."""
    program = "import socket, sys; c = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print('on', flush=True); sys.stdin.read()"
    with socket.socket() as listener, contextlib.closing(SandboxProcesses()) as inside:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        line = f'exec 3<&0; {sys.executable} -c "$0" {port} <&3 & wait'
        shell = subprocess.Popen(["/bin/sh", "-c", line, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        other = subprocess.Popen(
            [sys.executable, "-c", program, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        inside.begin(shell.pid)
        found = dict[bool, Caller | None]()
        for _ in range(2):
            with listener.accept()[0] as accepted:
                peer = accepted.getpeername()
                rows = connections(Path("/proc/self/net"))
                (row,) = (each for each in rows if (each.local, each.remote) == (peer, accepted.getsockname()))
                held = (str(entry.readlink()) for entry in Path(f"/proc/{other.pid}/fd").iterdir())
                of_other = f"socket:[{row.inode}]" in held
                found[of_other] = inside.find(peer, accepted.getsockname())
        assert found[True] is None
        caller = found[False]
        assert caller is not None
        assert caller.first == shell.pid
        assert caller.pid != shell.pid
        with socket.create_connection(("127.0.0.1", port)) as ours:
            assert inside.find(ours.getsockname(), ours.getpeername()) is None, "we are not below it"
        for each in (shell, other):
            each.communicate()
    assert inside.find(("127.0.0.1", 1), ("127.0.0.1", port)) is None


async def test_APP_13_nothing_goes_through_a_tunnel_whose_token_has_ended() -> None:
    told: list[Attempt] = []
    holds = [True]
    async with echo() as target:
        proxy = Proxy(frozenset({Endpoint("127.0.0.1", target)}), told.append, anybody, lambda _: holds[0])
        async with served(proxy) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"CONNECT 127.0.0.1:{target} HTTP/1.1\r\n\r\n".encode() + client_hello(None))
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(len(client_hello(None)))
            writer.write(b"before")
            assert await reader.readexactly(6) == b"before"
            holds[0] = False
            writer.write(b"after")
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()
    assert [(each.allowed, each.target) for each in told] == [
        (True, f"127.0.0.1:{target}"),
        (False, f"127.0.0.1:{target}"),
    ]
    assert told[1].why == SAYS.what_allowed_it_was_no
