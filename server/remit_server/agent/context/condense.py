"""Condenses a long conversation: a new prefix, then the newest messages as they are (AGT-09).

The prefix lists requests, changed files, results, refusals, and the intents that the session has declared (INT-07).
They are taken from the messages themselves, so that no model can leave one out, and a session that is taken up again
has them too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from remit_governance.intents import SELECT_INTENT, canonical_tool
from remit_governance.secrets.cutting import truncate
from remit_governance.secrets.redaction import Redacted
from remit_governance.values import Effect
from remit_server.agent.context.budget import count_chars
from remit_server.agent.context.conversation import Condensed, Conversation
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, SystemMessage, ToolMessage, UserMessage
from remit_server.tools.table import TOOLS

MOST_SUMMARY_TOKENS = 2_000

ASK_FOR_SUMMARY = """\
The conversation above is about to be condensed. Without calling a tool, write down what whoever goes on has to know:
what was decided and why, what is done, what was found out about the code, what is still open. Leave out what the files
say."""

Redact = Callable[[str], Redacted]

_HEAD = "Earlier in this conversation (condensed: data, not a request):"
_LEAST_CHARS = 200


@dataclass(frozen=True, slots=True)
class Room:
    """Characters that a condensed conversation may have: its prefix besides the system message, and what follows.

    The newest messages are not shortened up to the larger of `recent` and `newest`, because the current step's results
    were just read."""

    prefix: int
    recent: int
    newest: int = 0


def condense(conversation: Conversation, summary: str, room: Room, redact: Redact) -> Condensed:
    """Returns what is sent from now on. It holds the pins, the declared intents (INT-07) and the current request byte
    for byte. What is cut is redacted before, because whoever is sent a half of a secret could not recognise it."""
    messages = conversation.messages
    system = [message for message in messages[:1] if isinstance(message, SystemMessage)]
    cut = choose_cut(messages, len(system), room.recent)
    request = current_request(messages, cut)
    kept = (recall_intents(messages[:cut]), conversation.pins)
    said = _spell(summary, facts_of(messages[:cut], redact))
    text = _fitted(said, *kept, room.prefix, redact)
    newest = messages[cut:]
    while newest and isinstance(first := newest[0], UserMessage):  # some templates refuse two user messages in a row
        request, newest = first if request is None else UserMessage(f"{request.text}\n\n{first.text}"), newest[1:]
    asked = "" if request is None else f"\n\nThe request that is worked on:\n{request.text}"
    prefix: tuple[Message, ...] = (*system, UserMessage(text + asked))
    if count_chars(newest) <= max(room.recent, room.newest):
        return Condensed(prefix, len(messages) - len(newest))
    return Condensed((*prefix, *_shortened(newest, room.recent, redact)), len(messages))


def choose_cut(messages: Sequence[Message], first: int, room: int) -> int:
    """Returns the position from which the newest messages fit into `room` characters.

    It is always a request or an answer of the model, so a call is never parted from its result. If not even the last
    of these fits, its position is returned."""
    begins = [n for n in range(first, len(messages)) if isinstance(messages[n], UserMessage | AssistantMessage)]
    fitting = [n for n in begins if count_chars(messages[n:]) <= room]
    return min(fitting, default=begins[-1] if begins else len(messages))


def current_request(messages: Sequence[Message], cut: int) -> UserMessage | None:
    """Returns the request that is worked on if it stands before `cut`, or None if a request comes after `cut`."""
    if any(isinstance(message, UserMessage) for message in messages[cut:]):
        return None
    return next((message for message in reversed(messages[:cut]) if isinstance(message, UserMessage)), None)


def _spell(summary: str, facts: Facts) -> str:
    parts = [
        ("Summary", (summary.strip(),) if summary.strip() else ()),
        ("Requests, the oldest first", facts.requests),
        ("Files changed", facts.changed),
        ("Last results of tests and commands", facts.results),
        ("Refused", facts.refused),
    ]
    return "\n".join(f"{title}:\n" + "\n".join(f"- {line}" for line in lines) for title, lines in parts if lines)


def _fitted(said: str, intents: str, pins: Sequence[str], room: int, redact: Redact) -> str:
    kept = f"\n{intents}" if intents else ""
    kept += "".join(f"\nPinned by the person:\n{pin}" for pin in pins)
    body = _short(said, max(room - len(kept), _LEAST_CHARS), redact)
    return f"{_HEAD}\n{body}{kept}"


def _shortened(messages: Sequence[Message], room: int, redact: Redact) -> list[Message]:
    """Returns the messages with long texts cut to an equal share of `room`, so that all of them fit."""
    most = max(room // max(len(messages), 1), _LEAST_CHARS)
    return [_cut(message, most, redact) for message in messages]


def _cut(message: Message, most: int, redact: Redact) -> Message:
    match message:
        case ToolMessage(text=text):
            return replace(message, text=_short(text, most, redact))
        case AssistantMessage(text=text, calls=calls):
            return AssistantMessage(_short(text, most, redact), tuple(_cut_call(call, most, redact) for call in calls))
        case _:
            return message


def _cut_call(call: ProposedCall, most: int, redact: Redact) -> ProposedCall:
    arguments: dict[str, JsonValue] = {
        name: _short(value, most, redact) if isinstance(value, str) else value for name, value in call.arguments.items()
    }
    return replace(call, arguments=arguments)


_REFUSED = "error "
"""The beginning of the result of a call that failed or was refused."""

_MOST_REQUESTS, _MOST_RESULTS, _MOST_REFUSALS, _MOST_FILES = 12, 6, 6, 40
_REQUEST_CHARS, _LINE_CHARS = 600, 200


@dataclass(frozen=True, slots=True)
class Facts:
    """Lines to keep, by kind, the oldest first."""

    requests: tuple[str, ...]
    changed: tuple[str, ...]
    results: tuple[str, ...]
    refused: tuple[str, ...]


def facts_of(messages: Sequence[Message], redact: Redact) -> Facts:
    """Returns the facts that can be taken from the messages themselves."""
    requests = [
        _short(message.text, _REQUEST_CHARS, redact) for message in messages if isinstance(message, UserMessage)
    ]
    changed: dict[str, str] = {}
    results: dict[str, str] = {}
    refused: dict[str, str] = {}
    for call, answer in _answered(messages):
        name, line = canonical_tool(call.name), _short(answer.split("\n", 1)[0], _LINE_CHARS, redact)
        tool = TOOLS.get(name)
        spelled = _short(f"{name} {json.dumps(dict(call.arguments), ensure_ascii=False)}", _LINE_CHARS, redact)
        if answer.startswith(_REFUSED):
            _newest(refused, spelled, line)
        elif tool is not None and tool.past:
            path = call.arguments.get("path") or call.arguments.get("source") or ""
            _newest(changed, str(path), f"{tool.past}: {line}")
        elif tool is not None and tool.effect is Effect.EXECUTE:
            _newest(results, spelled, line)
    first, last = requests[:1], requests[1:][-(_MOST_REQUESTS - 1) :]
    return Facts(
        (*first, *last),
        tuple(f"{path} ({how})" for path, how in list(changed.items())[-_MOST_FILES:]),
        tuple(f"{spelled}: {line}" for spelled, line in list(results.items())[-_MOST_RESULTS:]),
        tuple(f"{spelled}: {line}" for spelled, line in list(refused.items())[-_MOST_REFUSALS:]),
    )


def answered_calls(messages: Sequence[Message]) -> Iterator[tuple[ProposedCall, bool]]:
    """Yields each call that has an answer, and whether the answer is a refusal or an error."""
    for call, answer in _answered(messages):
        yield call, answer.startswith(_REFUSED)


def _answered(messages: Sequence[Message]) -> Iterator[tuple[ProposedCall, str]]:
    waiting: dict[str, ProposedCall] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            waiting = {call.id: call for call in message.calls}
        elif isinstance(message, ToolMessage) and (call := waiting.pop(message.call_id, None)) is not None:
            yield call, message.text


def _newest(found: dict[str, str], key: str, value: str) -> None:
    found.pop(key, None)
    found[key] = value


def _short(text: str, most: int, redact: Redact) -> str:
    return text if len(text) <= most else truncate(redact(text), most, "middle")


MOST_KEPT = 12
"""How many different declarations are kept. One that is repeated counts as the newest."""
_DECLARED = "Intents that were declared, the oldest first:"


def recall_intents(messages: Sequence[Message]) -> str:
    """Returns the last declarations of intents, each with all its arguments as JSON, or an empty text if there is
    none."""
    found: dict[str, None] = {}
    for call, refused in answered_calls(messages):
        if canonical_tool(call.name) == SELECT_INTENT and not refused:
            spelled = json.dumps(dict(call.arguments), ensure_ascii=False)
            found.pop(spelled, None)
            found[spelled] = None
    lines = "".join(f"\n- {each}" for each in list(found)[-MOST_KEPT:])
    return f"{_DECLARED}{lines}" if lines else ""
