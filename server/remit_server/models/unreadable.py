"""What stands for a call that cannot be read, and how deep the arguments of one may be nested (MOD-13); and a call in a
fence that ends an answer, of whatever model: maybe quoted, so it is told and never run (MOD-14).
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from contextlib import aclosing
from itertools import takewhile
from typing import cast

from pydantic import JsonValue

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
    new_call_id,
)

MOST_DEPTH = 64
"""Levels of lists and objects in a call's arguments: what records, sends and shows a call goes as deep."""
TOO_DEEP = f"its arguments are nested more than {MOST_DEPTH} deep"
MOST_SPELLED = 2_000
"""Characters of a call that cannot be read which the model is shown again."""


def unreadable(why: str, spelled: str) -> ProposedCall:
    """Returns what stands for a call that cannot be read: the model is told why."""
    told: dict[str, JsonValue] = {"why": why, "spelled": well_formed(spelled[:MOST_SPELLED])}
    return ProposedCall(new_call_id(), UNREADABLE_CALL, told)


def too_deep() -> ProposedCall:
    """Returns what stands for a call whose arguments are nested too deep."""
    return unreadable(TOO_DEEP, "")


def is_too_deep(arguments: object) -> bool:
    """Returns whether lists and objects are nested more than MOST_DEPTH deep; looks at no more levels than that."""
    level: list[object] = [arguments]
    for _ in range(MOST_DEPTH + 1):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    match value:
        case dict():
            return cast("dict[str, object]", value).values()
        case list():
            return cast("list[object]", value)
        case _:
            return ()


def well_formed(text: str) -> str:
    """Returns the text with each half of a surrogate pair replaced: no request could hold it."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


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
