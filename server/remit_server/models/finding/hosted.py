"""The hosted services that the person has a key for (MOD-26)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from remit_server.models.remote.stages import PROVIDERS


@dataclass(frozen=True, slots=True)
class HostedService:
    """A service, its host, and where its key was found: the name of a variable, or `the keyring`."""

    provider: str
    host: str
    key_in: str


def find_hosted(environment: Mapping[str, str], stored: Callable[[str], str | None]) -> tuple[HostedService, ...]:
    """Returns the services with a key, without asking any of them. May wait for the keyring."""
    return tuple(
        HostedService(name, urlsplit(each.endpoint).netloc, key_in)
        for name, each in PROVIDERS.items()
        if each.key_variables and (key_in := _key_in(name, each.key_variables, environment, stored))
    )


def _key_in(
    name: str, variables: tuple[str, ...], environment: Mapping[str, str], stored: Callable[[str], str | None]
) -> str | None:
    found = next((variable for variable in variables if environment.get(variable)), None)
    return found or ("the keyring" if stored(name) else None)
