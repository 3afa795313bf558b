"""What stands for a call that cannot be read, and how deep the arguments of one may be nested (MOD-13)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from pydantic import JsonValue

from remit_server.models.ports import UNREADABLE_CALL, ProposedCall, new_call_id

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
