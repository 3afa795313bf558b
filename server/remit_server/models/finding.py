"""Lists every model that the person can choose here (MOD-26).

The list has the models on disk, the models of servers on the usual ports of this machine's loopback (the table
`USUAL`), and the hosted services that the person has a key for. It is made only on request, and no other machine is
asked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from pydantic import JsonValue

from remit_server.json_bounds import has_too_many_values
from remit_server.models.built_in.provider import BUILT_IN_MODEL
from remit_server.models.choose import is_on_this_machine, model_folder
from remit_server.models.local.hub.cache import cache_folder, cached_models, hub_name
from remit_server.models.local.hub.model_files import ModelFolder, describe, machine_memory
from remit_server.models.remote.engines import OWNERS, PROVIDERS, STARTED_WITH, parse_reference, sent_to
from remit_server.models.remote.keys import stored

MIB = 1 << 20


HOST = "127.0.0.1"
WAIT_S = 2.0
MOST_BYTES = 4 << 20

Fetch = Callable[[int, str, Mapping[str, JsonValue] | None], Awaitable[JsonValue]]
"""Takes a port, a path and a body to post. Returns None if there is no JSON answer, and an empty text for an answer
without a body. A redirect counts as no answer, because it could lead to another machine."""


async def fetch(port: int, path: str, body: Mapping[str, JsonValue] | None = None) -> JsonValue:
    """Returns what a server answers, as `Fetch` says; None also if nobody answers within `WAIT_S` seconds."""
    return await asyncio.to_thread(_fetch, port, path, body)


def _fetch(port: int, path: str, body: Mapping[str, JsonValue] | None) -> JsonValue:
    connection = HTTPConnection(HOST, port, timeout=WAIT_S)
    try:
        if body is None:
            connection.request("GET", path, headers={"accept": "application/json"})
        else:
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        data = answer.read(MOST_BYTES + 1) if answer.status == 200 else None
        if data is None or len(data) > MOST_BYTES or has_too_many_values(data):
            return None
        said: JsonValue = json.loads(data) if data else ""
        return said
    except (OSError, HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()


@dataclass(frozen=True, slots=True)
class Choice:
    """One row: the reference that makes Remit use the model, a description, and where messages to the model go.

    `sent_to` is the host on another machine that messages are sent to, or None if they stay on this machine. In a row
    that is not `whole`, the reference is only a beginning, to which the person adds a model's name. `problem` says why
    the model cannot be used.
    """

    reference: str
    about: str
    configured: bool = False
    sent_to: str | None = None
    whole: bool = True
    problem: str | None = None


async def find_choices(environment: Mapping[str, str], configured: str, ask: Fetch = fetch) -> tuple[Choice, ...]:
    """Returns what it finds at the loopback's usual ports, in the hub's cache and by keys, always with the configured
    model."""
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


HOW_TO_GET_ONE = (
    "No language model was found here. Start one, such as Ollama with `ollama run qwen3:4b`, or store the key of a "
    "service, such as `remit auth set anthropic`; then ask for this list again. docs/models.md has all ways."
)


def advice(choices: Sequence[Choice]) -> str | None:
    """Returns how to get a language model if the list has none, or else None."""
    return HOW_TO_GET_ONE if all(each.reference == BUILT_IN_MODEL for each in choices) else None


def _port_of(configured: str) -> Iterator[Usual]:
    """Yields the port of the configured model's server if it is on this machine and not one of the usual ports."""
    remote = parse_reference(configured)
    if remote is None or remote.endpoint is None or not remote.is_local or remote.provider not in FINDERS:
        return
    parts = urlsplit(remote.endpoint)
    if parts.scheme == "http" and parts.port is not None and parts.port not in {each.port for each in USUAL}:
        yield Usual(parts.port, remote.provider, "your server")


def _elsewhere(configured: str, rows: list[Choice]) -> Iterator[Choice]:
    """Yields the configured model if no list has it: its server does not answer, or it is a service's or a file."""
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
    """Returns whether both names mean one model: a host may be spelled in several ways, the only model of a server
    needs no name, and Ollama adds `:latest` to a name without a tag."""
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


MOST_MODELS = 100
MOST_SHOWN = 20
"""The most models that Ollama is asked about one by one."""


Row = Mapping[str, JsonValue]
"""A JSON object, as it came."""


@dataclass(frozen=True, slots=True)
class Usual:
    """A port, the protocol that is spoken there, and the programs that use it."""

    port: int
    provider: str
    name: str


USUAL = (
    Usual(11434, "ollama", "Ollama"),
    Usual(1234, "openai", "LM Studio"),
    Usual(8080, "openai", "llama.cpp, mlx_lm.server or LocalAI"),
    Usual(8000, "openai", "vLLM"),
    Usual(30000, "openai", "SGLang"),
    Usual(1337, "openai", "Jan"),
)

