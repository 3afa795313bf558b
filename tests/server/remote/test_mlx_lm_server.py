"""MOD-11 to MOD-14 with mlx-lm's own server, and a model of random weights."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from mlx_lm_server import mlx_lm_server
from random_model import random_model

from remit_governance.values import Intent
from remit_server.models.ports import (
    AssistantMessage,
    Finished,
    GenerateRequest,
    PromptRead,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.engines import parse_reference
from remit_server.models.remote.provider import RemoteProvider

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
]

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
INTENTS = {Intent.READ_FILE: (ToolSpec("read_file", "Read a file.", PATH),)}
REQUEST = GenerateRequest("s", (SystemMessage("be brief"), UserMessage("read a.py")), INTENTS, max_tokens=20)
CALLED = (
    AssistantMessage("", (ProposedCall("a23456789", "read_file", {"path": "a.py"}),)),
    ToolMessage("a23456789", "read_file", "1|x = 1"),
    UserMessage("and now?"),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """Yields the server's address, its model's name, and its log."""
    home = tmp_path_factory.mktemp("mlx-lm")
    model = random_model(home / "model", 16_384)
    (home / ".cache" / "huggingface" / "hub").mkdir(parents=True)
    with mlx_lm_server(model, home) as (url, log):
        yield url, str(model), log


def provider_for(url: str, model: str) -> RemoteProvider:
    reference = parse_reference(f"openai:{model}@{url}")
    assert reference is not None
    return RemoteProvider(reference, make_client, str)


async def test_MOD_12_it_is_known_for_what_it_is_and_its_one_model_needs_no_name(served: tuple[str, str, Path]) -> None:
    provider = provider_for(served[0], "")
    found, engine = await provider.served()
    assert (found.engine, found.model, engine.requests) == ("mlx_lm", served[1], 1)
    await provider.close()


async def test_MOD_11_a_conversation_with_calls_is_taken_and_cached(served: tuple[str, str, Path]) -> None:
    provider = provider_for(*served[:2])
    request = replace(REQUEST, messages=(*REQUEST.messages, *CALLED))
    for _ in range(2):
        *said, ended = [event async for event in provider.generate(request)]
    await provider.close()
    assert isinstance(said[0], PromptRead)
    assert all(isinstance(event, PromptRead | TextDelta) for event in said)
    assert isinstance(ended, Finished)
    assert ended.reason == "length"
    assert ended.completion_tokens == 20
    assert ended.cached_tokens >= ended.prompt_tokens - 2 > 20


async def test_MOD_13_a_cancelled_step_ends_at_the_server(served: tuple[str, str, Path]) -> None:
    """The server starts the next request at once; the answer of 8,000 tokens would take minutes."""
    provider = provider_for(*served[:2])
    async with aclosing(provider.generate(replace(REQUEST, max_tokens=8_000))) as events:
        while isinstance(await anext(events), PromptRead):
            pass
    async with asyncio.timeout(60):
        assert [event async for event in provider.generate(REQUEST)]
    await provider.close()


async def test_MOD_12_without_a_folder_of_the_hub_it_is_asked_all_the_same(tmp_path: Path) -> None:
    """Without that folder the server's list of models is an empty answer."""
    model = random_model(tmp_path / "model", 4_096)
    with mlx_lm_server(model, tmp_path) as (url, _):
        provider = provider_for(url, str(model))
        assert [event async for event in provider.generate(REQUEST)]
        assert (await provider.served())[0].engine == "mlx_lm"
        await provider.close()
