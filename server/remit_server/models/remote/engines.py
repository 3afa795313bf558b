"""The engines that serve models (MOD-11, MOD-12).

A served model is named `PROVIDER:MODEL`, `PROVIDER:MODEL@URL`, or `openai:@URL` for the only model of a server. Each
engine is held to the two stages of a step, the intent and its tools, in the strongest way that it has; the dispatcher
enforces both again.

The list of tools and their order stay the same from request to request wherever the engine allows it, because a change
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
    """A provider, its model, and the server's address; without an `endpoint` it is the provider's own service.

    An empty `model` means the only model of the server.
    """

    provider: str
    model: str
    endpoint: str | None = None

    @property
    def host(self) -> str:
        """The host that the conversation is sent to."""
        where = self.endpoint or PROVIDERS[self.provider].endpoint
        return urlsplit(where).netloc.rpartition("@")[2]

    @property
    def is_local(self) -> bool:
        """Whether the host is this machine."""
        return _is_loopback(urlsplit(self.endpoint or PROVIDERS[self.provider].endpoint).hostname or "")


def parse_reference(text: str) -> RemoteReference | None:
    """Returns what `text` refers to, or None for a reference of another kind. Raises SetupError if it is malformed."""
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
        raise _unusable(text, f"`{endpoint}` is not the address of a server", "write it as `http://127.0.0.1:8080/v1`")
    if parts.username or parts.password:
        raise _unusable(text, "its address contains a password", f"store the key with `remit auth set {provider}`")
    return RemoteReference(provider, model, endpoint)


def sent_to(reference: str) -> str | None:
    """Returns the other machine's host that a model's conversation is sent to, or None if it stays on this machine."""
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
    """What holds a model to a stage of a step."""

    SCHEMA = "schema"
    """The engine decodes the whole step by one JSON schema, so that nothing else can be spelled."""
    FORCED = "forced"
    """The request names the one tool that has to be called."""
    ALLOWED = "allowed"
    """The request names the tools that may be called, of a list that stays the same."""
    CHECKED = "checked"
    """Nothing in the request holds the model; only the dispatcher checks its calls."""

    @property
    def words(self) -> str:
        """The words for a person."""
        return _WORDS[self]


class Filling(StrEnum):
    """How an engine is asked for the text at a cursor (LSP-12)."""

    INFILL = "infill"
    """llama.cpp's `/infill`, which knows the markers of its model, and refuses if the model has none."""
    SUFFIX = "suffix"
    """The text after the cursor is the `suffix` of a completion; the engine refuses it for a model that takes none."""
    LISTED = "listed"
    """Like `SUFFIX`, but only for a model that the server lists with `insert`; for others the engine may ignore it."""


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
    """One engine's row: what holds a model to the intent, what holds it to the tools, and in how many requests.

    `window` is the window in tokens if the engine does not tell it; `filling` is None if the engine does not complete
    at a cursor. `temperature` is the temperature of a step if nobody set one; None leaves it to the service, whose
    models are made for its own.
    """

    intent: Hold
    tools: Hold
    requests: int
    window: int | None = None
    filling: Filling | None = None
    temperature: float | None = None


_SURE = 0.2
"""The temperature for a person's own servers, whose default of 0.8 is too high, because a call needs likely words."""

ENGINES: Mapping[str, EngineRow] = MappingProxyType(
    {
        "llama.cpp": EngineRow(Hold.SCHEMA, Hold.SCHEMA, 1, temperature=_SURE, filling=Filling.INFILL),
        # vLLM refuses every `suffix`.
        "vllm": EngineRow(Hold.SCHEMA, Hold.SCHEMA, 1, temperature=_SURE),
        "sglang": EngineRow(Hold.SCHEMA, Hold.SCHEMA, 1, temperature=_SURE, filling=Filling.LISTED),
        "lmstudio": EngineRow(Hold.SCHEMA, Hold.SCHEMA, 1, temperature=_SURE, filling=Filling.LISTED),
        "ollama": EngineRow(Hold.SCHEMA, Hold.SCHEMA, 1, temperature=_SURE, filling=Filling.SUFFIX),
        "openai": EngineRow(Hold.FORCED, Hold.ALLOWED, 2, 128_000, filling=Filling.SUFFIX),
        "gemini": EngineRow(Hold.FORCED, Hold.ALLOWED, 2, 1_000_000),
        "anthropic": EngineRow(Hold.FORCED, Hold.CHECKED, 2, 200_000),
        # mlx_lm's `response_format` gives empty answers, and it has no tool choice.
        "mlx_lm": EngineRow(Hold.CHECKED, Hold.CHECKED, 1, temperature=_SURE),
        "other": EngineRow(Hold.FORCED, Hold.CHECKED, 2, filling=Filling.LISTED),
    }
)


@dataclass(frozen=True, slots=True)
class Provider:
    """A protocol that engines speak.

    `engine` is the row of the provider's own service; for another address the row is found out. With `one_model`, the
    protocol's servers mostly have one model, and the reference need not name it. `fills` says whether the protocol has
    a request for the text at a cursor.
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
"""The providers, by the word that a reference begins with."""

STARTED_WITH = "default_model"
"""The name of the model that mlx_lm's server was started with. Any other name makes the server load another model."""

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
"""The engine behind an OpenAI-compatible address, by the `owned_by` of its models."""
