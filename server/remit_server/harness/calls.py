"""Calls as they arrive, who makes them, and how they end.

The table `CALLERS` holds the tags by which policy knows each caller (POL-19). A transport names the caller of a call,
never its tags, and no message, project file or tool argument can set a tag.
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
"""The tags of each caller: Remit's own model, the person, and another agent, whose calls come with a request."""

_TRUST = frozenset({"core_plugin", "trusted_write"})
_FROM_ELSEWHERE = frozenset({"third_party"})
SUB_AGENT = frozenset({"sub_agent"})
"""The tag of a sub-agent's calls."""
OWN = frozenset({"own_tool"})
"""The tag of the actions of a person's own tool, which is a program."""


def tags_of(caller: CallerName, tool: str) -> frozenset[str]:
    """Returns the tags of a call: the caller's and the tool's.

    If the caller or the tool is from a third party, the call loses the tags of trust: another agent gains no trust by
    calling a tool of ours, and a tool that is not in our table gains none from its caller.
    """
    tags = CALLERS[caller] | TOOL_TAGS.get(tool, _FROM_ELSEWHERE)
    return tags - _TRUST if tags & _FROM_ELSEWHERE else tags


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as it was made; nothing about it has been checked. It is number `number` of the `count` calls of its step,
    not counting declarations of intents."""

    id: str
    name: str
    arguments: Mapping[str, JsonValue]
    number: int = 1
    count: int = 1


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call for the model. `text` is redacted and shortened."""

    ok: bool
    text: str
    args_digest: str = ""


class RunDenied(ToolError):
    """A refusal that ends the run, because nobody can be asked or the person's configuration makes it final
    (TOOL-02)."""

    code = ErrorCode.DENIED
    result: CallResult | None = None
    """What the model is told of the call, once the refusal is recorded."""


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
    """Returns the value with NaN and infinities replaced by None, because JSON has neither, and a value without a
    digest could not be audited."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: replace_non_finite(item) for key, item in value.items()}
        case list():
            return [replace_non_finite(item) for item in value]
        case _:
            return value
