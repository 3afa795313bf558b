"""What mlx_lm.server 0.32 was seen to send, as raw bytes: its list of models, its streams, its errors."""

from __future__ import annotations

import json
from contextlib import aclosing

import pytest
from mlx_lm_shaped import EMPTY, LISTED_NONE, LISTED_TWO, MlxLmShaped, called, end, mlx_lm_shaped, progress, said

from remit_governance.values import Intent
from remit_server.errors import ModelFailed
from remit_server.models.check import check_model
from remit_server.models.finding import Usual, fetch, find_served
from remit_server.models.local.options import EngineOptions
from remit_server.models.ports import (
    UNREADABLE_CALL,
    CallProposed,
    Finished,
    GenerateRequest,
    ModelEvent,
    PromptRead,
    SystemMessage,
    TextDelta,
    ToolSpec,
    UserMessage,
)
from remit_server.models.remote.choose import make_client
from remit_server.models.remote.engines import parse_reference
from remit_server.models.remote.patience import Patience
from remit_server.models.remote.provider import RemoteProvider

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = ToolSpec("read_file", "Read a file.", PATH)
REQUEST = GenerateRequest(
    "s", (SystemMessage("be brief"), UserMessage("read a.py")), {Intent.READ_FILE: (READ,)}, max_tokens=50
)
QUICK = Patience(connect_s=2, first_token_s=5, between_tokens_s=5, retries=0)


async def heard(server: MlxLmShaped, model: str = "") -> list[ModelEvent]:
    reference = parse_reference(f"openai:{model}@{server.url}")
    assert reference is not None
    provider = RemoteProvider(reference, make_client, str, patience=QUICK)
    try:
        assert (await provider.served())[0].engine == "mlx_lm"
        async with aclosing(provider.generate(REQUEST)) as events:
            return [event async for event in events]
    finally:
        await provider.close()


def calls_of(events: list[ModelEvent]) -> list[tuple[str, dict[str, object]]]:
    return [(event.call.name, dict(event.call.arguments)) for event in events if isinstance(event, CallProposed)]


@pytest.mark.parametrize("models", [EMPTY, LISTED_TWO])
async def test_MOD_12_the_model_that_mlx_lm_was_started_with_needs_no_name(models: bytes) -> None:
    """Its list is empty or has every model in the hub's cache; a request that named one of those would load that one
    instead."""
    with mlx_lm_shaped(said("Hello") + end(), models=models) as server:
        assert TextDelta("Hello") in await heard(server)
    assert [each["model"] for each in server.requests] == ["default_model"]


async def test_MOD_27_a_model_that_nothing_holds_is_sent_to_an_engine_that_does() -> None:
    """Qwen2.5-Coder with half a billion weights did this, though llama.cpp's schema holds that model well."""
    fenced = '```json\n{"name": "rename total to subtotal in a.py", "arguments": {"path": "a.py"}}\n```'
    with mlx_lm_shaped(said(fenced) + end()) as server:
        report = await check_model(f"openai:@{server.url}", EngineOptions())
    assert report.problem is not None
    assert report.calls == ()
    assert "llama.cpp" in report.problem.fix


@pytest.mark.parametrize("models", [EMPTY, LISTED_NONE])
async def test_MOD_26_it_is_found_though_it_lists_no_model(models: bytes) -> None:
    with mlx_lm_shaped(end(), models=models) as server:
        (found,) = await find_served(fetch, (Usual(server.port, "openai", "X"),))
    assert (found.reference, found.server) == (f"openai:default_model@{server.url}", "mlx_lm.server")


async def test_MOD_24_its_comments_tell_how_much_of_the_prompt_is_read() -> None:
    odd = b": keepalive\n\n: keepalive 9/0\n\n: keepalive 7/6\n\n: keepalive -1/6\n\n: ping - 2026-11-27\n\n"
    with mlx_lm_shaped(progress(34, 35) + odd + progress(35, 35) + said("Hello") + end()) as server:
        events = await heard(server)
    assert events[:-1] == [PromptRead(34, 35), PromptRead(35, 35), TextDelta("Hello")]
    assert isinstance(events[-1], Finished)
    assert (events[-1].prompt_tokens, events[-1].completion_tokens) == (35, 2)


@pytest.mark.parametrize("before", [b"", said("I look at it.")])
async def test_MOD_19_a_call_that_the_server_dropped_is_told_to_the_model(before: bytes) -> None:
    """The server cannot parse the call and drops it, but still says that the answer ends with calls."""
    with mlx_lm_shaped(before + end("tool_calls")) as server:
        ((name, told),) = calls_of(await heard(server))
    assert name == UNREADABLE_CALL
    assert told["why"]


async def test_MOD_19_a_call_that_came_is_no_dropped_one() -> None:
    with mlx_lm_shaped(called("read_file", '{"path": "a.py"}') + end("tool_calls")) as server:
        assert calls_of(await heard(server)) == [("read_file", {"path": "a.py"})]


async def test_MOD_13_an_answer_in_which_the_server_failed_is_none() -> None:
    """The server closes the connection, because its parser fails at a call without arguments."""
    with mlx_lm_shaped(progress(35, 35) + said("I look.")) as server, pytest.raises(ModelFailed):
        await heard(server)


REFUSED = {
    "": b'{"error": "expected str, bytes or os.PathLike object, not NoneType"}',
    "nosuch/x": b'{"error": "Got: ConnectError: [Errno -2] Name or service not known\\nAn error happened while trying to locate the files on the Hub"}',
}


@pytest.mark.parametrize("model", REFUSED, ids=["started with none", "not on the hub"])
async def test_MOD_19_a_model_that_it_does_not_find_is_told_in_its_words(model: str) -> None:
    with mlx_lm_shaped((404, REFUSED[model])) as server, pytest.raises(ModelFailed) as failed:
        await heard(server, model)
    assert failed.value.why == json.loads(REFUSED[model])["error"]
    assert "start it with one" in failed.value.fix
