"""MOD-11 to MOD-15 over Ollama's own protocol, with a fake server that sends what the types of its library allow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from chat_server import ChatServer, Refused, Said, chat_server

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.errors import ModelFailed, ModelUnavailable, PromptTooLong, RemitError
from remit_server.models.ports import (
    AssistantMessage,
    CallProposed,
    Finished,
    GenerateRequest,
    ModelEvent,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.clients.ollama_client import MOST_CONTEXT, context_of, spell_messages
from remit_server.models.remote.engines import parse_reference
from remit_server.models.remote.patience import Patience
from remit_server.models.remote.provider import RemoteProvider

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ, WRITE = ToolSpec("read_file", "Read a file.", PATH), ToolSpec("write_file", "Write a file.", PATH)
INTENTS = {Intent.READ_FILE: (READ,), Intent.WRITE_FILE: (WRITE,)}
REQUEST = GenerateRequest(
    "s", (SystemMessage("be brief"), UserMessage("read a.py")), INTENTS, max_tokens=50, temperature=None
)


def step(tool: str = "read_file") -> Said:
    return Said(json.dumps({"intent": "READ_FILE", "calls": [{"tool": tool, "arguments": {"path": "a.py"}}]}))


QUICK = Patience(connect_s=2, first_token_s=2, between_tokens_s=2, pause_s=0.01)


def provider_for(server: ChatServer, model: str = "m", patience: Patience = QUICK, **more: Any) -> RemoteProvider:
    reference = parse_reference(f"ollama:{model}@{server.url}")
    assert reference is not None
    return RemoteProvider(reference, make_client, more.pop("redact", str), patience=patience, **more)


async def generated(
    server: ChatServer, request: GenerateRequest = REQUEST, patience: Patience = QUICK, **more: Any
) -> list[ModelEvent]:
    provider = provider_for(server, more.pop("model", "m"), patience, **more)
    try:
        return [event async for event in provider.generate(request)]
    finally:
        await provider.close()


def calls_of(events: list[ModelEvent]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(event.call.name, event.call.arguments) for event in events if isinstance(event, CallProposed)]


async def test_MOD_12_a_step_is_one_request_that_is_decoded_by_a_schema() -> None:
    with chat_server(step()) as server:
        events = await generated(server)
    (sent,) = server.requests
    assert {each["properties"]["intent"]["const"] for each in sent["format"]["anyOf"][1:]} == {
        "READ_FILE",
        "WRITE_FILE",
    }
    assert "tools" not in sent
    assert calls_of(events) == [(SELECT_INTENT, {"intent": "READ_FILE"}), ("read_file", {"path": "a.py"})]
    assert events[-1] == Finished("stop", 11, 0, 3, 11)


async def test_MOD_11_the_whole_window_is_asked_for_and_the_model_stays_loaded() -> None:
    """Otherwise Ollama silently cuts the conversation at 4,096 tokens."""
    request = replace(REQUEST, temperature=0.5, top_p=0.9, seed=7, effort="low", max_tokens=77)
    with chat_server(step()) as server:
        provider = provider_for(server)
        async for _ in provider.generate(request):
            pass
        assert provider.context_tokens == 8_192
        await provider.close()
    (sent,) = server.requests
    assert sent["options"] == {"temperature": 0.5, "top_p": 0.9, "num_ctx": 8_192, "num_predict": 77, "seed": 7}
    assert (sent["keep_alive"], sent["think"]) == ("30m", "low")


def test_MOD_11_the_window_is_what_the_models_file_says_else_what_the_model_can() -> None:
    assert context_of({"llama.context_length": 131_072}, "temperature 0.6\nnum_ctx    65536") == 65_536
    assert context_of({"qwen3.context_length": 40_960}, "") == MOST_CONTEXT
    assert context_of({"general.architecture": "x"}, "") is None


async def test_MOD_13_a_conversation_that_was_cut_is_no_answer() -> None:
    with chat_server(replace(step(), prompt_tokens=8_192)) as server, pytest.raises(ModelFailed, match="has cut the"):
        await generated(server)


async def test_MOD_13_a_model_that_was_not_pulled_is_said() -> None:
    with chat_server(step()) as server, pytest.raises(ModelUnavailable) as failed:
        await generated(server, model="other")
    assert failed.value.fix == "fetch it with `ollama pull other`"


async def test_MOD_12_a_call_outside_the_intent_is_passed_on_to_the_dispatcher() -> None:
    with chat_server(step("write_file")) as server:
        assert [name for name, _ in calls_of(await generated(server))] == [SELECT_INTENT, "write_file"]


async def test_MOD_14_thinking_is_a_region_of_its_own() -> None:
    thought = '<tool_call>{"name": "write_file", "arguments": {"path": "x"}}</tool_call>'
    with chat_server(Said(json.dumps({"answer": "Done."}), thinking=thought)) as server:
        events = await generated(server)
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == thought
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Done."
    assert calls_of(events) == []


@pytest.mark.parametrize("broken", [Said(step().text[:30]), Said(step().text, reason=None), Said("no JSON")])
async def test_MOD_13_half_a_step_is_none(broken: Said) -> None:
    with chat_server(broken) as server, pytest.raises(RemitError):
        await generated(server)


@pytest.mark.parametrize("status", [429, 503])
async def test_MOD_13_a_busy_server_is_asked_again(status: int) -> None:
    with chat_server(Refused(status, "busy"), step()) as server:
        assert calls_of(await generated(server))
    assert len(server.requests) == 2


async def test_MOD_13_nothing_is_asked_again_once_something_was_seen() -> None:
    with chat_server(Said('{"answer": "It is', reason=None)) as server, pytest.raises(RemitError):
        await generated(server)
    assert len(server.requests) == 1


async def test_MOD_13_a_slow_first_token_has_its_own_limit() -> None:
    slow = replace(QUICK, first_token_s=0.2, retries=0)
    with chat_server(replace(step(), pause_s=1)) as server, pytest.raises(ModelUnavailable):
        await generated(server, patience=slow)


async def test_MOD_13_a_server_that_is_not_there_is_said_with_its_address() -> None:
    with chat_server(step()) as server:
        gone = server
    with pytest.raises(ModelUnavailable, match=gone.url.removeprefix("http://")):
        await generated(gone, patience=replace(QUICK, retries=0))


async def test_MOD_13_a_prompt_that_is_too_long_says_by_how_much() -> None:
    said = "the prompt is too long: 9000 tokens, context 8192"
    with chat_server(Refused(400, said)) as server, pytest.raises(PromptTooLong) as failed:
        await generated(server)
    assert (failed.value.tokens, failed.value.window) == (9_000, 8_192)


async def test_MOD_13_a_cancelled_step_ends_the_request_at_the_server() -> None:
    with chat_server(Said('{"answer": "', endless=True, reason=None)) as server:
        provider = provider_for(server)
        async with aclosing(provider.generate(REQUEST)) as events:
            async for _ in events:
                break
        assert await asyncio.to_thread(server.left.wait, 10)
        await provider.close()


async def test_MOD_13_two_hundred_calls_at_once() -> None:
    calls = [{"tool": "read_file", "arguments": {"path": f"{n}.py"}} for n in range(200)]
    with chat_server(Said(json.dumps({"intent": "READ_FILE", "calls": calls}))) as server:
        assert len(calls_of(await generated(server))) == 201


async def test_MOD_15_a_key_goes_to_its_address_alone_and_what_is_sent_is_redacted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The library itself would send OLLAMA_API_KEY to any address."""
    monkeypatch.setenv("OLLAMA_API_KEY", "key-for-elsewhere")
    monkeypatch.setenv("REMIT_API_KEY", "key-for-this-one")
    request = replace(REQUEST, messages=(*REQUEST.messages, UserMessage("my password is hush")))
    with chat_server(step()) as server:
        await generated(server, request, redact=lambda text: text.replace("hush", "[redacted]"))
    told = json.dumps([server.requests, server.headers])
    assert "hush" not in told
    assert "elsewhere" not in told
    assert any(value == "Bearer key-for-this-one" for headers in server.headers for value in headers.values())
    assert "key-for-this-one" not in json.dumps(server.requests)


def test_MOD_11_a_conversation_is_spelled_as_it_was_asked() -> None:
    call = ProposedCall("1", "read_file", {"path": "a.py"})
    messages = (UserMessage("go"), AssistantMessage("I look.", (call,)), ToolMessage("1", "read_file", "1|x"))
    assert spell_messages(messages) == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "a.py"}}}],
        },
        {"role": "tool", "tool_name": "read_file", "content": "1|x"},
    ]


async def test_MOD_11_over_openais_protocol_ollama_reads_little() -> None:
    """It cannot be asked for a larger window there, and cuts off the rest."""
    reference = parse_reference("openai:m@http://127.0.0.1:1/v1")
    assert reference is not None
    with chat_server(step(), owner="library") as server:
        reference = replace(reference, endpoint=f"{server.url}/v1")
        provider = RemoteProvider(reference, make_client, str, patience=QUICK)
        async for _ in provider.generate(REQUEST):
            pass
        assert provider.context_tokens == 4_096
        await provider.close()
