"""A reference to a model that another program serves: `PROVIDER:MODEL`, `PROVIDER:MODEL@URL`, or `openai:@URL` for the
one model of a server (MOD-11)."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from remit_server.errors import SetupError
from remit_server.models.remote.stages import PROVIDERS


@dataclass(frozen=True, slots=True)
class RemoteReference:
    """A provider, its model, and where it is; without an `endpoint` it is the provider's own.

    An empty `model` is the only one that the server has.
    """

    provider: str
    model: str
    endpoint: str | None = None

    @property
    def host(self) -> str:
        """Whom the conversation is sent to."""
        where = self.endpoint or PROVIDERS[self.provider].endpoint
        return urlsplit(where).netloc.rpartition("@")[2]

    @property
    def is_local(self) -> bool:
        """Whether that is this machine."""
        return _is_loopback(urlsplit(self.endpoint or PROVIDERS[self.provider].endpoint).hostname or "")


def parse_reference(text: str) -> RemoteReference | None:
    """Returns what `text` refers to; None for a reference of another kind. Raises SetupError where it is none."""
    provider, colon, rest = text.partition(":")
    if not colon or provider not in PROVIDERS:
        return None
    model, at, endpoint = rest.rpartition("@") if "://" in rest else (rest, "", "")
    if not model and not (at and PROVIDERS[provider].one_model):
        raise _unusable(text, "it names no model", f"write `{provider}:MODEL`, or `{provider}:MODEL@URL`")
    if not at:
        return RemoteReference(provider, model)
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise _unusable(text, f"`{endpoint}` is no address of a server", "write it as `http://127.0.0.1:8080/v1`")
    if parts.username or parts.password:
        raise _unusable(text, "its address holds a password", f"store the key with `remit auth set {provider}`")
    return RemoteReference(provider, model, endpoint)


def sent_to(reference: str) -> str | None:
    """Returns the host that a conversation with a model leaves this machine for; None where it stays here."""
    remote = parse_reference(reference)
    return None if remote is None or remote.is_local else remote.host


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _unusable(text: str, why: str, fix: str) -> SetupError:
    return SetupError(f"cannot use the model `{text}`", why, fix)
