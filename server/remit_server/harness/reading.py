"""Reads that the system failed for a moment are tried once more; writes never are (agent.md §1)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.transient import PAUSE_S, is_transient

T = TypeVar("T")


async def once_more(read: Callable[[], Awaitable[T]]) -> T:
    """What `read` gives; where it fails for a transient reason, what it gives 100 ms later.

    Raises ToolError: a refusal at once, an error of the system that lasts with what the system says.
    """
    try:
        return await read()
    except (OSError, ToolError) as error:
        if not is_transient(error):
            raise
    await asyncio.sleep(PAUSE_S)
    try:
        return await read()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        fix = "check the disk, then try again"
        raise ToolError(
            "this could not be read", f"{why}, twice", fix, code=ErrorCode.INTERNAL, retryable=True
        ) from error
