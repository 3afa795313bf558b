"""Who calls: one table of callers, each with the tags that policy knows it by (POL-19).

A transport says which caller a call is of, never by which tags; no message, no file of a project and no argument of a
tool has a place for one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

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
