"""MOD-19: a good stream of each protocol as raw bytes, in which any field is absent, null, of another type or given
twice.

In every case there are events and an end, or an error that a person can read; a whole call is not lost because of a
field that does not concern it.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from typing import Any

import pytest
from chat_server import Raw, chat_server
from examples import rounds
from stream_mutations import mutated

from remit_server.errors import RemitError
from remit_server.models.ports import CallProposed, ModelEvent, SystemMessage, TextDelta, ToolSpec, UserMessage
from remit_server.models.remote.ask import Among, Ask, Ended
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.engines import parse_reference
from remit_server.models.remote.patience import Patience, stream_patiently
from remit_server.models.remote.provider import ended_alike
from remit_server.models.sameness import ENOUGH, end_where_alike

pytestmark = pytest.mark.slow

QUICK = Patience(connect_s=2, first_token_s=5, between_tokens_s=5, retries=0)
READ = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
MESSAGES = (SystemMessage("be brief"), UserMessage("read a.py"))
ARGUMENTS = {"path": "a.py"}


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def part(index: int, name: str | None, arguments: str, call_id: str | None = None) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {"index": index, "function": function, **({"id": call_id, "type": "function"} if call_id else {})}


def calls_of(events: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(event.call.name, dict(event.call.arguments)) for event in events if isinstance(event, CallProposed)]


USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
STREAMS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "openai": (
        chunk({"role": "assistant", "content": "I look."}),
        chunk({"tool_calls": [part(0, "read_file", "", "c1")]}),
        chunk({"tool_calls": [part(0, None, json.dumps(ARGUMENTS))]}),
        chunk({}, reason="tool_calls"),
        {**chunk({}), "choices": [], "usage": USAGE},
    ),
    "anthropic": (
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": {"input_tokens": 9, "output_tokens": 0}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I look."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": json.dumps(ARGUMENTS)}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ),
    "ollama": (
        {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": "I look."}, "done": False},
        {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "read_file", "arguments": ARGUMENTS}}]}, "done": False},
        {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 3},
    ),
    "google": (
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "I look."}]}, "index": 0}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": ARGUMENTS}}]}, "finishReason": "STOP", "index": 0}], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12}},
    ),
}  # fmt: skip
OTHERS: tuple[Any, ...] = (None, 7, -1, True, "x", "", [], {}, [None], {"a": None}, [{"text": "part"}], 1.5)


def spelled(protocol: str, stream: tuple[Any, ...]) -> Raw:
    """Returns the bytes of a stream."""
    if protocol == "ollama":
        return Raw("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in stream).encode())
    lines = []
    for each in stream:
        kind = each.get("type") if isinstance(each, dict) and protocol == "anthropic" else None
        named = f"event: {kind}\n" if isinstance(kind, str) else ""
        lines.append(f"{named}data: {each if isinstance(each, str) else json.dumps(each)}\n\n")
    return Raw("".join([*lines, *(["data: [DONE]\n\n"] if protocol == "openai" else [])]).encode())


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of every field of a stream."""
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    ):
        yield (*here, key)
        yield from places(inner, (*here, key))


def changed(stream: tuple[Any, ...], way: tuple[Any, ...], change: Any) -> tuple[Any, ...]:
    """Returns the stream with one field removed (`ABSENT`) or with another value."""
    copied = list(copy.deepcopy(stream))
    inner: Any = copied
    for key in way[:-1]:
        inner = inner[key]
    if change is ABSENT:
        del inner[way[-1]]
    else:
        inner[way[-1]] = change
    return tuple(copied)


ABSENT = object()


async def heard(protocol: str, *answers: Raw) -> list[list[ModelEvent | Ended] | RemitError]:
    """Returns for each stream what one client yields for it, or the error that a person reads."""
    found: list[Any] = []
    with chat_server(*answers) as server:
        reference = parse_reference(f"{protocol}:m@{server.url}{'/v1' if protocol == 'openai' else ''}")
        assert reference is not None
        client = make_client(reference, QUICK)
        ask = Ask("m", MESSAGES, (READ,), Among(("read_file",)), 50, None, None, 0, None)
        try:
            for _ in answers:
                heard_so_far = stream_patiently(lambda: client.stream(ask), QUICK, "m")
                pieces = end_where_alike(heard_so_far, ENOUGH, ended_alike)
                try:
                    async with aclosing(pieces) as said:
                        found.append([piece async for piece in said])
                except RemitError as error:
                    found.append(error)
        finally:
            await client.close()
    return found


@pytest.mark.parametrize("protocol", STREAMS)
async def test_MOD_19_the_good_stream_is_read(protocol: str) -> None:
    (events,) = await heard(protocol, spelled(protocol, STREAMS[protocol]))
    assert isinstance(events, list)
    assert calls_of(events) == [("read_file", ARGUMENTS)]
    assert isinstance(events[-1], Ended)
    assert (events[-1].prompt_tokens, events[-1].completion_tokens) == (9, 3)


