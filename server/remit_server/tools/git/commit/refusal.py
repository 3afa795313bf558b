"""Refusals of a commit (GIT-02)."""

from __future__ import annotations

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError


def commit_refusal(
    why: str, fix: str, code: ErrorCode = ErrorCode.INVALID_ARGUMENTS, *, retryable: bool = False
) -> ToolError:
    """Returns the error of a commit that cannot be made."""
    return ToolError("cannot commit", why, fix, code=code, retryable=retryable)
