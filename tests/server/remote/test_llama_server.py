"""MOD-11 to MOD-13 and AGT-09 with llama.cpp's own server; skipped unless REMIT_LLAMA_SERVER names one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from bench_runtime import project
from llama_server import LlamaServer, llama_server

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.contract import ContextCondensed, ExecutionPolicy, UsageEvent
from remit_server.errors import ModelFailed, PromptTooLong
from remit_server.harness.ports import NobodyToAsk
from remit_server.models.ports import (
    CallProposed,
    Finished,
    GenerateRequest,
    ModelEvent,
    SystemMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.engines import parse_reference
from remit_server.models.remote.patience import Patience
from remit_server.models.remote.provider import RemoteProvider

pytestmark = pytest.mark.slow

WINDOW = 12_000
SHORT = {"type": "string", "maxLength": 12}
ARGUMENTS = {"type": "object", "properties": {"path": SHORT}, "required": ["path"], "additionalProperties": False}
READ, WRITE = ToolSpec("read_file", "Read a file.", ARGUMENTS), ToolSpec("write_file", "Write a file.", ARGUMENTS)
INTENTS = {Intent.READ_FILE: (READ,), Intent.WRITE_FILE: (WRITE,)}
REQUEST = GenerateRequest(
    "s", (SystemMessage("be brief"), UserMessage("read a.py")), INTENTS, max_tokens=600, temperature=1.0
)
READS = ExecutionPolicy(allow_tools=("read_file",))
"""Only one tool, because a large grammar costs this server more time than the model."""
WORDS = ["cart", "total", "discount", "rename", "function", "src/shop/cart.py", "add", "tests", "why", "42", "é"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    with llama_server(tmp_path_factory.mktemp("llama"), WINDOW) as running:
        yield running


def provider_for(server: LlamaServer, protocol: str = "openai") -> RemoteProvider:
    reference = parse_reference(f"{protocol}:random@{server.url}{'/v1' if protocol == 'openai' else ''}")
    assert reference is not None
    return RemoteProvider(reference, make_client, str, patience=Patience())


async def generated(provider: RemoteProvider, request: GenerateRequest) -> list[ModelEvent]:
    return [event async for event in provider.generate(request)]


async def test_MOD_12_noise_under_the_schema_holds_no_call_outside_its_intent(server: LlamaServer) -> None:
    """The model has random weights: every whole step is valid; one that the token limit cuts off is an error."""
    provider, whole = provider_for(server), 0
    for seed in range(1, 31):
        try:
            events = await generated(provider, replace(REQUEST, seed=seed))
        except ModelFailed:
            continue
        calls = [event.call for event in events if isinstance(event, CallProposed)]
        whole += bool(calls)
        intents = [call.arguments["intent"] for call in calls if call.name == SELECT_INTENT]
        allowed = {tool.name for intent in intents for tool in INTENTS[Intent(str(intent))]}
        assert {call.name for call in calls} <= {SELECT_INTENT, *allowed}
        assert all(set(call.arguments) == {"path"} for call in calls if call.name != SELECT_INTENT)
    assert provider.context_tokens == WINDOW
    await provider.close()
    print("whole steps", whole)
    assert whole >= 3
    assert all("response_format" in sent and "tools" not in sent for sent in server.requests)


async def test_MOD_11_what_was_read_before_is_cached(server: LlamaServer) -> None:
    provider = provider_for(server)
    request = replace(
        REQUEST, intents={}, max_tokens=8, messages=(SystemMessage("be brief " * 200), UserMessage("hello"))
    )
    await generated(provider, request)
    *_, ended = await generated(provider, request)
    await provider.close()
    assert isinstance(ended, Finished)
    assert ended.cached_tokens > 1_500
    assert ended.prompt_tokens >= ended.cached_tokens


async def test_MOD_13_a_cancelled_step_ends_at_the_server(server: LlamaServer) -> None:
    provider = provider_for(server)
    request = replace(REQUEST, intents={}, max_tokens=8_000)
    async with aclosing(provider.generate(request)) as events:
        async for _ in events:
            break
    assert await asyncio.to_thread(server.idle_within, 10)
    await provider.close()


async def test_MOD_13_a_prompt_that_is_too_long_says_by_how_much(server: LlamaServer) -> None:
    provider = provider_for(server)
    with pytest.raises(PromptTooLong) as failed:
        await generated(provider, replace(REQUEST, messages=(UserMessage("word " * 4_000),)))
    await provider.close()
    assert failed.value.window == WINDOW
    assert failed.value.tokens > 20_000


async def test_MOD_13_a_step_that_reached_its_limit_is_said_to_be_cut(server: LlamaServer) -> None:
    provider = provider_for(server)
    with pytest.raises(ModelFailed, match="cut off at its token limit"):
        await generated(provider, replace(REQUEST, max_tokens=20))
    await provider.close()


async def test_MOD_12_its_copy_of_anthropics_protocol_does_not_hold_the_forced_choice(server: LlamaServer) -> None:
    """The error says so, and that this server's OpenAI protocol is the one to use."""
    provider = provider_for(server, "anthropic")
    with pytest.raises(ModelFailed):
        await generated(provider, replace(REQUEST, max_tokens=50))
    await provider.close()


@pytest.mark.timeout(1_200)
async def test_AGT_09_two_hundred_turns_over_llama_server(server: LlamaServer, tmp_path: Path) -> None:
    """No turn fails for lack of room, and by the server's own count no request was longer than its window."""
    seeded, failed = random.Random(1), list[str]()
    more = {"max_steps": 1, "max_tokens": 600, "temperature": 1.0}
    async with project(tmp_path, {}, name=f"openai:random@{server.url}/v1", **more) as bench:
        for number in range(200):
            text = f"turn {number}: " + " ".join(seeded.choices(WORDS, k=seeded.choice([5, 20, 100])))
            result = await bench.ask(text, asker=NobodyToAsk(), policy=READS)
            if result.error is not None and result.error.code == "model_failed":
                failed.append(result.error.why)
    events = bench.events
    condensed = [event for event in events if isinstance(event, ContextCondensed)]
    largest = max(event.usage.prompt_tokens for event in events if isinstance(event, UsageEvent))
    print("condensed", len(condensed), "largest prompt", largest, "failed", failed)
    assert not [why for why in failed if "fit" in why or "context" in why]
    assert len(condensed) >= 2
    assert largest <= WINDOW
    assert failed == []
