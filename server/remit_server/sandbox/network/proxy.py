"""The only way out of a sandbox: CONNECT to listed hosts, with each attempt reported (BOX-03).

The proxy accepts on a socket that was made inside (`relay.py`) and connects from outside. It resolves names itself, and
connects to exactly the address that it has checked. A tunnel has to begin with a TLS ClientHello for the listed host;
the proxy does not see what the tunnel carries after that.

A name may lead a command only to public addresses, and to addresses that are listed themselves (BOX-03).
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from remit_governance.hosts import THIS_MACHINE, Endpoint, IPAddress, parse_endpoint
from remit_server.errors import ToolError
from remit_server.sandbox.network.client_hello import NoHello, check_hello, read_hello
from remit_server.sandbox.network.sandbox_peer import Caller

MAX_HEAD = 8192
"""Bytes of a request before its tunnel begins."""

MAX_OPEN = 64
"""Connections at one time; further ones are closed at once."""

MAX_BYTES = 1 << 30
"""Bytes through all tunnels of a command, in both directions together."""

_HEAD_S = 10.0
_CONNECT_S = 15.0
_SHOWN = 100
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to connect: `target` is `host` or `host:port`, or the text that was requested instead.

    `why` says why it was denied. `by` is the process that has connected, as the kernel says; it does not count when
    attempts are compared.
    """

    target: str
    allowed: bool
    why: str = ""
    by: Caller | None = field(default=None, compare=False)


Told = Callable[[Attempt], None]
"""Takes an attempt before the connection is made. May raise ToolError; then the connection is not made."""


Find = Callable[[tuple[str, int], tuple[str, int]], Caller | None]
"""Finds the process of the sandbox that has connected from the first address to the second; None if none has."""
InForce = Callable[[str], bool]
"""Says whether a tunnel to a host, given as an attempt's `target`, is still allowed."""


def always_in_force(host: str) -> bool:
    """Returns True: for a command that a person runs, without a capability token."""
    del host
    return True


class Denied(Exception):
    """An attempt is denied; `why` is the reason."""

    def __init__(self, target: str, why: str) -> None:
        super().__init__(why)
        self.target, self.why = target, why


def parse_request(head: bytes, listed: frozenset[Endpoint]) -> Endpoint:
    """Returns the listed endpoint that a request names; pure. Raises Denied for everything else."""
    line = head.partition(b"\r\n")[0].decode("latin-1")
    method, _, rest = line.partition(" ")
    target, _, version = rest.partition(" ")
    shown = target[:_SHOWN] or line[:_SHOWN]
    if method != "CONNECT":
        raise Denied(shown, "only CONNECT is allowed, as for https; plain http is not")
    if version not in {"HTTP/1.1", "HTTP/1.0"}:
        raise Denied(shown, "it is not an HTTP/1.1 request")
    try:
        endpoint = parse_endpoint(target, needs_port=True)
    except ValueError as error:
        raise Denied(shown, str(error)) from None
    if endpoint not in listed:
        raise Denied(str(endpoint), "it is not listed")
    return endpoint


