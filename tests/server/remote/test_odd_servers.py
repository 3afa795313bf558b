"""Shapes that servers with OpenAI's protocol really send, as raw bytes, because the libraries' types cannot express
them (MOD-19)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

import pytest
from chat_server import ChatServer, Raw, Refused, chat_server
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import rows

from remit_governance.values import Intent
from remit_server.errors import ModelFailed, ModelUnavailable, PromptTooLong
from remit_server.models.ports import (
    UNREADABLE_CALL,
    AssistantMessage,
    CallProposed,
    Finished,
    GenerateRequest,
    ModelEvent,
    PromptRead,
    ProposedCall,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.remote.ask import numbers_in, told_body
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.engines import parse_reference
from remit_server.models.remote.patience import Patience
from remit_server.models.remote.provider import RemoteProvider
from remit_server.models.remote.understood import understand
from remit_server.models.thinking import Thought, ThoughtReader
from remit_server.models.unreadable import well_formed

pytestmark = pytest.mark.slow

PATH = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "offset": {"type": "integer"},
        "whole": {"type": "boolean"},
    },
    "required": ["path"],
}
READ = ToolSpec("read_file", "Read a file.", PATH)
REQUEST = GenerateRequest(
    "s",
    (SystemMessage("be brief"), UserMessage("read a.py")),
    {Intent.READ_FILE: (READ,)},
    max_tokens=50,
    temperature=None,
)
QUICK = Patience(connect_s=2, first_token_s=5, between_tokens_s=5, retries=0)


def chunk(delta: Any = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": more.pop("reason", None)}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def stream(*chunks: Any, done: bool = True) -> Raw:
    lines = [f"data: {json.dumps(each)}\n\n" for each in chunks]
    return Raw("".join([*lines, *(["data: [DONE]\n\n"] if done else [])]).encode("utf-8", "surrogatepass"))


def part(index: int, name: str | None = None, arguments: Any = None, call_id: str | None = None) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"index": index, "function": function, **({"id": call_id, "type": "function"} if call_id else {})}


async def heard(
    server: ChatServer, engine: str = "mlx_lm", turns: int = 1, request: GenerateRequest = REQUEST
) -> list[ModelEvent]:
    reference = parse_reference(f"openai:m@{server.url}/v1")
    assert reference is not None
    provider = RemoteProvider(reference, make_client, str, engine=engine, patience=QUICK)
    events: list[ModelEvent] = []
    try:
        for _ in range(turns):
            async with aclosing(provider.generate(request)) as said:
                events += [event async for event in said]
    finally:
        await provider.close()
    return events


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def thoughts_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ThinkingDelta))


def calls_of(events: list[ModelEvent]) -> list[tuple[str, dict[str, Any]]]:
    return [(event.call.name, dict(event.call.arguments)) for event in events if isinstance(event, CallProposed)]


A, B = ("read_file", {"path": "a.py"}), ("read_file", {"path": "b.py"})
WHOLE = '{"path": "a.py"}'
STOP = chunk({}, reason="stop")
CALLED = chunk({}, reason="tool_calls")

CALLS: dict[str, list[Any]] = {
    "another id at the same index": [
        chunk({"tool_calls": [part(0, "read_file", WHOLE, "x"), part(0, "read_file", '{"path": "b.py"}', "y")]}),
        CALLED,
    ],
    "another name where the arguments are whole": [
        chunk({"tool_calls": [part(0, "read_file", WHOLE)]}),
        chunk({"tool_calls": [part(0, "read_file", '{"path": "b.py"}')]}),
        CALLED,
    ],
}
ONE: dict[str, list[Any]] = {
    "the name in every part": [
        chunk({"tool_calls": [part(0, "read_file", '{"path"', "x")]}),
        chunk({"tool_calls": [part(0, "read_file", ': "a.', "x")]}),
        chunk({"tool_calls": [part(0, "read_file", 'py"}', "x")]}),
        CALLED,
    ],
    "the name in pieces": [
        chunk({"tool_calls": [part(0, "read_", "")]}),
        chunk({"tool_calls": [part(0, "file", WHOLE)]}),
        CALLED,
    ],
    "arguments spelled twice": [chunk({"tool_calls": [part(0, "read_file", json.dumps(WHOLE))]}), CALLED],
    "arguments as an object": [chunk({"tool_calls": [part(0, "read_file", {"path": "a.py"})]}), CALLED],
    "a null delta in the end": [chunk({"tool_calls": [part(0, "read_file", WHOLE)]}), chunk(None, reason="tool_calls")],
    "an empty reason, and the end": [
        chunk({"tool_calls": [part(0, "read_file", WHOLE)]}),
        chunk({}, reason=""),
    ],
    "no reason, and the end": [chunk({"tool_calls": [part(0, "read_file", WHOLE)]})],
    "a prefix and what a template left": [
        chunk({"tool_calls": [part(0, "functions.read_file<|channel|>commentary", WHOLE)]}),
        CALLED,
    ],
    "null for what is optional": [
        chunk({"tool_calls": [part(0, "read_file", '{"path": "a.py", "offset": null}')]}),
        CALLED,
    ],
    "no choices, and null ones": [
        chunk() | {"choices": []},
        chunk() | {"choices": None},
        chunk({"tool_calls": [part(0, "read_file", WHOLE)]}),
        CALLED,
    ],
}


@pytest.mark.parametrize("shape", list(CALLS))
async def test_MOD_19_two_calls_are_two(shape: str) -> None:
    with chat_server(stream(*CALLS[shape])) as server:
        assert calls_of(await heard(server)) == [A, B]


@pytest.mark.parametrize("shape", list(ONE))
async def test_MOD_19_a_whole_call_is_not_lost(shape: str) -> None:
    with chat_server(stream(*ONE[shape])) as server:
        assert calls_of(await heard(server)) == [A]


@pytest.mark.parametrize("reason", ["", None])
async def test_MOD_19_a_stream_that_is_cut_is_no_answer(reason: str | None) -> None:
    cut = stream(chunk({"tool_calls": [part(0, "read_file", WHOLE)]}, reason=reason), done=False)
    with chat_server(cut) as server, pytest.raises(ModelFailed):
        await heard(server)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (None, (0, 0, 0)),
        ([], (0, 0, 0)),
        ({"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}, (0, 0, 0)),
        ({"prompt_tokens": 7}, (7, 0, 0)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": None}, (7, 0, 2)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": None}}, (7, 0, 2)),
        ({"prompt_tokens": "7", "completion_tokens": -2}, (0, 0, 0)),
    ],
)
async def test_MOD_19_counts_that_are_none_are_zero(usage: Any, counts: tuple[int, int, int]) -> None:
    with chat_server(stream(chunk({"content": "hi"}), chunk({}, reason="stop", usage=usage))) as server:
        events = await heard(server)
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert text_of(events) == "hi"
    assert (finished.prompt_tokens, finished.cached_tokens, finished.completion_tokens) == counts


async def test_MOD_19_content_may_be_parts_and_thinking_among_them() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
        {"type": "image"},
        "!",
    ]
    with chat_server(stream(chunk({"content": parts}), STOP)) as server:
        events = await heard(server)
    assert (thoughts_of(events), text_of(events)) == ("hm", "yes!")


@given(sizes=st.lists(st.integers(1, 9), max_size=30))
@settings(deadline=None)
def test_MOD_19_thinking_in_the_text_is_none_of_the_answer(sizes: list[int]) -> None:
    whole, aloud, said = " <think>a < b, </thin\nand so</think>\n\nIt is <think>.", ThoughtReader(), []
    for size in [*sizes, len(whole)]:
        piece, whole = whole[:size], whole[size:]
        if piece:
            said += aloud.feed(piece)
    said += aloud.finish()
    assert "".join(part.text for part in said if isinstance(part, Thought)) == "a < b, </thin\nand so"
    assert "".join(part for part in said if isinstance(part, str)) == "It is <think>."


@rows("text", ["", "<thin", "<b>", "a <think>b</think>", "  x"])
def test_MOD_19_other_text_passes(text: str) -> None:
    aloud = ThoughtReader()
    said = [*(aloud.feed(text) if text else ()), *aloud.finish()]
    assert said == ([text] if text else [])


async def test_MOD_19_half_a_character_goes_back_into_no_request() -> None:
    """Such a character came in the arguments of a call, and then the next request could not be encoded."""
    with chat_server(
        stream(chunk({"tool_calls": [part(0, "read_file", '{"path": "a\\ud83d.py"}')]}), CALLED)
    ) as server:
        ((_, arguments),) = calls_of(await heard(server))
    assert json.dumps(arguments, ensure_ascii=False).encode() == b'{"path": "a\xef\xbf\xbd.py"}'


@given(st.text(st.characters(exclude_categories=[])))
@settings(deadline=None)
def test_MOD_19_what_is_well_formed_stays_as_it_is(text: str) -> None:
    assert len(well_formed(text).encode("utf-8")) >= len(text)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return
    assert well_formed(text) == text


async def test_MOD_19_an_answer_that_a_filter_ended_is_not_complete() -> None:
    cut = stream(chunk({"content": "so"}), chunk({}, reason="content_filter"))
    with chat_server(cut) as server, pytest.raises(ModelFailed) as failed:
        await heard(server)
    assert "content_filter" in failed.value.why


WORDS: list[tuple[Any, str]] = [
    ({"error": "no such model"}, "no such model"),
    ({"detail": "no such model"}, "no such model"),
    ({"detail": [{"loc": ["body", "max_tokens"], "msg": "too large"}]}, "body.max_tokens: too large"),
    ({"error": {"message": "no such model"}}, "no such model"),
    ({"message": "no such model"}, "no such model"),
    ("no such model", "no such model"),
]


@rows("body, said", [*WORDS, ({}, ""), (None, ""), ([], ""), (3, ""), ({"error": None}, "")])
def test_MOD_19_a_servers_own_words_are_found(body: Any, said: str) -> None:
    assert told_body(body) == said


@pytest.mark.parametrize("body", [body for body, _ in WORDS[:3]], ids=["error", "detail", "places"])
async def test_MOD_19_a_servers_own_words_reach_the_person(body: Any) -> None:
    with chat_server(Refused(404, whole=body)) as server, pytest.raises((ModelFailed, ModelUnavailable)) as failed:
        await heard(server)
    assert told_body(body) in failed.value.why


@pytest.mark.parametrize(
    ("field", "engine"), [("stream_options", "mlx_lm"), ("temperature", "mlx_lm"), ("tool_choice", "other")]
)
async def test_MOD_19_what_a_server_does_not_take_is_left_out_once_and_remembered(field: str, engine: str) -> None:
    refused = Refused(400, f"unknown field `{field}`: it must be something else")
    declared = stream(chunk({"tool_calls": [part(0, "select_active_intent", '{"intent": "READ_FILE"}', "z")]}), CALLED)
    good = stream(chunk({"content": "hi"}), STOP)
    answers = (refused, declared, good, declared, good) if engine == "other" else (refused, good, good)
    with chat_server(*answers) as server:
        assert text_of(await heard(server, engine, turns=2)) == "hihi"
    first, *others = server.requests
    assert field in first or field == "temperature"
    if field == "tool_choice":
        assert isinstance(first[field], dict)
        assert not any(isinstance(each.get(field), dict) for each in others)
    else:
        assert not any(field in each for each in others)


@rows(
    "text, window, tokens",
    [
        (
            "maximum context length is 8192 tokens. However, you requested 8704 tokens (8192 in the messages, 512 more)",
            8192,
            8192,
        ),
        ("maximum context length is 8192 tokens (9000 in the messages, 1283 in the functions)", 8192, 9000),
        ("`inputs` tokens + `max_new_tokens`: 199000 + 8192 > 200000", 200000, 199000),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
        ("the request exceeds the available context size (4096 tokens), try increasing it", 4096, 0),
        ("request (5000 tokens) exceeds the available context size (4096 tokens)", 4096, 5000),
        ("The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).", 1048576, 1100000),
        ("the request 500 at 2026 failed with code 123456", 0, 500),
        ("it does not fit", 0, 0),
    ],
)
def test_MOD_19_a_number_is_a_window_where_the_words_beside_it_say_so(text: str, window: int, tokens: int) -> None:
    assert numbers_in(text) == (window, tokens)


async def test_MOD_19_a_conversation_that_is_too_long_is_told_by_the_right_numbers() -> None:
    said = (
        "This model's maximum context length is 8192 tokens. However, you requested 8704 tokens (8192 in the messages)"
    )
    with chat_server(Refused(400, said)) as server, pytest.raises(PromptTooLong) as failed:
        await heard(server)
    assert (failed.value.window, failed.value.tokens) == (8192, 8192)


VLLM = "This model's maximum context length is 4096 tokens. However, you requested {} tokens ({} in the messages, {} in the completion)"


async def test_MOD_19_less_is_reserved_for_the_answer_where_only_that_does_not_fit() -> None:
    """Only once, and then for all later requests."""
    hello = stream(chunk({"content": "hello"}), chunk({}, reason="stop"))
    request = replace(REQUEST, max_tokens=8_192)
    with chat_server(Refused(400, VLLM.format(10_842, 2_650, 8_192)), hello) as server:
        await heard(server, turns=2, request=request)
        asked = [body["max_tokens"] for body in server.requests]
    assert asked == [8_192, 1_024, 1_024]


async def test_MOD_19_a_prompt_that_is_too_long_by_itself_is_told() -> None:
    with chat_server(Refused(400, VLLM.format(13_000, 4_808, 8_192))) as server, pytest.raises(PromptTooLong) as failed:
        await heard(server, request=replace(REQUEST, max_tokens=8_192))
    assert (failed.value.window, failed.value.tokens, len(server.requests)) == (4_096, 4_808, 1)


FENCED = {
    "a call": ('```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```', True),
    "after a sentence": ('I look.\n```\n{"name": "read_file", "parameters": {"path": "a.py"}}\n```\n', True),
    "an example in the middle": (
        '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```\nis a call.',
        False,
    ),
    "of no tool": ('```json\n{"name": "look", "arguments": {}}\n```', False),
    "of no name": ('```json\n{"name": {}, "arguments": {}}\n```', False),
    "of no call": ('```json\n{"name": "read_file", "version": "1"}\n```', False),
    "no JSON": ("```json\n{read_file}\n```", False),
}


@pytest.mark.parametrize("case", FENCED)
async def test_MOD_14_a_call_in_a_fence_that_ends_an_answer_is_told_and_not_run(case: str) -> None:
    text, is_told = FENCED[case]
    with chat_server(stream(chunk({"content": text}), chunk({}, reason="stop"))) as server:
        events = await heard(server)
    assert [name for name, _ in calls_of(events)] == ([UNREADABLE_CALL] if is_told else [])
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == text


async def test_MOD_14_a_fenced_call_is_told_once_in_a_turn() -> None:
    told = ToolMessage("x", UNREADABLE_CALL, "nothing was run")
    again = replace(REQUEST, messages=(*REQUEST.messages, AssistantMessage("", ()), told))
    with chat_server(stream(chunk({"content": FENCED["a call"][0]}), chunk({}, reason="stop"))) as server:
        assert calls_of(await heard(server, request=again)) == []


@rows(
    "given_arguments, understood",
    [
        ({"path": "a", "limit": "10"}, {"path": "a", "limit": 10}),
        ({"path": "a", "limit": "-3"}, {"path": "a", "limit": -3}),
        ({"path": "a", "limit": None}, {"path": "a", "limit": None}),
        ({"path": "a", "offset": None}, {"path": "a"}),
        ({"path": "a", "whole": "true"}, {"path": "a", "whole": True}),
        ({"path": "10"}, {"path": "10"}),
        ({"path": None}, {"path": None}),
        ({"path": "a", "limit": "ten"}, {"path": "a", "limit": "ten"}),
        ({"path": "a", "limit": "1e9"}, {"path": "a", "limit": "1e9"}),
        ({"path": "a", "limit": "٣"}, {"path": "a", "limit": "٣"}),
        ({"path": "a", "other": None}, {"path": "a", "other": None}),
    ],
)
def test_MOD_19_only_what_can_be_meant_in_one_way_is_understood(
    given_arguments: dict[str, Any], understood: dict[str, Any]
) -> None:
    assert understand(ProposedCall("1", "read_file", given_arguments), [READ]).arguments == understood


@rows(
    "name, meant",
    [
        ("read_file", "read_file"),
        ("functions.read_file", "read_file"),
        ("read_file<|channel|>commentary", "read_file"),
        (" read_file ", "read_file"),
        ("read_file(path)", "read_file"),
        ("read_files", "read_files"),
        ("xread_file", "xread_file"),
        ("", ""),
    ],
)
def test_MOD_19_a_name_is_one_that_was_offered_or_stays(name: str, meant: str) -> None:
    assert understand(ProposedCall("1", name, {}), [READ]).name == meant


@pytest.mark.parametrize(("engine", "sent"), [("mlx_lm", 0.2), ("llama.cpp", 0.2), ("openai", None), ("other", None)])
async def test_MOD_11_a_server_of_ones_own_is_asked_for_likely_words(engine: str, sent: float | None) -> None:
    """Without a temperature llama.cpp used its 0.8, and calls went wrong by chance."""
    with chat_server(stream(chunk({"content": '{"answer": "hi"}'}), STOP)) as server, suppress(ModelFailed):
        await heard(server, engine)
    assert server.requests[0].get("temperature") == sent


@pytest.mark.parametrize(("engine", "asked"), [("llama.cpp", True), ("vllm", None)])
async def test_MOD_24_llama_cpp_is_asked_how_much_of_the_prompt_it_has_read(engine: str, asked: bool | None) -> None:
    told = [
        {**chunk({}), "prompt_progress": each} for each in ({"total": 900, "processed": 512}, {"total": 0}, 7, None)
    ]
    owner = {"llama.cpp": "llamacpp"}.get(engine, engine)
    with chat_server(stream(*told, chunk({"content": '{"answer": "hi"}'}), STOP), owner=owner) as server:
        events = await heard(server)
    assert server.requests[0].get("return_progress") == asked
    assert [event for event in events if isinstance(event, PromptRead)] == [PromptRead(512, 900)]


SCRAMBLED = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=4), lambda inner: st.lists(inner, max_size=2)
)
PLACES: list[Callable[[dict[str, Any], Any], None]] = [
    lambda each, value: each.__setitem__("choices", value),
    lambda each, value: each.__setitem__("usage", value),
    lambda each, value: each["choices"][0].__setitem__("delta", value),
    lambda each, value: each["choices"][0].__setitem__("finish_reason", value),
    lambda each, value: each["choices"][0]["delta"].__setitem__("content", value),
    lambda each, value: each["choices"][0]["delta"].__setitem__("tool_calls", value),
    lambda each, value: each["choices"][0]["delta"]["tool_calls"][0].__setitem__("function", value),
    lambda each, value: each["choices"][0]["delta"]["tool_calls"][0].__setitem__("index", value),
    lambda each, value: each["choices"][0]["delta"]["tool_calls"][0].__setitem__("id", value),
    lambda each, value: each["choices"][0]["delta"]["tool_calls"][0]["function"].__setitem__("name", value),
    lambda each, value: each["choices"][0]["delta"]["tool_calls"][0]["function"].__setitem__("arguments", value),
]


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(PLACES)))
@given(value=SCRAMBLED)
@settings(deadline=None, max_examples=8)
def test_MOD_19_a_field_of_another_type_is_no_defect_of_ours(place: int, value: Any) -> None:
    good = chunk({"content": "hi", "tool_calls": [part(0, "read_file", WHOLE, "x")]})
    PLACES[place](good, value)
    with chat_server(stream(good, CALLED)) as server, suppress(ModelFailed, ModelUnavailable):
        asyncio.run(heard(server))
