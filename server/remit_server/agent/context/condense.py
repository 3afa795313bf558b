"""A long conversation as a shorter one: a new prefix, then the newest messages as they are (AGT-09)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from remit_governance.secrets.redaction import truncate
from remit_server.agent.context.budget import count_chars
from remit_server.agent.context.conversation import Condensed, Conversation
from remit_server.agent.context.facts import Facts, facts_of
from remit_server.agent.context.intent_memory import recall_intents
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, SystemMessage, ToolMessage, UserMessage

MOST_SUMMARY_TOKENS = 2_000

ASK_FOR_SUMMARY = """\
The conversation above is about to be condensed. Without calling a tool, write down what whoever goes on has to know:
what was decided and why, what is done, what was found out about the code, what is still open. Leave out what the files
say."""

_HEAD = "Earlier in this conversation (condensed: data, not a request):"
_LEAST_CHARS = 200


@dataclass(frozen=True, slots=True)
class Room:
    """Characters that a condensed conversation may have: its prefix besides the system message, what follows, and the
    step that is worked on where that is longer: its results were just read, and are never shortened within this."""

    prefix: int
    recent: int
    newest: int = 0


def condense(conversation: Conversation, summary: str, room: Room) -> Condensed:
    """Returns what is sent from now on. Pins, the intents that were declared (INT-07), and the request that
    is worked on, are in it byte for byte."""
    messages = conversation.messages
    system = [message for message in messages[:1] if isinstance(message, SystemMessage)]
    cut = choose_cut(messages, len(system), room.recent)
    request = current_request(messages, cut)
    kept = (recall_intents(messages[:cut]), conversation.pins)
    text = _spell(summary, facts_of(messages[:cut]), *kept, room.prefix)
    newest = messages[cut:]
    while newest and isinstance(first := newest[0], UserMessage):  # some templates take no two in a row
        request, newest = first if request is None else UserMessage(f"{request.text}\n\n{first.text}"), newest[1:]
    asked = "" if request is None else f"\n\nThe request that is worked on:\n{request.text}"
    prefix: tuple[Message, ...] = (*system, UserMessage(text + asked))
    if count_chars(newest) <= max(room.recent, room.newest):
        return Condensed(prefix, len(messages) - len(newest))
    return Condensed((*prefix, *_shortened(newest, room.recent)), len(messages))


def choose_cut(messages: Sequence[Message], first: int, room: int) -> int:
    """Returns where the newest messages begin that fit: with a request or an answer of the model's, never between a
    call and its result; the last of those begins them even if it is too long."""
    begins = [n for n in range(first, len(messages)) if isinstance(messages[n], UserMessage | AssistantMessage)]
    fitting = [n for n in begins if count_chars(messages[n:]) <= room]
    return min(fitting, default=begins[-1] if begins else len(messages))


def current_request(messages: Sequence[Message], cut: int) -> UserMessage | None:
    """Returns the last request before `cut`, where none comes after: the one that is worked on."""
    if any(isinstance(message, UserMessage) for message in messages[cut:]):
        return None
    return next((message for message in reversed(messages[:cut]) if isinstance(message, UserMessage)), None)


def _spell(summary: str, facts: Facts, intents: str, pins: Sequence[str], room: int) -> str:
    kept = f"\n{intents}" if intents else ""
    kept += "".join(f"\nPinned by the person:\n{pin}" for pin in pins)
    parts = [
        ("Summary", (summary.strip(),) if summary.strip() else ()),
        ("Requests, the oldest first", facts.requests),
        ("Files changed", facts.changed),
        ("Last results of tests and commands", facts.results),
        ("Refused", facts.refused),
    ]
    said = [f"{title}:\n" + "\n".join(f"- {line}" for line in lines) for title, lines in parts if lines]
    body = truncate("\n".join(said), max(room - len(kept), _LEAST_CHARS), "middle")
    return f"{_HEAD}\n{body}{kept}"


def _shortened(messages: Sequence[Message], room: int) -> list[Message]:
    """The messages with their longest texts cut, so that all of them fit."""
    most = max(room // max(len(messages), 1), _LEAST_CHARS)
    return [_cut(message, most) for message in messages]


def _cut(message: Message, most: int) -> Message:
    match message:
        case ToolMessage(text=text):
            return replace(message, text=truncate(text, most, "middle"))
        case AssistantMessage(text=text, calls=calls):
            return AssistantMessage(truncate(text, most, "middle"), tuple(_cut_call(call, most) for call in calls))
        case _:
            return message


def _cut_call(call: ProposedCall, most: int) -> ProposedCall:
    arguments: dict[str, JsonValue] = {
        name: truncate(value, most, "middle") if isinstance(value, str) else value
        for name, value in call.arguments.items()
    }
    return replace(call, arguments=arguments)
