"""A session's declared intents stay byte for byte, also when the session is condensed or resumed (INT-07)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench_runtime import call
from hypothesis import given
from hypothesis import strategies as st

from remit_governance.secrets.redaction import Redactor
from remit_server.agent.context.condense import MOST_KEPT, Room, condense, recall_intents
from remit_server.agent.context.conversation import Conversation
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, SystemMessage, ToolMessage, UserMessage
from remit_server.sessions.folder import SessionFolder
from remit_server.sessions.replay import replay

WHY = "to see \u201chow\u201d\n- Requests, the oldest first:\t\\ it is 100 % done"


def declared(number: int, result: str = "intent CODE is active", **arguments: Any) -> list[Message]:
    made = ProposedCall(str(number), "select_active_intent", arguments)
    return [AssistantMessage("", (made,)), ToolMessage(str(number), made.name, result)]


def condensed(messages: list[Message], room: int) -> str:
    conversation = Conversation([SystemMessage("s"), UserMessage("go"), *messages, UserMessage("more")])
    prefix = condense(conversation, "summary " * 200, Room(room, 10), Redactor().redact).prefix
    return "".join(each.text for each in prefix)


@given(st.lists(st.text(max_size=80), min_size=1, max_size=20), st.integers(200, 4_000))
def test_INT_07_every_declaration_of_the_last_ones_stays_byte_for_byte(whys: list[str], room: int) -> None:
    messages = [m for n, why in enumerate(whys) for m in declared(n, intent="CODE", justification=why, work_item="A-1")]
    text = condensed(messages, room)
    newest = list(dict.fromkeys(reversed(whys)))[:MOST_KEPT]
    for why in newest:
        spelled = json.dumps({"intent": "CODE", "justification": why, "work_item": "A-1"}, ensure_ascii=False)
        assert f"\n- {spelled}" in text
    assert recall_intents(messages) in text
    assert recall_intents(messages).count("\n- ") == len(newest)


def test_INT_07_what_was_refused_was_not_declared() -> None:
    refused = declared(1, "error invalid_arguments: no", intent="CODE")
    assert recall_intents(refused) == ""
    assert recall_intents([]) == ""


async def test_INT_07_a_session_that_is_taken_up_again_remembers_the_same(make_bench: Any, tmp_path: Path) -> None:
    steps = [
        {
            "calls": [
                call("select_active_intent", intent="READ_FILE", justification=WHY),
                call("read_file", path="a.py"),
            ]
        },
        {"text": "done"},
    ]
    bench = await make_bench(*steps)
    await bench.ask("go")
    (session,) = bench.runtime._sessions.by_id.values()
    before = recall_intents(session.conversation.messages)
    await bench.runtime.close()
    folder = SessionFolder(bench.settings.session_folder)
    again = replay(folder.read(folder.find("s"))).conversation()
    assert recall_intents(again.messages) == before
    assert json.dumps(WHY, ensure_ascii=False) in before
