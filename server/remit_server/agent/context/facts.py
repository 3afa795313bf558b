"""What a condensed conversation keeps word for word: requests, changed files, results, refusals (AGT-09).

They are read off the messages themselves, so that no model can leave one out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from remit_governance.intents import canonical_tool
from remit_governance.secrets.redaction import truncate
from remit_governance.values import Effect
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, ToolMessage, UserMessage
from remit_server.tools.table import TOOLS

_REFUSED = "error "
"""How the text of a call begins that did not do what it was to do."""

_MOST_REQUESTS, _MOST_RESULTS, _MOST_REFUSALS, _MOST_FILES = 12, 6, 6, 40
_REQUEST_CHARS, _LINE_CHARS = 600, 200


@dataclass(frozen=True, slots=True)
class Facts:
    """Lines to keep, each by itself, the oldest first."""

    requests: tuple[str, ...]
    changed: tuple[str, ...]
    results: tuple[str, ...]
    refused: tuple[str, ...]


def facts_of(messages: Sequence[Message]) -> Facts:
    """Returns what the messages say for certain."""
    requests = [_short(message.text, _REQUEST_CHARS) for message in messages if isinstance(message, UserMessage)]
    changed: dict[str, str] = {}
    results: dict[str, str] = {}
    refused: dict[str, str] = {}
    for call, answer in _answered(messages):
        name, line = canonical_tool(call.name), _short(answer.split("\n", 1)[0], _LINE_CHARS)
        tool = TOOLS.get(name)
        spelled = _short(f"{name} {json.dumps(dict(call.arguments), ensure_ascii=False)}", _LINE_CHARS)
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
    """Yields each call that has an answer, and whether that refused it."""
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


def _short(text: str, most: int) -> str:
    return truncate(text, most, "middle")
