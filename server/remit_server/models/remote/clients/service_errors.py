"""What the errors of served models mean, whatever library they came through (MOD-13)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import JsonValue

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Answers after which the same request may succeed."""

CANNOT_FILL = frozenset({400, 404, 405, 422, 501})
"""Answers to a request for a gap by a server, or of a model, that has no such request."""

TOO_LONG = re.compile(r"context|too many tokens|maximum.{0,20}tokens|prompt is too long", re.IGNORECASE)
_NUMBER = r"(\d{3,9})(?!\d)"
_WINDOW = (
    rf"> *{_NUMBER}",
    rf"\b(?:maximum|max)\b[^.;\d]{{0,40}}?{_NUMBER}",
    rf"\b(?:context|n_ctx|limit|window)\b[^.;\d>]{{0,30}}?{_NUMBER}",
)
_PROMPT = (
    rf"{_NUMBER} in the messages",
    rf"{_NUMBER} (?:tokens )?(?:\+ *\d+ *)?>",
    rf"\b(?:prompt|request|input|messages|conversation)\b[^.;\d]{{0,30}}?{_NUMBER}",
    rf"\brequested {_NUMBER}",
)


def numbers_in(text: str) -> tuple[int, int]:
    """Returns the window and the prompt's tokens that a message names, each by the words beside it; zero where it names
    none: other numbers stand in such messages too (what was reserved for the answer, a sum)."""
    return _first_number(_WINDOW, text), _first_number(_PROMPT, text)


def _first_number(patterns: Sequence[str], text: str) -> int:
    """Returns what the first of the patterns that is there names: the surest stand first."""
    found = (re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
    return next((int(match[1]) for match in found if match), 0)


def told_body(body: object) -> str:
    """Returns what a server says in an error's body, whatever shape it has; nothing where it says nothing.

    A text, an `error` or a `message` that is one, or FastAPI's `detail`: a text, or a list of places and faults.
    """
    inner = cast("JsonValue", body)
    if isinstance(inner, dict) and isinstance(inner.get("error"), dict):
        inner = inner["error"]
    match inner:
        case str():
            return inner
        case {"message": str(said)} | {"error": str(said)} | {"detail": str(said)} if said:
            return said
        case {"detail": [*faults]} | [*faults]:
            return "; ".join(filter(None, map(_told_fault, faults)))
        case _:
            return ""


def _told_fault(fault: JsonValue) -> str:
    match fault:
        case {"loc": [*place], "msg": str(said)}:
            return f"{'.'.join(map(str, place))}: {said}"
        case {"msg": str(said)} | {"message": str(said)} | str(said):
            return said
        case _:
            return ""


def without_key(text: str, key: str | None) -> str:
    """Returns what a server said, within 300 characters: some repeat the key that they do not accept."""
    return (text.replace(key, "[redacted key]") if key else text)[:300]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds that a server asks to wait; None where it does not say."""
    try:
        if (ms := headers.get("retry-after-ms")) is not None:
            return float(ms) / 1000
        return float(headers["retry-after"])
    except (KeyError, ValueError):
        return None


def told_cause(error: BaseException) -> str:
    """Returns why a connection failed, in the system's words."""
    cause = error.__cause__ or error
    return str(cause)[:200] or type(cause).__name__
