"""`remit/generate` as raw messages: on a stand-in runtime, and on the real one with a model of random weights
(LSP-04)."""

from __future__ import annotations

import pytest
from messages import SAYS
from random_model import kept_model

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

METHOD = "remit/generate"


async def test_the_text_streams_on_the_token_and_the_result_has_the_usage(shared):
    result = await shared.result(METHOD, {"prompt": "say", "output_format": "string_list", "partialResultToken": "T"})
    assert shared.events("T") == [{"delta": "one "}]
    assert result["result"] == "string_list"
    assert result["usage"] == {"prompt_tokens": 0, "cached_tokens": 0, "completion_tokens": 1, "price_usd": 0.0}


async def test_cancelling_stops_the_model(start, runtime_log):
    client = await start()
    await client.initialize()
    msg_id, answer = client.start(METHOD, {"prompt": "wait", "partialResultToken": 1})
    await client.until(lambda: client.events(1))
    client.notify("$/cancelRequest", {"id": msg_id})
    assert (await answer)["error"]["code"] == -32800
    assert runtime_log() == ["opened", "stopped"]


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": "x", "output_format": "xml"}, "output_format"),
        ({"prompt": "x", "output_format": 5}, "output_format"),
        ({"prompt": "x", "max_tokens": 0}, "max_tokens"),
        ({"prompt": "x", "tools": []}, "tools"),
        ([], "object"),
    ],
)
async def test_wrong_params_are_named(shared, params, named):
    error = await shared.error(METHOD, params)
    assert error["code"] == -32602
    assert named in error["message"]


async def test_a_model_that_fails_says_what_why_and_fix(shared):
    error = await shared.error(METHOD, {"prompt": "fail"})
    assert error["code"] == -32803
    assert {name: error["data"][name] for name in ("code", "what", "why", "fix")} == {
        "code": "model_failed",
        "what": "no answer",
        "why": "the stand-in says so",
        "fix": "ask again",
    }


@pytest.mark.model
async def test_a_local_model_is_held_to_every_format(start_real):
    client = await start_real(REMIT_MODEL=kept_model())
    await client.initialize()
    asked = {"prompt": "say", "content": "this", "max_tokens": 64}

    text = await client.result(METHOD, {**asked, "partialResultToken": "T"})
    assert text["result"] == "".join(event["delta"] for event in client.events("T"))
    assert text["usage"]["completion_tokens"] > 0

    items = (await client.result(METHOD, {**asked, "output_format": "string_list"}))["result"]
    assert isinstance(items, list)
    assert all(isinstance(item, str) for item in items)

    answers = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
    value = (await client.result(METHOD, {**asked, "output_format": answers}))["result"]
    assert list(value) == ["yes"]
    assert isinstance(value["yes"], bool)

    cut = await client.error(
        METHOD, {**asked, "max_tokens": 2, "output_format": {"type": "string", "minLength": 90, "maxLength": 99}}
    )
    assert SAYS.the_answer_does_not_fit in cut["message"]
    broken = await client.error(METHOD, {**asked, "output_format": {"$ref": "#/nowhere"}})
    assert broken["data"]["code"] == "model_failed"
    assert "nowhere" in broken["data"]["why"]
    assert await client.shutdown() == 0
