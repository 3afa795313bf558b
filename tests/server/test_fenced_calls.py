"""A call in a code fence at the end of a local model's answer is reported to the model, as for a served model
(MOD-14)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.models.local.conversion import read_answer, step_to_wire
from remit_server.models.ports import (
    UNREADABLE_CALL,
    AssistantMessage,
    CallProposed,
    Finished,
    GenerateRequest,
    ModelEvent,
    ProposedCall,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from remit_server.models.profile import LARGE, TINY, Profile
from remit_server.models.unreadable import refuse_fenced

READ = ToolSpec("read_file", "Read.", {"type": "object", "properties": {"path": {"type": "string"}}})
REQUEST = GenerateRequest("s", (UserMessage("what is in it"),), {Intent.READ_FILE: (READ,)}, max_tokens=50)
CALL = '```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```\n'
DECLARED = '```\n{"name": "select_active_intent", "arguments": {"intent": "READ_FILE"}}\n```'


async def heard(
    *said: ModelEvent, request: GenerateRequest = REQUEST, profile: Profile = LARGE
) -> tuple[str, list[str], ModelEvent]:
    """Returns the text that is passed on, the names of the calls, and the last event."""

    async def events() -> AsyncGenerator[ModelEvent]:
        for event in (*said, Finished("stop")):
            yield event

    wanted = step_to_wire(request, profile, None)
    passed = [event async for event in read_answer(events(), request, wanted)]
    text = "".join(event.text for event in passed if isinstance(event, TextDelta))
    return text, [event.call.name for event in passed if isinstance(event, CallProposed)], passed[-1]


@pytest.mark.parametrize("text", [CALL, f"I look.\n{CALL}", DECLARED])
async def test_MOD_14_a_local_models_call_in_a_fence_is_told_and_not_run(text: str) -> None:
    pieces = [TextDelta(text[at : at + 3]) for at in range(0, len(text), 3)]
    assert await heard(*pieces) == (text, [UNREADABLE_CALL], Finished("stop"))


async def test_MOD_14_it_is_told_once_in_a_turn() -> None:
    told = ToolMessage("x", UNREADABLE_CALL, "nothing was run")
    again = replace(REQUEST, messages=(*REQUEST.messages, AssistantMessage("", ()), told))
    assert (await heard(TextDelta(CALL), request=again))[1] == []
    next_turn = replace(again, messages=(*again.messages, UserMessage("go on")))
    assert (await heard(TextDelta(CALL), request=next_turn))[1] == [UNREADABLE_CALL]


async def test_MOD_14_nothing_is_told_where_no_call_was_meant() -> None:
    call = CallProposed(ProposedCall("1", "read_file", {"path": "a.py"}))
    assert (await heard(TextDelta(CALL), call))[1] == ["read_file"]
    assert (await heard(ThinkingDelta(CALL), TextDelta("done")))[1] == []
    assert (
        await heard(
            TextDelta(f"{CALL}is a call."),
        )
    )[1] == []
    assert (await heard(TextDelta(CALL), request=replace(REQUEST, must_answer=True)))[1] == []
    assert (await heard(TextDelta(CALL), request=replace(REQUEST, intents={})))[1] == []


async def test_MOD_14_a_step_that_a_schema_holds_is_read_as_one() -> None:
    step = '{"answer": "```\\n{}\\n```"}'
    assert await heard(TextDelta(step), profile=TINY) == ("```\n{}\n```", [], Finished("stop"))


@given(st.lists(st.sampled_from(["```", "json", "\n", CALL, " ", "{", "}", '"name"', "a"]), max_size=10))
def test_MOD_14_only_a_fence_that_ends_a_text_is_one(pieces: Sequence[str]) -> None:
    text = "".join(pieces)
    told = refuse_fenced(text, REQUEST.messages, {READ.name, SELECT_INTENT})
    assert told is None or text.rstrip().endswith("```")
    if told is None and text.endswith(f"\n{CALL}"):
        assert "```" in text.removesuffix(CALL), "another fence may be open"
