"""What a training conversation is, and how it is spelled in the embedded model's prompt format."""

from __future__ import annotations

import json
from dataclasses import dataclass

RESULT_LIMIT = 2400
"""Characters of a tool result that the chat template shows the model."""
CUT_MARK = "\n…"


@dataclass(frozen=True, slots=True)
class Step:
    """One generation the model should produce, and the tool results that follow it."""

    expected: str
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request and the steps that answer it. `kind` groups scores: a skill, `refused`, or `other`."""

    kind: str
    request: str
    steps: tuple[Step, ...]


def called(intent: str, tool: str, arguments: dict[str, object], result: str) -> Step:
    """A step that declares `intent` and makes one call, and the call's result."""
    text = spelled("select_active_intent", {"intent": intent}) + spelled(tool, arguments)
    return Step(text, (f"intent {intent} is active", result))


def spelled(tool: str, arguments: dict[str, object]) -> str:
    """Spell a tool call as the model must: compact JSON between the call markers."""
    body = json.dumps({"name": tool, "arguments": arguments}, separators=(",", ":"), ensure_ascii=False)
    return f"<tool_call>{body}</tool_call>"


def shown(content: str) -> str:
    """Show a text as the chat template does: markers defused, long texts cut."""
    for marker, defused in (("<|", "< |"), ("<tool_call>", "< tool_call>"), ("</tool_call>", "< /tool_call>")):
        content = content.replace(marker, defused)
    return content if len(content) <= RESULT_LIMIT else content[:RESULT_LIMIT] + CUT_MARK


def segments(conversation: Conversation) -> list[tuple[str, bool]]:
    """Render a conversation as the chat template does, as (text, produced by the model) pieces."""
    pieces = [(f"<|user|>{shown(conversation.request)}<|end|>", False)]
    for step in conversation.steps:
        pieces.append(("<|assistant|>", False))
        pieces.append((f"{step.expected}<|end|>", True))
        pieces.extend((f"<|tool|>{shown(result)}<|end|>", False) for result in step.results)
    return pieces
