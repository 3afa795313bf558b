"""Network hosts by their exact names: each has one spelling, and a name that could be read as another host is refused
(BOX-03)."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

DEFAULT_PORT = 443
"""The port that applies if none is given."""

THIS_MACHINE = "localhost"
"""The name that reaches a port of this machine. Another name that merely resolves to this machine is refused."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_MAX_NAME = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
# Resolvers read labels like these as an IPv4 address in an older form, such as `0x7f.1` or `2130706433`.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """A host in its one spelling (lower case, no dot at the end, IPv6 without brackets) and a port."""

    host: str
    port: int = DEFAULT_PORT

    @property
    def address(self) -> IPAddress | None:
        """The host as an IP address, or None if it is a name."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    def __str__(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == DEFAULT_PORT else f"{name}:{self.port}"


def parse_endpoint(text: str, *, needs_port: bool = False) -> Endpoint:
    """Parses `host` or `host:port`, where an IPv6 address stands in brackets. Raises ValueError, which says what is
    wrong.
    """
    name, colon, port = _split(text)
    if needs_port and not colon:
        raise ValueError("it has no port")
    if colon and (not _PORT.fullmatch(port) or int(port) > 0xFFFF):
        raise ValueError("its port has to be from 1 to 65535")
    return Endpoint(name, int(port) if colon else DEFAULT_PORT)


def host_and_port(text: str) -> tuple[str, int | None]:
    """Returns the host and port in `text`. The port is None if none is given. If `text` names no valid host, it is
    returned in lower case as the host."""
    try:
        endpoint = parse_endpoint(text)
    except ValueError:
        return text.lower(), None
    return endpoint.host, endpoint.port if _split(text)[1] else None


def _split(text: str) -> tuple[str, str, str]:
    """Returns the name, the colon and the port. Raises ValueError if the name is not valid."""
    if text.startswith("["):
        name, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError("its brackets do not enclose an address")
        return _ipv6(name), rest[:1], rest[1:]
    name, colon, port = text.partition(":")
    return _name(name), colon, port


def _ipv6(text: str) -> str:
    if "%" in text:
        raise ValueError("an address may not have a zone here")
    try:
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        raise ValueError("the text in its brackets is not an address") from None


def _name(text: str) -> str:
    if not text.isascii():
        raise ValueError("it is not plain ASCII: spell the name as `xn--…`")
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _MAX_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("it is not an exact host name")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            raise ValueError("it is not an address in its usual form") from None
    return name
