"""What a model is told of a tool that it cannot use: why, and what else there is (001 §3, agent.md §1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError


def unreadable(arguments: Mapping[str, JsonValue]) -> ToolError:
    """The refusal of what a model meant as a call: `arguments` say why it is none (`models.ports.UNREADABLE_CALL`)."""
    return ToolError(
        "this call could not be read, and nothing was done",
        str(arguments.get("why", "it is no call")),
        "make the call again, whole and in the format of the tools' descriptions",
        code=ErrorCode.INVALID_ARGUMENTS,
    )


def unavailable(name: str, *, known: bool, instead: Sequence[str]) -> ToolError:
    """The refusal of a call of `name`: this run leaves it out if it is `known`, else there is no such tool.

    `instead` are the tools that the active intent and this run do open (003 §Tool
    Unavailability Handling).
    """
    error = ToolError(
        f"`{name}` cannot be used now",
        "this run was started without it" if known else "there is no such tool here",
        f"use one of: {', '.join(instead)}" if instead else "select another intent: this one opens no tool here",
        code=ErrorCode.TOOL_UNAVAILABLE if known else ErrorCode.UNKNOWN_TOOL,
    )
    error.data = {
        "error": error.code.value,
        "tool_name": name,
        "reason": error.why,
        "available_tools": list(instead),
    }
    return error
