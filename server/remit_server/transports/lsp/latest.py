"""Work of which only the latest of each document counts: what was begun before is cancelled (LSP-12)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Latest:
    """The work that runs, one for each key."""

    _running: dict[str, asyncio.Task[Any]] = field(default_factory=dict[str, "asyncio.Task[Any]"])

    async def run(self, key: str, work: Coroutine[Any, Any, T]) -> T | None:
        """Runs the work in place of what runs under its key; None where later work, or `drop`, ended it.

        Cancelling the caller cancels the work.
        """
        self.drop(key)
        task: asyncio.Task[T] = asyncio.ensure_future(work)
        self._running[key] = task
        try:
            return await task
        except asyncio.CancelledError:
            mine = asyncio.current_task()
            if mine is not None and mine.cancelling():
                raise
            return None
        finally:
            if self._running.get(key) is task:
                del self._running[key]

    def drop(self, key: str) -> None:
        """Cancels what runs under a key."""
        task = self._running.pop(key, None)
        if task is not None:
            task.cancel()
