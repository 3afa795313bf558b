"""Calls as they arrive, and how they end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as it was asked for; nothing about it has been checked. It is `number` of `count` in its step, without
    intents."""

    id: str
    name: str
    arguments: Mapping[str, JsonValue]
    number: int = 1
    count: int = 1


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call ended, for the model: `text` is redacted and cut."""

    ok: bool
    text: str
    args_digest: str = ""


class RunDenied(ToolError):
    """A refusal that ends the run: nobody can be asked, or the person's configuration says it is final (TOOL-02)."""

    code = ErrorCode.DENIED


def stale(what: str) -> ToolError:
    """Returns the refusal of something that changed between its approval and its execution."""
    return ToolError(
        f"`{what}` was left as it is",
        "it changed after this change was prepared",
        "read it again and propose the change again",
        code=ErrorCode.STALE,
        retryable=True,
    )


def replace_non_finite(value: JsonValue) -> JsonValue:
    """Replaces NaN and infinities by null: JSON has none of them, and what has no digest cannot be audited."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: replace_non_finite(item) for key, item in value.items()}
        case list():
            return [replace_non_finite(item) for item in value]
        case _:
            return value
