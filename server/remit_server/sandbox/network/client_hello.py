"""Reads the first bytes of a tunnel: whether they are a TLS ClientHello, and for which host (RFC 8446 §4.1.2, RFC 6066
§3). Pure."""

from __future__ import annotations

from dataclasses import dataclass

from remit_governance.hosts import Endpoint

MAX_HELLO = 1 << 16
"""The most bytes of a ClientHello; browsers send about two thousand."""

_RECORD_HEAD, _MESSAGE_HEAD = 5, 4
_CLIENT_HELLO, _SERVER_NAME, _HOST_NAME = 1, 0, 0
_MAX_RECORD = 1 << 14
_VERSION_AND_RANDOM = 34


class NoHello(Exception):
    """The bytes do not begin with a ClientHello that may pass; the message says why."""


@dataclass(frozen=True, slots=True)
class ClientHello:
    """A whole ClientHello, with the host name that it asks for in lower case, or None if it names none."""

    server_name: str | None


def read_hello(data: bytes) -> ClientHello | None:
    """Returns the ClientHello at the beginning of a tunnel, or None if more bytes are needed. Raises NoHello."""
    message = _handshake_message(data)
    if message is None:
        return None
    try:
        return ClientHello(_read_server_name(_read_extensions(_Fields(message))))
    except IndexError:
        raise NoHello("its ClientHello is malformed") from None


def check_hello(hello: ClientHello, endpoint: Endpoint) -> None:
    """Raises NoHello if the hello is for another host than the endpoint's. If the endpoint is an address, the hello may
    name no host."""
    name = hello.server_name
    if name is None:
        if endpoint.address is None:
            raise NoHello("its TLS names no host")
        return
    if name.removesuffix(".") != endpoint.host:
        raise NoHello(f"its TLS is for `{name[:100]}`")


def _handshake_message(data: bytes) -> bytes | None:
    """Returns the body of the first handshake message, which may be spread over several records, or None if it is not
    complete yet. Raises NoHello."""
    gathered, at = bytearray(), 0
    while True:
        if gathered and gathered[0] != _CLIENT_HELLO:
            raise NoHello("its TLS does not begin with a ClientHello")
        if len(gathered) >= _MESSAGE_HEAD:
            end = _MESSAGE_HEAD + int.from_bytes(gathered[1:_MESSAGE_HEAD])
            if end > MAX_HELLO:
                raise NoHello("its ClientHello is too long")
            if len(gathered) >= end:
                return bytes(gathered[_MESSAGE_HEAD:end])
        head = data[at : at + _RECORD_HEAD]
        if head[:1] not in {b"", b"\x16"} or head[1:2] not in {b"", b"\x03"}:
            raise NoHello("it does not begin as TLS")
        if len(head) < _RECORD_HEAD:
            return None
        length = int.from_bytes(head[3:])
        if not 0 < length <= _MAX_RECORD:
            raise NoHello("it does not begin as TLS")
        record = data[at + _RECORD_HEAD : at + _RECORD_HEAD + length]
        gathered += record
        if len(record) < length and bytes(gathered[:1]) in {b"", b"\x01"}:
            return None
        at += _RECORD_HEAD + length


class _Fields:
    """Reads fields one after another. Raises IndexError if a field reaches over the end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise IndexError
        self._at += count
        return self._data[self._at - count : self._at]

    def counted(self, width: int) -> bytes:
        """Returns a field that follows its length, which takes `width` bytes."""
        return self.take(int.from_bytes(self.take(width)))


def _read_extensions(hello: _Fields) -> dict[int, bytes]:
    hello.take(_VERSION_AND_RANDOM)
    for width in (1, 2, 1):  # session, cipher suites, compression
        hello.counted(width)
    found: dict[int, bytes] = {}
    extensions = _Fields(hello.counted(2) if hello.left else b"")
    if hello.left:
        raise IndexError
    while extensions.left:
        kind = int.from_bytes(extensions.take(2))
        if kind in found:  # refuse duplicates, because of two names the server might take the other one
            raise IndexError
        found[kind] = extensions.counted(2)
    return found


def _read_server_name(extensions: dict[int, bytes]) -> str | None:
    if _SERVER_NAME not in extensions:
        return None
    extension = _Fields(extensions[_SERVER_NAME])
    names = _Fields(extension.counted(2))
    kind, name = names.take(1)[0], names.counted(2)
    if extension.left or names.left or kind != _HOST_NAME or not name.isascii():
        raise IndexError
    return name.decode("ascii").lower()
