"""Which addresses a name may lead a command to: public ones, and those that were listed themselves; pure
(BOX-03)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from remit_governance.hosts import Endpoint, IPAddress

# Public by their numbers, or so an older Python says, but not by what answers there: providers' own services.
_INSIDE = tuple(map(ipaddress.ip_network, ("168.63.129.16", "192.0.0.0/24", "64:ff9b:1::/48", "fec0::/10")))
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


def refused_address(address: IPAddress, port: int, listed: frozenset[Endpoint]) -> str | None:
    """Why nothing connects to this address, in words; None where it may."""
    if Endpoint(str(address), port) in listed:
        return None
    if all(map(_is_public, _addresses_meant(address))):
        return None
    # The address itself is not told: what names mean in the person's network is nobody else's business.
    return "it leads to an address that is not public, and that is not listed itself"


def _is_public(address: IPAddress) -> bool:
    return address.is_global and not address.is_multicast and not any(address in network for network in _INSIDE)


def _addresses_meant(address: IPAddress) -> Iterator[IPAddress]:
    """The address, and those that it wraps."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        wrapped = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _TRANSLATED:
            wrapped.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        yield from (each for each in wrapped if each is not None)
