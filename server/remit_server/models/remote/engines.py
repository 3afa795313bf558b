"""The engines that serve models: how a model of one is named, `PROVIDER:MODEL`, `PROVIDER:MODEL@URL`, or `openai:@URL`
for the one model of a server (MOD-11), and how each is held to the two stages, in the strongest way that it has; the
dispatcher enforces all of it again (MOD-12).

The list of tools and their order stay the same from request to request wherever the engine allows it: what changes it
empties the engine's prompt cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from types import MappingProxyType
from urllib.parse import urlsplit

from remit_server.errors import SetupError


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


class Hold(StrEnum):
    """What keeps a model to a stage."""

    SCHEMA = "schema"
    """One JSON schema for the whole step, which the engine decodes by: nothing else can be spelled."""
    FORCED = "forced"
    """The request names the one tool that has to be called."""
    ALLOWED = "allowed"
    """The request names the tools that may be called, of a list that stays the same."""
    CHECKED = "checked"
    """Nothing in the request: only the dispatcher."""

    @property
    def words(self) -> str:
        """What a person is told."""
        return _WORDS[self]


class Filling(StrEnum):
    """How an engine is asked for what stands at a cursor (LSP-12)."""

    INFILL = "infill"
    """llama.cpp's `/infill`, which knows the markers of its model, and refuses where it has none."""
    SUFFIX = "suffix"
    """The text behind the cursor is the `suffix` of a completion; the engine refuses a model that takes none."""
    LISTED = "listed"
    """The same, of a model that the server lists with `insert`: of any other the engine may pass over the suffix."""


_WORDS: Mapping[Hold, str] = MappingProxyType(
    {
        Hold.SCHEMA: "held by a schema",
        Hold.FORCED: "held by a forced choice",
        Hold.ALLOWED: "held by the tools that the request allows",
        Hold.CHECKED: "checked by Remit alone",
    }
)


@dataclass(frozen=True, slots=True)
class EngineRow:
    """One engine's row: what holds the intent and what holds the tools, and in how many requests.

    `window` is what it reads where it does not say, in tokens; `filling` is None where it completes at no cursor.
    `temperature` is what a step is asked with where nobody set one; None leaves that to the service, whose models are
    made for it.
    """

    intent: Hold
    tools: Hold
    requests: int
    window: int | None = None
    filling: Filling | None = None
    temperature: float | None = None


_SURE = 0.2
"""Servers of one's own choose words at 0.8 unless they are told: a call needs the likely ones."""

ENGINES: Mapping[str, EngineRow] = MappingProxyType(
    {
        "llama.cpp": EngineRow(Hold.SCHEMA, Hold.SCHEMA, 1, temperature=_SURE, filling=Filling.INFILL),
        # It refuses every `suffix`.
        "vllm": EngineRow(Hold.SCHEMA, Hold.SCHEMA, 1, temperature=_SURE),
        "sglang": EngineRow(Hold.SCHEMA, Hold.SCHEMA, 1, temperature=_SURE, filling=Filling.LISTED),
        "lmstudio": EngineRow(Hold.SCHEMA, Hold.SCHEMA, 1, temperature=_SURE, filling=Filling.LISTED),
        "ollama": EngineRow(Hold.SCHEMA, Hold.SCHEMA, 1, temperature=_SURE, filling=Filling.SUFFIX),
        "openai": EngineRow(Hold.FORCED, Hold.ALLOWED, 2, 128_000, filling=Filling.SUFFIX),
        "gemini": EngineRow(Hold.FORCED, Hold.ALLOWED, 2, 1_000_000),
        "anthropic": EngineRow(Hold.FORCED, Hold.CHECKED, 2, 200_000),
        # Its `response_format` gives empty answers, and it knows no tool choice.
        "mlx_lm": EngineRow(Hold.CHECKED, Hold.CHECKED, 1, temperature=_SURE),
        "other": EngineRow(Hold.FORCED, Hold.CHECKED, 2, filling=Filling.LISTED),
    }
)


@dataclass(frozen=True, slots=True)
class Provider:
    """A protocol that engines are spoken to in.

    `engine` is the row of its own service; where another address was given, it is found out. Servers that have
    `one_model` mostly need not be told its name. `fills` says whether the protocol has a request for a cursor.
    """

    endpoint: str
    engine: str
    key_variables: tuple[str, ...] = ()
    one_model: bool = False
    fills: bool = False


PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "openai": Provider("https://api.openai.com/v1", "openai", ("OPENAI_API_KEY",), one_model=True, fills=True),
        "anthropic": Provider("https://api.anthropic.com", "anthropic", ("ANTHROPIC_API_KEY",)),
        "google": Provider(
            "https://generativelanguage.googleapis.com",
            "gemini",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ),
        "ollama": Provider("http://127.0.0.1:11434", "ollama", fills=True),
    }
)
"""By the word that a reference begins with."""

STARTED_WITH = "default_model"
"""How mlx_lm's server names the model that it was started with. Any other name makes it load another model."""

OWNERS: Mapping[str, str] = MappingProxyType(
    {
        "llamacpp": "llama.cpp",
        "vllm": "vllm",
        "sglang": "sglang",
        "organization_owner": "lmstudio",
        "library": "ollama",
        "openai": "openai",
        "system": "openai",
    }
)
"""The engine behind an OpenAI-compatible address, by whom it says to own its models."""
