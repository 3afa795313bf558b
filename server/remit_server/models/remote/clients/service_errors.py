"""What the errors of served models mean, whatever library they came through (MOD-13)."""

from __future__ import annotations

import re
from collections.abc import Mapping

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Answers after which the same request may succeed."""

CANNOT_FILL = frozenset({400, 404, 405, 422, 501})
"""Answers to a request for a gap by a server, or of a model, that has no such request."""

TOO_LONG = re.compile(r"context|too many tokens|maximum.{0,20}tokens|prompt is too long", re.IGNORECASE)
_NUMBERS = re.compile(r"\d{3,}")


def numbers_in(text: str) -> tuple[int, int]:
    """Returns the window and the prompt's tokens that a message names; zeros where it does not."""
    found = sorted(map(int, _NUMBERS.findall(text)))
    return (found[0], found[-1]) if len(found) > 1 else (0, 0)


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