@pytest.mark.filterwarnings("ignore:.*is not a valid:UserWarning")
@pytest.mark.parametrize("protocol", STREAMS)
@pytest.mark.parametrize("change", [ABSENT, *OTHERS], ids=lambda each: "absent" if each is ABSENT else repr(each))
async def test_MOD_19_any_field_may_be_something_else(protocol: str, change: Any) -> None:
    stream = STREAMS[protocol]
    ways = [way for way in places(stream) if len(way) > 1]
    came = await heard(protocol, *(spelled(protocol, changed(stream, way, change)) for way in ways))
    for way, said in zip(ways, came, strict=True):
        if isinstance(said, RemitError):
            assert said.what
            assert said.fix
        else:
            assert isinstance(said[-1], Ended), (way, said)
            assert all(isinstance(count, int) for count in (said[-1].prompt_tokens, said[-1].completion_tokens))


TELLS_NOTHING = {
    "openai": (
        "usage",
        "id",
        "created",
        "model",
        "object",
        "role",
        "total_tokens",
        "prompt_tokens",
        "completion_tokens",
    ),
    "anthropic": ("usage", "input_tokens", "output_tokens", "id", "model", "role", "stop_sequence"),
    "ollama": ("model", "created_at", "prompt_eval_count", "eval_count", "role"),
    "google": ("usageMetadata", "promptTokenCount", "candidatesTokenCount", "totalTokenCount"),
}
"""Fields that do not concern the call."""


@pytest.mark.parametrize("protocol", STREAMS)
async def test_MOD_19_a_call_is_not_lost_to_a_field_that_says_nothing_of_it(protocol: str) -> None:
    stream = STREAMS[protocol]
    ways = [way for way in places(stream) if way[-1] in TELLS_NOTHING[protocol]]
    # Google's library is made for one service, and refuses another type with an error that can be read.
    changes = (ABSENT, None) if protocol == "google" else (ABSENT, None, [], "x")
    cases = [(way, change) for way in ways for change in changes]
    came = await heard(protocol, *(spelled(protocol, changed(stream, *case)) for case in cases))
    lost = [case for case, said in zip(cases, came, strict=True) if not isinstance(said, list) or not calls_of(said)]
    assert lost == []


@pytest.mark.parametrize("protocol", STREAMS)
async def test_MOD_19_lines_that_are_no_objects_end_the_answer_in_words(protocol: str) -> None:
    stream = STREAMS[protocol]
    odd = ("7", "null", "[]", '"x"', "{", "")
    came = await heard(protocol, *(spelled(protocol, (stream[0], line, *stream[1:])) for line in odd))
    for said in came:
        assert isinstance(said, RemitError) or isinstance(said[-1], Ended)


SEEDS = rounds(2_500, 100)
"""For each protocol; all protocols together have ten thousand in a thorough run."""
MOST_CHARS = 3_000_000
"""More than any of the streams contains; a longer answer would be endless."""


@pytest.mark.filterwarnings("ignore:.*is not a valid:UserWarning")
@pytest.mark.parametrize("protocol", STREAMS)
async def test_MOD_19_bytes_changed_by_chance_are_an_answer_or_an_error_in_words(protocol: str) -> None:
    stream = spelled(protocol, STREAMS[protocol]).data
    first = int.from_bytes(protocol.encode()[:4]) + random.SystemRandom().randrange(10**9) * (SEEDS > 100)
    seeds = range(first, first + SEEDS)
    came = await heard(protocol, *(Raw(mutated(stream, seed)) for seed in seeds))
    for seed, said in zip(seeds, came, strict=True):
        if isinstance(said, RemitError):
            assert said.what, seed
            assert said.fix, seed
        else:
            assert isinstance(said[-1], Ended), seed
            assert sum(len(piece.text) for piece in said if isinstance(piece, TextDelta)) < MOST_CHARS, seed


@pytest.mark.parametrize("protocol", STREAMS)
async def test_MOD_19_a_whole_call_survives_lines_that_are_put_between(protocol: str) -> None:
    """Comments, empty lines, and an answer that is cut off after the call was whole."""
    lines = spelled(protocol, STREAMS[protocol]).data.split(b"\n")
    between = [
        b"\n".join([*lines[:at], *odd, *lines[at:]]) for at in range(0, len(lines), 3) for odd in ([b""], [b"", b""])
    ]
    came = await heard(protocol, *map(Raw, between))
    assert [said if isinstance(said, RemitError) else calls_of(said) for said in came] == [
        [("read_file", ARGUMENTS)]
    ] * len(between)
