"""A call in a fence that ends an answer, of whatever model: maybe quoted, so it is told and never run (MOD-14)."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from itertools import takewhile
from typing import cast

from remit_server.models.ports import (
    UNREADABLE_CALL,
    CallProposed,
    Finished,
    Message,
    ModelEvent,
    ProposedCall,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from remit_server.models.unreadable import unreadable

_END_OF_TEXT = re.compile(r"(?:</s>|<\|im_end\|>|<\|eot_id\|>)\s*\Z")
_FENCED = re.compile(r"^```(?:json|tool_call)?[ \t]*\n\s*(\{[^`]*\})\s*```\s*\Z", re.MULTILINE)


async def tell_fenced(
    steps: AsyncGenerator[ModelEvent], messages: Sequence[Message], tools: Collection[str]
) -> AsyncGenerator[ModelEvent]:
    """Passes on an answer; where it calls nothing and ends with a fenced call of one of these tools, that is told."""
    said: list[str] = []
    called = False
    async with aclosing(steps) as events:
        async for event in events:
            match event:
                case TextDelta(text=text):
                    said.append(text)
                case CallProposed():
                    called = True
                case Finished() if not called and (fenced := refuse_fenced("".join(said), messages, tools)):
                    yield CallProposed(fenced)
                case _:
                    pass
            yield event


def refuse_fenced(text: str, messages: Sequence[Message], tools: Collection[str]) -> ProposedCall | None:
    """Returns what stands for a call in JSON, in a fence that ends a text; None where there is none.

    The model is told once a turn, whose messages are the last ones.
    """
    turn = takewhile(lambda message: not isinstance(message, UserMessage), reversed(messages))
    told = any(isinstance(each, ToolMessage) and each.tool == UNREADABLE_CALL for each in turn)
    name = None if told else _name_in_fence(_END_OF_TEXT.sub("", text))
    if name is None or name not in tools:
        return None
    return unreadable(f"a call of `{name}` in a code block is text, and nothing was run", "")


def _name_in_fence(said: str) -> str | None:
    found = _FENCED.search(said)
    try:
        call: object = json.loads(found[1]) if found is not None else None
    except (ValueError, RecursionError):
        return None
    spelled = cast("dict[str, object]", call) if isinstance(call, dict) else {}
    name = spelled.get("name") if spelled.keys() & {"arguments", "parameters"} else None
    return name if isinstance(name, str) else None
