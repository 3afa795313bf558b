"""The call that replaces one that cannot be read, or one whose arguments are nested too deep (MOD-13). It also replaces
a call in a code fence that ends an answer: that may be quoted, so the model is told and it never runs (MOD-14).
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from itertools import takewhile
from typing import cast

from pydantic import JsonValue

from remit_governance.secrets.cutting import shorten
from remit_server.json_bounds import has_values_below
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
"""The most levels of lists and objects in a call's arguments, because the code that records, sends and shows a call
goes as deep."""
TOO_DEEP = f"its arguments are nested more than {MOST_DEPTH} deep"
MOST_SPELLED = 2_000
"""The most characters of an unreadable call that the model is shown again."""


def unreadable(why: str, spelled: str) -> ProposedCall:
    """Returns the call that replaces one that cannot be read, and tells the model why."""
    told: dict[str, JsonValue] = {"why": why, "spelled": well_formed(shorten(spelled, MOST_SPELLED))}
    return ProposedCall(new_call_id(), UNREADABLE_CALL, told)


def too_deep() -> ProposedCall:
    """Returns the call that replaces one whose arguments are nested too deep."""
    return unreadable(TOO_DEEP, "")


def is_too_deep(arguments: object) -> bool:
    """Returns whether lists and objects are nested more than MOST_DEPTH deep."""
    return has_values_below(arguments, MOST_DEPTH + 1)


def well_formed(text: str) -> str:
    """Returns the text with each lone half of a surrogate pair replaced, because no request could hold it."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_END_OF_TEXT = re.compile(r"(?:</s>|<\|im_end\|>|<\|eot_id\|>)\s*\Z")
_FENCED = re.compile(r"^```(?:json|tool_call)?[ \t]*\n\s*(\{[^`]*\})\s*```\s*\Z", re.MULTILINE)


async def tell_fenced(
    steps: AsyncGenerator[ModelEvent], messages: Sequence[Message], tools: Collection[str]
) -> AsyncGenerator[ModelEvent]:
    """Passes on an answer. If it calls nothing and ends with a fenced call of one of these tools, adds a call that
    tells the model so."""
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
    """Returns the call that replaces a JSON call in a code fence at the end of a text, or None if there is none.

    The model is told only once in a turn, whose messages are those after the last request.
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
