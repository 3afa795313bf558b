"""Work that a cancellation must not leave half done, work that lasts as long as a block, the first of several ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def finish_uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Finish `work` even when cancelled meanwhile, however often, and only then let the cancellation through."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    # The cancellation says how the call ended; what went wrong in the work is its cause.
    raise cancelled from None if task.cancelled() else task.exception()


async def wait_for_any(*ends: asyncio.Event | asyncio.Future[Any], within_s: float | None = None) -> None:
    """Waits until the first of these has happened, for at most `within_s` seconds."""
    waiting = [each if isinstance(each, asyncio.Future) else asyncio.create_task(each.wait()) for each in ends]
    try:
        await asyncio.wait(waiting, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in set(waiting).difference(ends):
            task.cancel()


@asynccontextmanager
async def meanwhile(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Does `work` in a task of its own until the end, and ignores it if the work fails with OSError."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await task


@asynccontextmanager
async def lent(make: Callable[[], T], give_back: Callable[[T], None]) -> AsyncGenerator[T]:
    """Yields what `make` makes, and gives it back at the end; both run on a thread, and no cancellation leaves one of
    them half done."""
    making = asyncio.create_task(asyncio.to_thread(make))
    try:
        yield await asyncio.shield(making)
    finally:
        await finish_uninterrupted(_give_back(making, give_back))


async def _give_back(making: asyncio.Task[T], give_back: Callable[[T], None]) -> None:
    await asyncio.wait([making])
    if not making.cancelled() and making.exception() is None:
        await asyncio.to_thread(give_back, making.result())
