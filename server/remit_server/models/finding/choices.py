"""Every model that the person can choose here, as rows of one list (MOD-26).

The hosted services that the person has a key for (MOD-26).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from remit_server.models.finding.loopback import Fetch, fetch
from remit_server.models.finding.served import FINDERS, USUAL, ServedModel, Usual, find_served
from remit_server.models.local.hub.listing import ListedModel, list_models
from remit_server.models.remote.keys import stored
from remit_server.models.remote.reference import parse_reference, sent_to
from remit_server.models.remote.stages import PROVIDERS

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Choice:
    """One row: what Remit is told to use the model, what it is, and where messages to it go.

    `sent_to` is the host that they leave this machine for, None where they stay on it. A row that is not `whole` is
    the beginning of a reference, to which the person adds a model's name. `problem` says why it cannot be used.
    """

    reference: str
    about: str
    configured: bool = False
    sent_to: str | None = None
    whole: bool = True
    problem: str | None = None


async def find_choices(environment: Mapping[str, str], configured: str, ask: Fetch = fetch) -> tuple[Choice, ...]:
    """Looks at the loopback's usual ports, the hub's cache, and for keys. The configured model is always among them."""
    own, hosted, served = await asyncio.gather(
        asyncio.to_thread(list_models, environment, configured),
        asyncio.to_thread(find_hosted, environment, stored),
        find_served(ask, (*USUAL, *_port_of(configured))),
    )
    rows = [
        *(_of_own(each) for each in own),
        *(_of_served(each, is_configured=_is_configured(each, configured, served)) for each in served),
        *(_of_hosted(each) for each in hosted),
    ]
    return (*_elsewhere(configured, rows), *rows)


def _port_of(configured: str) -> Iterator[Usual]:
    """Yields the port of the configured model's server, where that is on this machine and no usual one."""
    remote = parse_reference(configured)
    if remote is None or remote.endpoint is None or not remote.is_local or remote.provider not in FINDERS:
        return
    parts = urlsplit(remote.endpoint)
    if parts.scheme == "http" and parts.port is not None and parts.port not in {each.port for each in USUAL}:
        yield Usual(parts.port, remote.provider, "your server")


def _elsewhere(configured: str, rows: list[Choice]) -> Iterator[Choice]:
    """Yields the configured model where no list has it: a server's that does not answer now, a service's, or a file."""
    if any(each.configured for each in rows):
        return
    if parse_reference(configured) is None:
        about = "answers from a file"
    elif sent_to(configured) is None:
        about = "its server does not answer now, or does not list it"
    else:
        about = "a hosted service"
    yield Choice(configured, about, configured=True, sent_to=sent_to(configured))


def _of_own(listed: ListedModel) -> Choice:
    model = listed.model
    kind = [model.architecture, model.weights]
    if not model.size_bytes:
        return Choice(listed.reference, _joined(kind), listed.configured, problem=model.problem)
    needed = f"needs {model.memory_bytes / MIB:,.0f} MiB of memory"
    about = _joined([*kind, f"{model.size_bytes / MIB:,.0f} MiB", _window(model.context), needed])
    problem = model.problem or (None if listed.fits else f"{needed}, more than this machine has")
    return Choice(listed.reference, about, listed.configured, problem=problem)


def _is_configured(model: ServedModel, configured: str, served: Sequence[ServedModel]) -> bool:
    """Returns whether both names mean one model: a host may be spelled in several ways, an only model needs no name,
    and Ollama adds `:latest` to a name without a tag."""
    own, listed = parse_reference(configured), parse_reference(model.reference)
    if own is None or listed is None or own.provider != listed.provider or not own.is_local:
        return False
    if urlsplit(own.endpoint or PROVIDERS[own.provider].endpoint).port != model.port:
        return False
    if not own.model:
        return [each.port for each in served].count(model.port) == 1
    return own.model == listed.model or (own.provider == "ollama" and f"{own.model}:latest" == listed.model)


def _of_served(model: ServedModel, *, is_configured: bool) -> Choice:
    tools = {True: "calls tools", False: "not made to call tools", None: None}[model.calls_tools]
    size = None if model.size_bytes is None else f"{model.size_bytes / MIB:,.0f} MiB"
    about = _joined([f"{model.server} on port {model.port}", model.parameters, size, _window(model.window), tools])
    return Choice(model.reference, about, is_configured)


def _of_hosted(service: HostedService) -> Choice:
    about = f"hosted; its key is in {service.key_in}"
    return Choice(f"{service.provider}:", about, sent_to=service.host, whole=False)


def _window(tokens: int | None) -> str | None:
    return None if tokens is None else f"{tokens:,} tokens"


def _joined(parts: Sequence[str | None]) -> str:
    return " · ".join(part for part in parts if part)


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
