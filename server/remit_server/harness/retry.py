"""Tries a read once more after a transient error of the system (TOOL-11)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.open_files import PAUSE_S, is_transient

T = TypeVar("T")


async def retry_read(read: Callable[[], Awaitable[T]], note: Callable[[str], None]) -> T:
    """Returns what `read` gives; where it fails for a transient reason, which `note` takes, what it gives 100 ms later.
    Writes never are tried again.

    Raises ToolError: a refusal at once, an error of the system that lasts with what the system says.
    """
    try:
        return await read()
    except (OSError, ToolError) as error:
        if not is_transient(error):
            raise
        note(str(error))
    await asyncio.sleep(PAUSE_S)
    try:
        return await read()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        fix = "check the disk, then try again"
        raise ToolError(
            "this could not be read", f"{why}, twice", fix, code=ErrorCode.INTERNAL, retryable=True
        ) from error
