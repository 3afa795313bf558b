"""Reads that the system failed for a moment are tried once more; writes never are (agent.md §1)."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError

T = TypeVar("T")

PAUSE_S = 0.1

TRANSIENT = frozenset(
    {
        errno.EAGAIN,
        errno.EBUSY,
        errno.EINTR,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)
"""What may be over in a moment: a disk or network share that stumbled, or too many open files."""


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


def is_transient(error: BaseException) -> bool:
    """Whether an error of the system that passes is what is behind this one."""
    return any(isinstance(cause, OSError) and cause.errno in TRANSIENT for cause in _behind(error))


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
