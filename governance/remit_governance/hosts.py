"""Network hosts by their exact names: one spelling for each, and nothing that could be read as another
(BOX-03)."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

DEFAULT_PORT = 443
"""The port that is meant where none is given."""

THIS_MACHINE = "localhost"
"""The name by which a port of this machine is reached, as it is; a name that only leads here is refused."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_MAX_NAME = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
# What resolvers take for an IPv4 address in one of its older forms, such as `0x7f.1` and `2130706433`.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """A host in its one spelling (lower case, no dot at the end, IPv6 without brackets) and a port."""

    host: str
    port: int = DEFAULT_PORT

    @property
    def address(self) -> IPAddress | None:
        """The address that the host is; None for a name."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    def __str__(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == DEFAULT_PORT else f"{name}:{self.port}"


def parse_endpoint(text: str, *, needs_port: bool = False) -> Endpoint:
    """Parses what `host` or `host:port` names, an IPv6 address in brackets. Raises ValueError that says what is
    wrong.
    """
    name, colon, port = _split(text)
    if needs_port and not colon:
        raise ValueError("it has no port")
    if colon and (not _PORT.fullmatch(port) or int(port) > 0xFFFF):
        raise ValueError("its port is no number from 1 to 65535")
    return Endpoint(name, int(port) if colon else DEFAULT_PORT)


def host_and_port(text: str) -> tuple[str, int | None]:
    """Returns the same of a text that may name no host: then it is its own name. The port is None where none is
    given."""
    try:
        endpoint = parse_endpoint(text)
    except ValueError:
        return text.lower(), None
    return endpoint.host, endpoint.port if _split(text)[1] else None


def _split(text: str) -> tuple[str, str, str]:
    """Name, colon and port. Raises ValueError where the name is none."""
    if text.startswith("["):
        name, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError("its brackets are not those of an address")
        return _ipv6(name), rest[:1], rest[1:]
    name, colon, port = text.partition(":")
    return _name(name), colon, port


def _ipv6(text: str) -> str:
    if "%" in text:
        raise ValueError("an address has no zone here")
    try:
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        raise ValueError("what is in its brackets is no address") from None


def _name(text: str) -> str:
    if not text.isascii():
        raise ValueError("it is not plain ASCII: spell the name as `xn--…`")
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > _MAX_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("it is no exact host name")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            raise ValueError("it is no address in its usual form") from None
    return name