@dataclass(slots=True)
class Proxy:
    """Serves one command, which may reach only what is `listed`. `find` finds its processes; no others are served.

    Once `in_force` says no, nothing more goes through a tunnel (APP-13).
    """

    listed: frozenset[Endpoint]
    told: Told
    find: Find
    in_force: InForce = always_in_force
    max_bytes: int = MAX_BYTES
    _carried: int = 0
    _open: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    @contextlib.asynccontextmanager
    async def serving(self, listener: socket.socket, port: int | None = None) -> AsyncGenerator[None]:
        """Serves on this socket; on exit cuts every connection. With a `port`, each connection leads to that port of
        this machine instead of to the proxy."""
        server = await asyncio.start_server(partial(self._accept, port), sock=listener, limit=MAX_HEAD)
        try:
            yield
        finally:
            server.close()
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

    async def _accept(self, port: int | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if len(self._open) <= MAX_OPEN:
                with contextlib.suppress(OSError):
                    await self._identify(port, reader, writer)
        finally:
            self._open.discard(task)
            writer.close()

    async def _identify(self, port: int | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves a process of the sandbox; cuts any other before a byte of it is read."""
        theirs, ours = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        if theirs is None or ours is None:
            return  # the connection was gone before we looked at it
        by = await asyncio.to_thread(self.find, theirs[:2], ours[:2])
        if by is None:
            why = "the process that connects is not in this sandbox"
            self._record_denial(Attempt("the proxy", allowed=False, why=why))
            return
        if port is None:
            await self._serve(reader, writer, by)
        else:
            await self._lead_to(port, reader, writer, by)

    async def _lead_to(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, by: Caller) -> None:
        """Reports a connection to a listed port of this machine, and carries it there."""
        target = str(Endpoint(THIS_MACHINE, port))
        try:
            self._tell(Attempt(target, allowed=True, by=by))
            async with asyncio.timeout(_CONNECT_S):
                outside = await asyncio.open_connection("127.0.0.1", port, limit=_CHUNK)
        except (Denied, OSError, TimeoutError):
            return
        try:
            await self._carry_on((reader, writer), outside, target, by)
        finally:
            outside[1].close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, by: Caller) -> None:
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            await _answer(writer, "400 Bad Request", "the request is not complete")
            return
        try:
            endpoint = parse_request(head, self.listed)
            addresses = await self._reachable(endpoint, by)
        except Denied as denied:
            await self._deny(writer, denied, by)
            return
        try:
            async with asyncio.timeout(_CONNECT_S):
                outside = await _connect_first(addresses, endpoint)
        except (OSError, TimeoutError):
            await _answer(writer, "502 Bad Gateway", "it does not answer")
            return
        try:
            await _answer(writer, "200 Connection Established")
            try:
                hello = await _read_hello(reader, endpoint)
            except NoHello as error:
                self._record_denial(Attempt(str(endpoint), allowed=False, why=str(error), by=by))
                return
            self._carried += len(hello)
            outside[1].write(hello)
            await self._carry_on((reader, writer), outside, str(endpoint), by)
        finally:
            outside[1].close()

    async def _deny(self, writer: asyncio.StreamWriter, denied: Denied, by: Caller) -> None:
        self._record_denial(Attempt(denied.target, allowed=False, why=denied.why, by=by))
        await _answer(writer, "403 Forbidden", denied.why)

    def _record_denial(self, attempt: Attempt) -> None:
        with contextlib.suppress(ToolError):  # the connection is refused or cut in any case
            self.told(attempt)

    async def _reachable(self, endpoint: Endpoint, by: Caller) -> list[IPAddress]:
        """Returns the addresses of this host that may be reached, after reporting the attempt. Raises Denied."""
        try:
            async with asyncio.timeout(_CONNECT_S):
                addresses = await _resolve(endpoint)
        except (OSError, TimeoutError):
            raise Denied(str(endpoint), "its name cannot be resolved") from None
        refusals = {address: refused_address(address, endpoint.port, self.listed) for address in addresses}
        reachable = [address for address, why in refusals.items() if why is None]
        if not reachable:
            raise Denied(str(endpoint), next(filter(None, refusals.values()), "it has no address"))
        self._tell(Attempt(str(endpoint), allowed=True, by=by))
        return reachable

    def _tell(self, attempt: Attempt) -> None:
        try:
            self.told(attempt)
        except ToolError as error:
            raise Denied(attempt.target, error.why) from error

    async def _carry_on(
        self,
        inside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        outside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        host: str,
        by: Caller,
    ) -> None:
        """Carries both directions of a tunnel until both end, or until `in_force` says no; reports the latter."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self._pass_on(inside[0], outside[1], host))
            both.create_task(self._pass_on(outside[0], inside[1], host))
        if not self.in_force(host):
            why = "what allowed it was no longer in force, and its tunnel was cut"
            self._record_denial(Attempt(host, allowed=False, why=why, by=by))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        """Carries one direction of a tunnel to its end or to a limit; if one side breaks, cuts the other."""
        try:
            while self._carried < self.max_bytes and (chunk := await reader.read(_CHUNK)):
                if not self.in_force(host):
                    break
                self._carried += len(chunk)
                writer.write(chunk)
                await writer.drain()
            if self._carried < self.max_bytes and self.in_force(host):
                writer.write_eof()
                return
        except OSError:
            pass
        writer.transport.abort()


async def _read_hello(reader: asyncio.StreamReader, endpoint: Endpoint) -> bytes:
    """Returns the first bytes of a tunnel, once they hold a whole ClientHello for this host. Raises NoHello.

    Nothing goes in either direction before that: neither a request in plain text, nor a server's greeting.
    """
    data = b""
    try:
        async with asyncio.timeout(_HEAD_S):
            while (hello := read_hello(data)) is None:
                chunk = await reader.read(_CHUNK)
                if not chunk:
                    raise NoHello("it ended before its TLS began" if data else "it carried nothing")
                data += chunk
    except TimeoutError:
        raise NoHello("its TLS did not begin in time") from None
    except OSError:
        raise NoHello("it broke before its TLS began") from None
    check_hello(hello, endpoint)
    return data


async def _resolve(endpoint: Endpoint) -> list[IPAddress]:
    """Returns the endpoint's addresses, each once. Raises OSError."""
    if endpoint.address is not None:
        return [endpoint.address]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    # A link-local address comes with a zone, which is cut off, because the address is refused anyway.
    return [ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in dict.fromkeys(found)]


async def _connect_first(
    addresses: Iterable[IPAddress], endpoint: Endpoint
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects to the first address that answers, by number so that the name is not resolved again. Raises OSError."""
    refused = OSError("no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(str(address), endpoint.port, limit=_CHUNK)
        except OSError as error:
            refused = error
    raise refused


async def _answer(writer: asyncio.StreamWriter, status: str, why: str = "") -> None:
    body = f"remit: {why}\n" if why else ""
    length = f"Content-Length: {len(body)}\r\nConnection: close\r\n" if why else ""
    with contextlib.suppress(OSError):
        writer.write(f"HTTP/1.1 {status}\r\n{length}\r\n{body}".encode())
        await writer.drain()


# Networks that `is_global` takes for public, at least in an older Python, but where internal services answer, such as
# those of cloud providers.
_INSIDE = tuple(map(ipaddress.ip_network, ("168.63.129.16", "192.0.0.0/24", "64:ff9b:1::/48", "fec0::/10")))
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


def refused_address(address: IPAddress, port: int, listed: frozenset[Endpoint]) -> str | None:
    """Returns in words why this address must not be connected to, or None if it may be."""
    if Endpoint(str(address), port) in listed:
        return None
    if all(map(_is_public, _addresses_meant(address))):
        return None
    # The message leaves out the address, so that a command learns nothing about names in the person's network.
    return "its address is not public, and is not listed itself"


def _is_public(address: IPAddress) -> bool:
    return address.is_global and not address.is_multicast and not any(address in network for network in _INSIDE)


def _addresses_meant(address: IPAddress) -> Iterator[IPAddress]:
    """Yields the address, and the IPv4 addresses that it embeds."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        wrapped = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _TRANSLATED:
            wrapped.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        yield from (each for each in wrapped if each is not None)
