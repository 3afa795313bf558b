"""Pauses one running command and lets it go on; its time does not pass meanwhile (SCH-04)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

_SHORTEST_LOOK_S = 0.05


@dataclass(slots=True)
class Freezer:
    """Belongs to one command. Whoever runs it attaches the way to pause it; `changed` is told when there is one, and
    `paused` when it is paused and goes on, which may not raise.

    Until then, and after its end, nothing is paused.
    """

    changed: Callable[[bool], None] = lambda can: None
    paused: Callable[[bool], None] = lambda is_paused: None
    _act: Callable[[bool], None] | None = None
    _frozen_since: float | None = None
    _frozen_s: float = field(default=0.0)

    def attach(self, act: Callable[[bool], None]) -> None:
        """Says how: `act(True)` stops everything of the command, `act(False)` lets it go on."""
        self._act = act
        self.changed(True)

    def detach(self) -> None:
        """Says that it is over; a paused command is let go on first, so that it can end."""
        self.thaw()
        self._act = None
        self.changed(False)

    def freeze(self) -> None:
        """Stops the command. Idempotent."""
        if self._act is not None and self._frozen_since is None:
            self._frozen_since = time.monotonic()
            self._act(True)
            self.paused(True)

    def thaw(self) -> None:
        """Lets it go on. Idempotent."""
        if self._act is not None and self._frozen_since is not None:
            self._frozen_s, self._frozen_since = self.frozen_s, None
            self._act(False)
            self.paused(False)

    @property
    def frozen_s(self) -> float:
        """Seconds that it was paused until now, in all."""
        return self._frozen_s + (0.0 if self._frozen_since is None else time.monotonic() - self._frozen_since)


async def wait_first(ends: Collection[asyncio.Future[Any]], seconds: float, freezer: Freezer | None) -> None:
    """Waits for the first of `ends`, or until the command has run for `seconds`, pauses not counted."""
    if freezer is None:
        await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return
    began, before = time.monotonic(), freezer.frozen_s
    while (left := seconds - (time.monotonic() - began - (freezer.frozen_s - before))) > 0:
        done, _ = await asyncio.wait(ends, timeout=max(left, _SHORTEST_LOOK_S), return_when=asyncio.FIRST_COMPLETED)
        if done:
            return
