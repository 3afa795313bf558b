"""What a model is told of a tool that it cannot use: why, and what else there is (001 §3, agent.md §1)."""

from __future__ import annotations

from collections.abc import Sequence

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError


def unavailable(name: str, *, known: bool, instead: Sequence[str]) -> ToolError:
    """The refusal of a call of `name`: this run leaves it out if it is `known`, else there is no such tool.

    `instead` are the tools that the active intent and this run do open.
    """
    return ToolError(
        f"`{name}` cannot be used now",
        "this run was started without it" if known else "there is no such tool here",
        f"use one of: {', '.join(instead)}" if instead else "select another intent: this one opens no tool here",
        code=ErrorCode.TOOL_UNAVAILABLE if known else ErrorCode.UNKNOWN_TOOL,
    )
