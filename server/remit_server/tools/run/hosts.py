"""The hosts that a command may reach: what policy is asked about them, and what its sandbox gets (BOX-03)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from remit_governance.hosts import Endpoint
from remit_server.sandbox.network.proxy_socket import network_environment
from remit_server.sandbox.ports import CommandSpec
from remit_server.tools.spec import Target

_NO_NETWORK = re.compile(
    "could not resolve host|temporary failure in name resolution|name or service not known|network is unreachable|"
    "getaddrinfo (?:enotfound|eai_again)|nodename nor servname|failed to lookup address",
    re.IGNORECASE,
)
"""What programs print where they reach nothing."""


def host_targets(endpoints: Iterable[Endpoint]) -> tuple[Target, ...]:
    """Returns a target for each host that a command is to reach."""
    return tuple(Target("net.connect", host=str(endpoint)) for endpoint in endpoints)


def with_hosts(spec: CommandSpec, endpoints: tuple[Endpoint, ...]) -> CommandSpec:
    """Returns the command with a network to these hosts, of which its programs are told; without any, as it is."""
    if not endpoints:
        return spec
    return replace(
        spec,
        environment={**spec.environment, **network_environment(endpoints)},
        network=tuple(map(str, endpoints)),
        template="integration-test",
    )


def lacked_network(printed: str) -> bool:
    """Returns whether a program says here that it reached nothing."""
    return _NO_NETWORK.search(printed) is not None
