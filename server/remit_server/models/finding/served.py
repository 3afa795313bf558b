"""The servers of models that usually listen on this machine, and what they list (MOD-26)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from remit_server.models.finding.loopback import HOST, Fetch
from remit_server.models.remote.stages import OWNERS, STARTED_WITH

MOST_MODELS = 100
MOST_SHOWN = 20
"""Models that Ollama is asked about one by one."""


Row = Mapping[str, JsonValue]
"""A JSON object, as it came."""


@dataclass(frozen=True, slots=True)
class Usual:
    """A port, the protocol that is spoken there, and whose port it is."""

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
    """A model that a server on this machine lists: how it is named to Remit, and what its server says of it.

    `size_bytes` is of its file, `window` in tokens; both, `parameters` and `calls_tools` are None where it does not
    say.
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
    """Finds an mlx_lm.server by what else it answers: its list is empty where this machine has no model of the hub."""
    if await fetch(at.port, "/health", None) != {"status": "ok"}:
        return ()
    return (ServedModel(f"openai:{STARTED_WITH}@http://{HOST}:{at.port}/v1", "mlx_lm.server", at.port),)


def _of_openai(
    at: Usual,
    server: str,
    row: Row,
    more: Row,
    props: Row,
) -> ServedModel:
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
    """Yields the objects of a list that have a name; whatever else a server sends is passed over."""
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
