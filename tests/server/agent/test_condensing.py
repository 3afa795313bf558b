"""AGT-09: a long conversation is condensed; what must survive stays byte for byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remit_governance.secrets.redaction import Redactor
from remit_server.agent.context.budget import count_chars
from remit_server.agent.context.condense import Room, choose_cut, condense, facts_of
from remit_server.agent.context.conversation import Conversation
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, SystemMessage, ToolMessage, UserMessage

REDACT = Redactor().redact
TEXTS = st.text(st.sampled_from("ab \n`é"), max_size=300)
PATHS = st.sampled_from(["src/a.py", "b.ts", "docs/ü.md"])


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """Draws one request and its steps: each has a few calls with their results, and the last one is a text."""
    messages: list[Message] = [UserMessage(draw(TEXTS))]
    for step in range(draw(st.integers(0, 3))):
        tools = draw(st.lists(st.sampled_from(["read_file", "edit_file", "run_tests"]), min_size=1, max_size=3))
        calls = tuple(
            ProposedCall(f"{step}.{number}", tool, {"path": draw(PATHS), "text": draw(TEXTS)})
            for number, tool in enumerate(tools)
        )
        messages.append(AssistantMessage(draw(TEXTS), calls))
        messages += [
            ToolMessage(call.id, call.name, draw(st.sampled_from(["", "error denied: "])) + draw(TEXTS))
            for call in calls
        ]
    if draw(st.booleans()):
        messages.append(AssistantMessage(draw(TEXTS)))
    return messages


CONVERSATIONS = st.lists(turns(), min_size=1, max_size=8).map(
    lambda parts: [SystemMessage("the standing instructions"), *(message for part in parts for message in part)]
)
ROOMS = st.builds(Room, st.integers(200, 3_000), st.integers(0, 4_000))


@given(messages=CONVERSATIONS, room=ROOMS, pins=st.lists(TEXTS, max_size=3), summary=TEXTS)
def test_AGT_09_pins_and_the_request_that_is_worked_on_stay_byte_for_byte(messages, room, pins, summary):
    conversation = Conversation(list(messages), pins=tuple(pins))
    conversation.condensed = condense(conversation, summary, room, REDACT)
    sent = conversation.sent
    assert sent[0] == messages[0]
    prefix = sent[1]
    assert isinstance(prefix, UserMessage)
    assert all(pin in prefix.text for pin in pins)
    requests = [message for message in messages if isinstance(message, UserMessage)]
    assert any(isinstance(message, UserMessage) and requests[-1].text in message.text for message in sent)
    assert conversation.messages == messages


@given(messages=CONVERSATIONS, room=ROOMS)
def test_AGT_09_no_call_is_sent_without_its_result_and_no_two_requests_in_a_row(messages, room):
    conversation = Conversation(list(messages))
    conversation.condensed = condense(conversation, "", room, REDACT)
    assert not any(isinstance(message, UserMessage) for message in conversation.sent[2:3])
    waiting: list[str] = []
    for message in conversation.sent:
        if isinstance(message, ToolMessage):
            assert message.call_id == waiting.pop(0)
        else:
            assert not waiting
            waiting = [call.id for call in message.calls] if isinstance(message, AssistantMessage) else []


@given(messages=CONVERSATIONS, room=st.builds(Room, st.integers(400, 3_000), st.integers(3_000, 4_000)))
def test_AGT_09_what_is_sent_fits(messages, room):
    conversation = Conversation(list(messages))
    conversation.condensed = condense(conversation, "what was decided" * 100, room, REDACT)
    request = max(len(message.text) for message in messages if isinstance(message, UserMessage))
    standing = count_chars(messages[:1])
    assert count_chars(conversation.sent) <= standing + room.prefix + room.recent + request + 400


@given(messages=CONVERSATIONS, first=st.integers(0, 20), room=st.integers(0, 3_000))
def test_AGT_09_the_newest_messages_begin_where_one_may(messages, first, room):
    cut = choose_cut(messages, min(first, len(messages)), room)
    assert cut == len(messages) or isinstance(messages[cut], UserMessage | AssistantMessage)


def test_AGT_09_changed_files_results_and_refusals_are_read_off_the_calls() -> None:
    def step(number: int, tool: str, arguments: dict[str, str], answer: str) -> list[Message]:
        call = ProposedCall(str(number), tool, arguments)
        return [AssistantMessage("", (call,)), ToolMessage(call.id, tool, answer)]

    messages = [
        UserMessage("add a test"),
        *step(1, "write_file", {"path": "a.py"}, "wrote a.py, 3 lines\nmore"),
        *step(2, "edit_file", {"path": "b.py"}, "error no_match: the text is not there: …\nfix: read it"),
        *step(3, "run_tests", {"path": "tests"}, "2 passed, 1 failed"),
        *step(4, "run_tests", {"path": "tests"}, "3 passed"),
    ]
    facts = facts_of(messages, REDACT)
    assert facts.requests == ("add a test",)
    assert facts.changed == ("a.py (written: wrote a.py, 3 lines)",)
    assert facts.results == ('run_tests {"path": "tests"}: 3 passed',)
    assert len(facts.refused) == 1
    assert "no_match" in facts.refused[0]


@given(st.integers(200, 3_000), st.integers(0, 1_000), st.integers(0, 4_000))
def test_AGT_09_the_results_of_the_step_that_is_worked_on_are_not_cut_while_there_is_room(prefix, recent, newest):
    """A model that gets only a part of its file would read the file again and again."""
    step = [
        AssistantMessage("", (ProposedCall("1", "read_file", {"path": "a.py"}),)),
        ToolMessage("1", "read_file", "x" * max(newest - 200, 0)),
    ]
    before = [AssistantMessage("", (ProposedCall("0", "list_files", {}),)), ToolMessage("0", "list_files", "y" * 3_000)]
    messages = [SystemMessage("s"), UserMessage("look"), *before, *step]
    conversation = Conversation(list(messages))
    conversation.condensed = condense(conversation, "", Room(prefix, recent, newest), REDACT)
    if count_chars(step) <= newest:
        assert list(conversation.sent[-2:]) == step