_NAMES: Mapping[str, str] = {
    "llama.cpp": "llama.cpp",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "lmstudio": "LM Studio",
    "ollama": "Ollama",
}


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a server on this machine lists: its reference, and what the server says about it.

    `size_bytes` is the size of the model's file, `window` is in tokens. These two, `parameters` and `calls_tools` are
    None if the server does not say.
    """

    reference: str
    server: str
    port: int
    size_bytes: int | None = None
    parameters: str | None = None
    window: int | None = None
    calls_tools: bool | None = None


async def find_served(fetch: Fetch, usual: Sequence[Usual] = USUAL) -> tuple[ServedModel, ...]:
    """Returns the models of all servers that answer, in the order of the table."""
    found = await asyncio.gather(*(FINDERS[each.provider](fetch, each) for each in usual))
    return tuple(model for models in found for model in models)


async def _find_ollama(fetch: Fetch, at: Usual) -> tuple[ServedModel, ...]:
    rows = list(_rows(await fetch(at.port, "/api/tags", None), "models", "name"))
    shown = await asyncio.gather(
        *(fetch(at.port, "/api/show", {"model": str(row["name"])}) for row in rows[:MOST_SHOWN])
    )
    told = [*map(_object, shown), *(_object(None) for _ in rows[MOST_SHOWN:])]
    return tuple(_of_ollama(at, row, more) for row, more in zip(rows, told, strict=True))


def _of_ollama(at: Usual, row: Row, more: Row) -> ServedModel:
    name, able = str(row["name"]), more.get("capabilities")
    windows = [value for key, value in _object(more.get("model_info")).items() if key.endswith(".context_length")]
    return ServedModel(
        f"ollama:{name}" + ("" if at.port == USUAL[0].port else f"@http://{HOST}:{at.port}"),
        at.name,
        at.port,
        _count(row.get("size")),
        _text(_object(row.get("details")).get("parameter_size")),
        _count(windows[0]) if windows else None,
        "tools" in able if isinstance(able, list) else None,
    )


async def _find_openai(fetch: Fetch, at: Usual) -> tuple[ServedModel, ...]:
    said = await fetch(at.port, "/v1/models", None)
    listed = list(_rows(said, "data", "id"))
    if not listed:
        return await _find_mlx_lm(fetch, at) if said == "" or _object(said).get("data") == [] else ()
    engine = OWNERS.get(str(listed[0].get("owned_by")), "")
    known = await fetch(at.port, "/api/v0/models", None) if engine == "lmstudio" else None
    more = {str(row["id"]): row for row in _rows(known, "data", "id")}
    props = _object(await fetch(at.port, "/props", None) if engine == "llama.cpp" else None)
    server = _NAMES.get(engine, at.name)
    rows = [(row, _object(more.get(str(row["id"])))) for row in listed]
    return tuple(_of_openai(at, server, row, told, props) for row, told in rows if told.get("type") != "embeddings")


async def _find_mlx_lm(fetch: Fetch, at: Usual) -> tuple[ServedModel, ...]:
    """Finds an mlx_lm.server by its `/health`, because its list is empty if this machine has no model of the hub."""
    if await fetch(at.port, "/health", None) != {"status": "ok"}:
        return ()
    return (ServedModel(f"openai:{STARTED_WITH}@http://{HOST}:{at.port}/v1", "mlx_lm.server", at.port),)


def _of_openai(at: Usual, server: str, row: Row, more: Row, props: Row) -> ServedModel:
    meta, able = _object(row.get("meta")), more.get("capabilities")
    template = _object(props.get("chat_template_caps"))
    settings = _object(props.get("default_generation_settings"))
    windows = (more.get("loaded_context_length"), more.get("max_context_length"), settings.get("n_ctx"))
    calls = template.get("supports_tools")
    weights = _count(meta.get("n_params"))
    return ServedModel(
        f"openai:{row['id']}@http://{HOST}:{at.port}/v1",
        server,
        at.port,
        _count(meta.get("size")),
        None if weights is None else _short(weights),
        next((count for each in (*windows, row.get("max_model_len")) if (count := _count(each))), None),
        "tool_use" in able if isinstance(able, list) else calls if isinstance(calls, bool) else None,
    )


FINDERS = {"ollama": _find_ollama, "openai": _find_openai}


def _rows(said: JsonValue, name: str, key: str) -> Iterator[Row]:
    """Yields the objects of a list that have a name; skips whatever else a server sends."""
    listed = _object(said).get(name)
    for row in (listed if isinstance(listed, list) else [])[:MOST_MODELS]:
        if isinstance(row, dict) and _text(row.get(key)):
            yield row


def _object(said: JsonValue | Row) -> Row:
    return said if isinstance(said, Mapping) else {}


def _text(said: JsonValue) -> str | None:
    return said if isinstance(said, str) and said.strip() and said.isprintable() else None


def _count(said: JsonValue) -> int | None:
    return said if isinstance(said, int) and not isinstance(said, bool) and said > 0 else None


def _short(weights: int) -> str:
    return f"{weights / 1e9:.1f}B" if weights >= 1e9 else f"{weights / 1e6:.0f}M"


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model under its `REMIT_MODEL` reference; `fits` says whether this machine's memory holds it."""

    reference: str
    configured: bool
    fits: bool
    model: ModelFolder


def list_models(environment: Mapping[str, str], configured: str) -> tuple[ListedModel, ...]:
    """Returns all models of this machine, usable or not, the built-in one first."""
    memory = machine_memory()
    return tuple(
        ListedModel(reference, reference == configured, model.problem is None and model.memory_bytes <= memory, model)
        for reference, model in _find_folders(environment, configured)
    )


def _find_folders(environment: Mapping[str, str], configured: str) -> Iterator[tuple[str, ModelFolder]]:
    yield BUILT_IN_MODEL, ModelFolder("", "small edits and searches by fixed patterns, without a language model")
    seen = {BUILT_IN_MODEL}
    for name, folder in cached_models(cache_folder(environment)):
        seen.add(str(name))
        yield str(name), describe(folder)
    if configured in seen or not is_on_this_machine(configured):
        return
    if hub_name(configured) is not None:
        yield configured, ModelFolder("", problem=f"it was not fetched: `remit model pull {configured}`")
    else:
        yield configured, describe(model_folder(configured))
