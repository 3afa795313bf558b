"""AGT-13: a conversation goes on with other models and protocols, with its calls and results."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from chat_server import ChatServer, Said, chat_server
from random_model import random_model

from remit_governance.intents import SELECT_INTENT
from remit_server.chat.commands import run_command
from remit_server.chat.replies import Chat
from remit_server.contract import RunResult

READS = {"name": "read_file", "arguments": {"path": "a.py"}}
STEP = Said(json.dumps({"intent": "READ_FILE", "calls": [{"tool": "read_file", "arguments": {"path": "a.py"}}]}))


def answer(text: str) -> Said:
    return Said(json.dumps({"answer": text}))


async def ask(bench: Bench, text: str, model: str | None = None) -> RunResult:
    return await bench.ask(text, **({} if model is None else {"model": model}))


def sent(server: ChatServer, number: int = -1) -> str:
    return json.dumps(server.requests[number])


async def over_four_protocols(bench: Bench) -> None:
    """Goes on after a first turn with one step over each protocol, each of which gets the whole conversation."""
    with (
        chat_server(STEP, answer("openai said"), answer("openai again"), owner="vllm") as first,
        chat_server(
            Said(calls=[(SELECT_INTENT, {"intent": "READ_FILE"})]),
            Said(calls=[("read_file", {"path": "a.py"})]),
            Said(calls=[(SELECT_INTENT, {"intent": "READ_FILE"})]),
            Said("anthropic said"),
        ) as second,
        chat_server(
            Said(calls=[(SELECT_INTENT, {"intent": "READ_FILE"})]),
            Said("google said"),
        ) as third,
        chat_server(answer("ollama said")) as fourth,
    ):
        over_openai = await ask(bench, "second turn", f"openai:m@{first.url}/v1")
        assert over_openai.final_output == "openai said"
        assert "first turn" in sent(first, 0)
        assert "total += n" in sent(first, 1)
        assert (await ask(bench, "third turn")).final_output == "openai again"
        over_anthropic = await ask(bench, "fourth turn", f"anthropic:m@{second.url}")
        assert over_anthropic.final_output == "anthropic said"
        kinds = [block["type"] for message in second.requests[0]["messages"] for block in message["content"]]
        assert kinds.count("tool_use") == kinds.count("tool_result") >= 1
        assert all(text in sent(second, 0) for text in ("first turn", "openai said", "total += n", "fourth turn"))
        over_google = await ask(bench, "fifth turn", f"google:m@{third.url}")
        assert over_google.final_output == "google said"
        parts = [kind for turn in third.requests[0]["contents"] for part in turn["parts"] for kind in part]
        assert parts.count("functionCall") == parts.count("functionResponse") >= 2
        over_ollama = await ask(bench, "sixth turn", f"ollama:m@{fourth.url}")
        assert over_ollama.final_output == "ollama said"
        said = ("first turn", "openai said", "anthropic said", "google said", "sixth turn")
        assert all(text in sent(fourth) for text in said)


@pytest.mark.slow
async def test_AGT_13_a_conversation_goes_on_over_four_protocols(make_bench: Any) -> None:
    bench = await make_bench({"calls": [intent("READ_FILE"), call("read_file", path="a.py")]}, {"text": "script said"})
    await ask(bench, "first turn")
    await over_four_protocols(bench)
    assert {event.sent_to for event in bench.of("run_started")} == {None}


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra")
async def test_AGT_13_a_conversation_begun_on_mlx_goes_on(make_bench: Any, tmp_path: Path) -> None:
    bench = await make_bench({"text": "unused"})
    folder = random_model(tmp_path / "model", 16_384)
    await bench.ask("first turn", model=str(folder), policy={"max_steps": 1})
    await over_four_protocols(bench)


@pytest.mark.slow
async def test_AGT_13_where_a_conversation_is_sent_is_shown(make_bench: Any) -> None:
    bench = await make_bench({"text": "ok"})
    assert bench.runtime.status().sent_to is None
    await bench.ask("go", model="openai:m@http://192.0.2.1:9/v1", policy={"timeout_s": 0.2})
    assert bench.of("run_started")[-1].sent_to == "192.0.2.1:9"


async def test_AGT_13_a_reference_that_means_no_model_changes_nothing(make_bench: Any) -> None:
    bench = await make_bench({"text": "one"}, {"text": "two"})
    await ask(bench, "go")
    refused = await ask(bench, "go", "openai:m@ftp://nowhere")
    assert refused.status == "failed"
    assert refused.error is not None
    assert (await ask(bench, "go")).final_output == "two"


@pytest.mark.slow
async def test_AGT_09_a_step_that_is_asked_twice_fills_the_window_once(make_bench: Any) -> None:
    bench = await make_bench()
    step = (Said(calls=[(SELECT_INTENT, {"intent": "READ_FILE"})]), Said("it adds"))
    with chat_server(*step) as server:
        result = await ask(bench, "what does a.py do?", f"anthropic:m@{server.url}")
    (used,) = bench.of("usage")
    assert len(server.requests) == 2
    assert used.usage.prompt_tokens == result.usage.prompt_tokens == 2 * used.context > 0
    chat = Chat(bench.runtime, bench.settings, "s", lambda: "new")
    assert f"was sent {used.context:,} tokens at once" in (await run_command(chat, "/context")).text
