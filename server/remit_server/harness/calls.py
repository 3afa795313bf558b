"""Calls as they arrive, who makes them, and how they end.

One table of callers holds the tags that policy knows each by (POL-19). A transport says which caller a call is of, and
never by which tags; no message, no file of a project and no argument of a tool has a place for one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from pydantic import JsonValue

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.table import TOOL_TAGS

CallerName = Literal["model", "human", "agent"]

CALLERS: Mapping[CallerName, frozenset[str]] = MappingProxyType(
    {
        "model": frozenset({"model"}),
        "human": frozenset({"human"}),
        "agent": frozenset({"model", "third_party"}),
    }
)
"""Remit's own model, the person, and another agent of the editor, whose calls come with a request."""

_TRUST = frozenset({"core_plugin", "trusted_write"})
_FROM_ELSEWHERE = frozenset({"third_party"})
SUB_AGENT = frozenset({"sub_agent"})
"""The tag of a sub-agent's calls."""
OWN = frozenset({"own_tool"})
"""The tag of what a program does that the person made a tool."""


def tags_of(caller: CallerName, tool: str) -> frozenset[str]:
    """Returns the tags of a call: the caller's and the tool's.

    Trust ends at the first link that is from elsewhere: an agent gains none by calling a tool of ours, and a tool that
    is in no table of ours is not made one of ours by who calls it.
    """
    tags = CALLERS[caller] | TOOL_TAGS.get(tool, _FROM_ELSEWHERE)
    return tags - _TRUST if tags & _FROM_ELSEWHERE else tags


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
