"""Every adapter with a server on this machine: what each stage sends, and how it handles failures (MOD-11; MOD-12;
MOD-13)."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from chat_server import ChatServer, Raw, Refused, Said, chat_server
from hypothesis import given
from hypothesis import strategies as st
from listing_server import listing_server
from rows import rows

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.contract import TokenUsage
from remit_server.errors import ModelFailed, ModelUnavailable, PromptTooLong, SetupError
from remit_server.models.dialects.table import DIALECTS, spell_call
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
from remit_server.models.remote.ask import Ended
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.clients.google_client import spell_thinking
from remit_server.models.remote.engines import RemoteReference, parse_reference
from remit_server.models.remote.patience import Patience
from remit_server.models.remote.prices import price_of
from remit_server.models.remote.provider import RemoteProvider

PATH = {
    "type": "object",
    "properties": {"path": {"type": "string", "maxLength": 4096}},
    "required": ["path"],
    "additionalProperties": False,
}
READ = ToolSpec("read_file", "Read a file.", PATH)
WRITE = ToolSpec("write_file", "Write a file.", PATH)
INTENTS = {Intent.READ_FILE: (READ,), Intent.WRITE_FILE: (WRITE,)}
REQUEST = GenerateRequest(
    "s",
    (SystemMessage("be brief"), UserMessage("read a.py")),
    INTENTS,
    max_tokens=50,
    temperature=None,
)
DECLARED = Said(calls=[(SELECT_INTENT, {"intent": "READ_FILE"})])
READS = Said("I look.", calls=[("read_file", {"path": "a.py"})])
STEP = Said(json.dumps({"intent": "READ_FILE", "calls": [{"tool": "read_file", "arguments": {"path": "a.py"}}]}))
QUICK = Patience(connect_s=2, first_token_s=2, between_tokens_s=2, pause_s=0.01)

ENDPOINTS = {"openai": "/v1", "anthropic": "", "google": ""}
EACH = pytest.mark.parametrize("kind", list(ENDPOINTS))


def provider_for(server: ChatServer, kind: str, patience: Patience = QUICK, **more: Any) -> RemoteProvider:
    reference = parse_reference(f"{kind}:m@{server.url}{ENDPOINTS[kind]}")
    assert reference is not None
    return RemoteProvider(reference, make_client, more.pop("redact", str), patience=patience, **more)


async def generated(
    server: ChatServer, kind: str, request: GenerateRequest = REQUEST, patience: Patience = QUICK, **more: Any
) -> list[ModelEvent]:
    provider = provider_for(server, kind, patience, **more)
    try:
        return [event async for event in provider.generate(request)]
    finally:
        await provider.close()


def calls_of(events: list[ModelEvent]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(event.call.name, event.call.arguments) for event in events if isinstance(event, CallProposed)]


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def names(request: Mapping[str, Any]) -> list[str]:
    tools = request["tools"]
    listed = tools[0].get("functionDeclarations", tools)
    return [tool["function"]["name"] if "function" in tool else tool["name"] for tool in listed]


def turns(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    return request["contents"] if "contents" in request else request["messages"]


def choice_of(request: Mapping[str, Any]) -> Any:
    if "toolConfig" in request:
        return request["toolConfig"]["functionCallingConfig"]
    return request.get("tool_choice")


FORCED = {
    "openai": {"type": "function", "function": {"name": SELECT_INTENT}},
    "anthropic": {"type": "tool", "name": SELECT_INTENT, "disable_parallel_tool_use": True},
    "google": {"mode": "ANY", "allowedFunctionNames": [SELECT_INTENT]},
}
THEN = {
    "openai": None,
    "anthropic": None,
    "google": {"mode": "VALIDATED", "allowedFunctionNames": [SELECT_INTENT, "read_file"]},
}


@EACH
async def test_MOD_12_two_requests_with_a_forced_declaration_and_the_same_tools(kind: str) -> None:
    with chat_server(DECLARED, READS) as server:
        events = await generated(server, kind)
    first, second = server.requests
    assert choice_of(first) == FORCED[kind]
    assert choice_of(second) == THEN[kind]
    assert first["tools"] == second["tools"]
    assert names(first) == [SELECT_INTENT, "read_file", "write_file"]
    assert turns(second)[: len(turns(first))] == turns(first) or kind == "anthropic"
    assert calls_of(events) == [(SELECT_INTENT, {"intent": "READ_FILE"}), ("read_file", {"path": "a.py"})]
    assert events[-1] == Finished("stop", 22, 14, 6, 11)


async def test_MOD_12_openais_own_service_is_told_which_tools_are_allowed() -> None:
    with chat_server(DECLARED, READS, owner="openai") as server:
        await generated(server, "openai")
    allowed = server.requests[1]["tool_choice"]
    assert allowed["type"] == "allowed_tools"
    assert [tool["function"]["name"] for tool in allowed["allowed_tools"]["tools"]] == [SELECT_INTENT, "read_file"]


@pytest.mark.parametrize("owner", ["llamacpp", "vllm", "sglang", "organization_owner", "library"])
async def test_MOD_12_engines_that_decode_by_a_schema_get_one_request(owner: str) -> None:
    with chat_server(STEP, owner=owner) as server:
        events = await generated(server, "openai")
    (request,) = server.requests
    schema = request["response_format"]["json_schema"]["schema"]
    steps = {each["properties"]["intent"]["const"]: each for each in schema["anyOf"][1:]}
    tools = [
        call["properties"]["tool"]["const"] for call in steps["READ_FILE"]["properties"]["calls"]["items"]["anyOf"]
    ]
    assert tools == ["read_file"]
    assert "tools" not in request
    assert calls_of(events) == [(SELECT_INTENT, {"intent": "READ_FILE"}), ("read_file", {"path": "a.py"})]


async def test_MOD_12_a_server_without_any_hold_is_checked_by_the_dispatcher_alone() -> None:
    with chat_server(READS, owner=None) as server:
        events = await generated(server, "openai")
    assert "tool_choice" not in server.requests[0]
    assert calls_of(events) == [("read_file", {"path": "a.py"})]


async def test_MOD_11_the_one_model_of_a_server_needs_no_name() -> None:
    with chat_server(READS, owner=None) as server:
        provider = RemoteProvider(one_of(server), make_client, str, patience=QUICK)
        events = [event async for event in provider.generate(REQUEST)]
        assert provider.name == f"m at {server.url.removeprefix('http://')}"
        await provider.close()
    assert calls_of(events) == [("read_file", {"path": "a.py"})]
    assert server.requests[0]["model"] == "m"


async def test_MOD_11_a_server_that_lists_none_is_not_asked_without_a_name() -> None:
    with listing_server({"/v1/models": b'{"object":"list","data":[]}'}) as server:
        reference = parse_reference(f"openai:@http://127.0.0.1:{server.port}/v1")
        assert reference is not None
        provider = RemoteProvider(reference, make_client, str, patience=QUICK)
        with pytest.raises(ModelUnavailable, match="which model to ask"):
            await anext(provider.generate(REQUEST))
        await provider.close()


def one_of(server: ChatServer) -> RemoteReference:
    reference = parse_reference(f"openai:@{server.url}/v1")
    assert reference is not None
    return reference


@pytest.mark.parametrize("text", ["openai:", "anthropic:@http://127.0.0.1:1", "google:", "ollama:@http://127.0.0.1:1"])
def test_MOD_11_a_model_that_cannot_be_found_out_is_named(text: str) -> None:
    with pytest.raises(SetupError, match="it names no model"):
        parse_reference(text)


async def test_MOD_12_a_server_whose_list_of_models_is_empty_is_asked_all_the_same() -> None:
    with chat_server(READS, owner="") as server:
        events = await generated(server, "openai")
    assert calls_of(events) == [("read_file", {"path": "a.py"})]


async def test_MOD_12_a_person_may_choose_the_row() -> None:
    with chat_server(STEP) as server:
        await generated(server, "openai", engine="vllm")
    assert "response_format" in server.requests[0]


@EACH
async def test_MOD_12_a_step_that_only_answers_declares_nothing(kind: str) -> None:
    with chat_server(DECLARED, Said("It is done.")) as server:
        events = await generated(server, kind)
    assert calls_of(events) == []
    assert text_of(events) == "It is done."


async def test_MOD_12_an_answer_by_schema_is_streamed() -> None:
    with chat_server(Said(json.dumps({"answer": 'It is "done", é.'}, ensure_ascii=False)), owner="vllm") as server:
        events = await generated(server, "openai")
    assert text_of(events) == 'It is "done", é.'
    assert sum(isinstance(event, TextDelta) for event in events) > 1


@EACH
async def test_MOD_12_a_call_outside_the_intent_is_passed_on_to_the_dispatcher(kind: str) -> None:
    with chat_server(DECLARED, Said(calls=[("write_file", {"path": "a.py"})])) as server:
        events = await generated(server, kind)
    assert [name for name, _ in calls_of(events)] == [SELECT_INTENT, "write_file"]


@EACH
async def test_MOD_12_an_engine_that_ignores_the_forced_choice_is_said(kind: str) -> None:
    with chat_server(Said("hello")) as server, pytest.raises(ModelFailed, match="did not declare an intent"):
        await generated(server, kind)


@EACH
async def test_MOD_11_a_conversation_is_sent_as_it_was_asked(kind: str) -> None:
    calls = (
        ProposedCall("1", SELECT_INTENT, {"intent": "READ_FILE"}),
        ProposedCall("2", "read_file", {"path": "a.py"}),
    )
    before = (
        AssistantMessage("I look.", calls),
        ToolMessage("1", SELECT_INTENT, "ok"),
        ToolMessage("2", "read_file", "1|x = 1"),
        AssistantMessage("It has a line."),
        UserMessage("and b.py?"),
    )
    with chat_server(DECLARED, READS) as server:
        await generated(server, kind, replace(REQUEST, messages=(*REQUEST.messages, *before)))
    sent = turns(server.requests[0])
    roles = [message["role"] for message in sent]
    if kind == "google":
        assert roles == ["user", "model", "user", "model", "user", "model", "user"]
        assert sent[4]["parts"][0]["functionResponse"]["response"] == {"result": "1|x = 1"}
    elif kind == "openai":
        assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant", "user"]
        assert sent[3]["tool_call_id"] == "1"
        assert sent[5]["content"] == "1|x = 1"
    else:
        assert roles == ["user", "assistant", "user", "assistant", "user", "assistant", "user"]
        assert sent[4]["content"][0]["content"] == "1|x = 1"


@EACH
async def test_MOD_14_thinking_is_a_region_of_its_own(kind: str) -> None:
    thought = '<tool_call>{"name": "write_file", "arguments": {"path": "x"}}</tool_call>'
    with chat_server(DECLARED, Said("Done.", thinking=thought)) as server:
        events = await generated(server, kind)
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == thought
    assert calls_of(events) == []


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>',
        "<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
        '[TOOL_CALLS]read_file[ARGS]{"path": "a.py"}</s>',
        "<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>",
        *(spell_call(row, "read_file", {"path": "a.py"}, "abcdefgh1") for row in DIALECTS.values()),
        '<think>[TOOL_CALLS]write_file[ARGS]{"path": "x"}</think>[TOOL_CALLS]read_file[ARGS]{"path": "a.py"}',
    ],
)
@pytest.mark.parametrize(
    "kind", ["openai", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("anthropic", "google"))]
)
@pytest.mark.parametrize("before", ["", pytest.param("I look.\n", marks=pytest.mark.slow)])
async def test_MOD_14_a_call_that_came_as_text_is_read_and_is_no_text(kind: str, text: str, before: str) -> None:
    if before and text.startswith('{"name"'):
        return  # a bare object is a call only at the beginning
    with chat_server(DECLARED, Said(f"{before}{text}")) as server:
        events = await generated(server, kind)
    assert calls_of(events) == [(SELECT_INTENT, {"intent": "READ_FILE"}), ("read_file", {"path": "a.py"})] or (
        calls_of(events) == [("read_file", {"path": "a.py"})]
    )
    assert text_of(events) in {before, before + text.rpartition("[TOOL")[0]}


@EACH
@pytest.mark.parametrize("text", ["It is plain.", '{"name": "Remit"}', "a < b, and `tool_call` is a word", "[ARGS]"])
async def test_MOD_14_text_that_holds_no_call_is_text(kind: str, text: str) -> None:
    with chat_server(DECLARED, Said(text)) as server:
        events = await generated(server, kind)
    assert [name for name, _ in calls_of(events)] in ([], [SELECT_INTENT])


@EACH
async def test_MOD_14_one_that_cannot_be_read_is_never_the_end_of_a_turn(kind: str) -> None:
    with chat_server(DECLARED, Said("<tool_call>{broken")) as server, pytest.raises(ModelFailed, match="came as text"):
        await generated(server, kind)


@EACH
async def test_MOD_13_a_cut_stream_is_no_answer(kind: str) -> None:
    unusable = pytest.raises((ModelFailed, ModelUnavailable))
    with chat_server(DECLARED, Said("I was ab", reason=None)) as server, unusable as failed:
        await generated(server, kind)
    assert failed.value.why


@EACH
@pytest.mark.parametrize(
    "sent", [b"data: {broken\n\n", b"<html>a proxy</html>", b"data: 7\n\n", b"data: []\n\n", b"event: x\n\n", b""]
)
async def test_MOD_13_what_is_no_answer_of_the_protocol_is_said(kind: str, sent: bytes) -> None:
    with chat_server(DECLARED, Raw(sent)) as server, pytest.raises((ModelFailed, ModelUnavailable)) as failed:
        await generated(server, kind)
    assert failed.value.fix


@EACH
@pytest.mark.parametrize("headers", [{}, {"retry-after": "0"}])
async def test_MOD_13_a_busy_server_is_asked_again(kind: str, headers: Mapping[str, str]) -> None:
    with chat_server(Refused(429, headers=headers), Refused(503), DECLARED, READS) as server:
        events = await generated(server, kind)
    assert len(server.requests) == 4
    assert len(calls_of(events)) == 2


@EACH
async def test_MOD_13_a_pause_that_is_too_long_ends_the_step_with_it(kind: str) -> None:
    told = pytest.raises(ModelUnavailable, match="asks for a pause of 3600 s")
    with chat_server(Refused(429, headers={"retry-after": "3600"})) as server, told:
        await generated(server, kind)
    assert len(server.requests) == 1


@EACH
async def test_MOD_13_nothing_is_asked_again_once_something_was_seen(kind: str) -> None:
    with chat_server(DECLARED, Said("I was", reason=None, endless=True)) as server:
        patience = replace(QUICK, between_tokens_s=0.3)
        with pytest.raises(ModelUnavailable, match="stopped answering"):
            await generated(server, kind, patience=patience)
    assert len(server.requests) == 2


@EACH
async def test_MOD_13_a_slow_first_token_has_its_own_limit(kind: str) -> None:
    with chat_server(Said(pause_s=0.5, calls=DECLARED.calls), READS) as server:
        assert await generated(server, kind, patience=replace(QUICK, between_tokens_s=0.1, first_token_s=5))
    with chat_server(Said(pause_s=1.0)) as server, pytest.raises(ModelUnavailable, match="did not begin to answer"):
        await generated(server, kind, patience=replace(QUICK, first_token_s=0.2, retries=0))


@EACH
async def test_MOD_13_a_server_that_is_not_there_is_said_with_its_address(kind: str) -> None:
    with chat_server(DECLARED) as server:
        pass
    with pytest.raises(ModelUnavailable) as failed:
        await generated(server, kind)
    assert server.url.removeprefix("http://") in str(failed.value)


@EACH
async def test_MOD_13_arguments_that_are_no_json_are_told_to_the_model(kind: str) -> None:
    with chat_server(DECLARED, Said(calls=[("read_file", '{"path": ')])) as server:
        events = await generated(server, kind)
    assert calls_of(events)[1][0] == "unreadable_call"


@EACH
async def test_MOD_13_two_hundred_calls_at_once(kind: str) -> None:
    many = [("read_file", {"path": f"{number}.py"}) for number in range(200)]
    with chat_server(DECLARED, Said(calls=many)) as server:
        events = await generated(server, kind)
    assert [arguments["path"] for _, arguments in calls_of(events)[1:]] == [f"{number}.py" for number in range(200)]


@EACH
async def test_MOD_13_a_cancelled_step_ends_the_request_at_the_server(kind: str) -> None:
    with chat_server(DECLARED, Said("I was", reason=None, endless=True)) as server:
        provider = provider_for(server, kind)
        async with aclosing(provider.generate(REQUEST)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        assert await asyncio.to_thread(server.left.wait, 10)
        assert provider.state == "ready"
        await provider.close()


@EACH
async def test_MOD_13_a_prompt_that_is_too_long_says_by_how_much(kind: str) -> None:
    said = "prompt is too long: 210000 tokens > 200000 maximum"
    with chat_server(Refused(400, said)) as server, pytest.raises(PromptTooLong) as failed:
        await generated(server, kind)
    assert (failed.value.tokens, failed.value.window) == (210_000, 200_000)


@EACH
async def test_MOD_15_what_is_sent_is_redacted_and_the_key_is_in_a_header_alone(kind: str, monkeypatch) -> None:
    monkeypatch.setenv("REMIT_API_KEY", "sk-for-this-test-0123456789")
    request = replace(REQUEST, messages=(*REQUEST.messages, UserMessage("my password is hush")))
    with chat_server(DECLARED, READS) as server:
        await generated(server, kind, request, redact=lambda text: text.replace("hush", "[redacted]"))
    spelled = json.dumps(server.requests)
    assert "hush" not in spelled
    assert "sk-for-this-test" not in spelled
    assert any("sk-for-this-test" in value for headers in server.headers for value in headers.values())


@EACH
async def test_MOD_11_settings_of_the_generation_are_sent(kind: str) -> None:
    request = replace(REQUEST, temperature=0.5, top_p=0.9, effort="low", max_tokens=77)
    with chat_server(DECLARED, READS) as server:
        await generated(server, kind, request)
    sent = server.requests[0]
    if kind == "google":
        settings = sent["generationConfig"]
        assert (settings["temperature"], settings["topP"], settings["maxOutputTokens"]) == (0.5, 0.9, 77)
        assert settings["thinkingConfig"] == {"include_thoughts": True, "thinking_level": "LOW"}
        return
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0.5, 0.9, 77)
    assert sent.get("reasoning_effort") == "low" or sent["output_config"] == {"effort": "low"}


async def test_MOD_11_the_window_is_the_servers_own() -> None:
    with chat_server(STEP, owner="vllm", max_model_len=12_345) as server:
        provider = provider_for(server, "openai")
        assert provider.context_tokens is None
        async for _ in provider.generate(REQUEST):
            pass
        assert provider.context_tokens == 12_345
        await provider.close()


async def test_MOD_11_what_google_signed_is_sent_back_and_a_foreign_call_gets_the_word_that_it_accepts() -> None:
    foreign = (
        AssistantMessage("", (ProposedCall("1", "read_file", {"path": "a.py"}),)),
        ToolMessage("1", "read_file", "1|x = 1"),
        UserMessage("and b.py?"),
    )
    with chat_server(DECLARED, READS) as server:
        await generated(server, "google", replace(REQUEST, messages=(*REQUEST.messages, *foreign)))
    first, second = (turns(request) for request in server.requests)
    assert base64.urlsafe_b64decode(first[1]["parts"][0]["thoughtSignature"]) == b"skip_thought_signature_validator"
    assert base64.urlsafe_b64decode(second[-2]["parts"][0]["thoughtSignature"]) == b"signed"


@pytest.mark.parametrize(
    ("model", "sent"), [("m", {"thinking_level": "HIGH"}), ("gemini-2.5-pro", {"thinking_budget": 24_576})]
)
async def test_MOD_11_effort_is_a_word_or_a_number_of_tokens_as_the_gemini_knows_it(model: str, sent: Any) -> None:
    assert {"include_thoughts": True} | sent == spell_thinking(model, "high")


async def test_MOD_11_an_answer_that_google_held_back_is_said() -> None:
    with chat_server(DECLARED, Said("I", reason="SAFETY")) as server, pytest.raises(ModelFailed, match="SAFETY"):
        await generated(server, "google")


async def test_MOD_13_google_names_the_pause_in_the_error_itself() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600s"}]
    told = pytest.raises(ModelUnavailable, match="asks for a pause of 3600 s")
    with chat_server(Refused(429, body={"details": details})) as server, told:
        await generated(server, "google")


async def test_MOD_11_the_window_of_a_gemini_is_asked_for() -> None:
    with chat_server(DECLARED, READS) as server:
        provider = provider_for(server, "google")
        async for _ in provider.generate(REQUEST):
            pass
        assert provider.context_tokens == 8192
        await provider.close()


def elsewhere(url: str) -> RemoteReference:
    reference = parse_reference(url)
    assert reference is not None
    return reference


@rows(
    ("reference", "model", "known"),
    [
        ("openai:gpt-5", "gpt-5", True),
        ("anthropic:claude-sonnet-4-5", "claude-sonnet-4-5", True),
        ("google:gemini-2.5-pro", "gemini-2.5-pro", True),
        ("openai:anthropic/claude-sonnet-4.5@https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", True),
        ("openai:gpt-of-tomorrow", "gpt-of-tomorrow", False),
        ("openai:gpt-5@https://example.org/v1", "gpt-5", False),
    ],
)
def test_MOD_18_a_price_is_the_lists_or_unknown(reference: str, model: str, known: bool) -> None:
    price = price_of(Ended("stop", 10_000, 2_000, 500), elsewhere(reference), model)
    assert (price is not None) is known
    if price is not None:
        cold = price_of(Ended("stop", 10_000, 0, 500), elsewhere(reference), model)
        assert cold is not None
        assert 0 < price < cold < 1


def test_MOD_18_a_server_on_this_machine_costs_nothing() -> None:
    assert price_of(Ended("stop", 10, 0, 5), elsewhere("openai:gpt-5@http://127.0.0.1:8080/v1"), "gpt-5") == 0.0


@given(st.lists(st.none() | st.floats(0, 10)))
def test_MOD_18_a_sum_is_known_where_all_its_parts_are(prices: list[float | None]) -> None:
    whole = TokenUsage()
    for price in prices:
        whole = whole.plus(TokenUsage(prompt_tokens=1, price_usd=price))
    assert (whole.price_usd is None) is (None in prices)
    assert whole.prompt_tokens == len(prices)
    if whole.price_usd is not None:
        assert whole.price_usd == pytest.approx(sum(price or 0.0 for price in prices))
