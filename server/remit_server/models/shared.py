"""Shares one model between all workspaces of a server: its weights are loaded once, and freed after the last use
(MOD-01).
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from remit_server.contract import ModelStats
from remit_server.models.ports import GenerateRequest, LocalEngine, ModelEvent, ModelProvider, ModelState, Traits
from remit_server.models.profile import Profile


@dataclass(slots=True)
class _Lent:
    provider: ModelProvider
    users: int = 0


class SharedModels:
    """Lends providers by key, from any thread. A provider is created for its first user and closed with its last."""

    def __init__(self) -> None:
        self._lent: dict[object, _Lent] = {}
        self._lock = threading.Lock()

    def borrow(self, key: object, make: Callable[[], ModelProvider]) -> ModelProvider:
        """Returns the provider of this key, creating it for the first user. Closing the returned one gives it back."""
        with self._lock:
            lent = self._lent.get(key)
            if lent is None:
                lent = self._lent[key] = _Lent(make())
            lent.users += 1
        return _Borrowed(lent.provider, lambda: self._give_back(key, lent))

    def _give_back(self, key: object, lent: _Lent) -> bool:
        """Gives a provider back. Returns whether that was its last user."""
        with self._lock:
            lent.users -= 1
            last = lent.users == 0
            if last:
                del self._lent[key]
        return last


class _Borrowed(ModelProvider):
    """A `ModelProvider`, and a `LocalEngine`, that passes everything but `close` on to the lent provider."""

    def __init__(self, model: ModelProvider, give_back: Callable[[], bool]) -> None:
        self._model, self._give_back = model, give_back
        self._closed = False

    @property
    def traits(self) -> Traits:
        """The lent model's traits."""
        return self._model.traits

    @property
    def state(self) -> ModelState:
        """The lent model's state."""
        return self._model.state

    async def meet(self) -> Profile:
        """Returns the lent model's profile."""
        return await self._model.meet()

    @property
    def loaded_share(self) -> float | None:
        """The lent model's share in memory, if it has one."""
        return self._model.loaded_share if isinstance(self._model, LocalEngine) else None

    async def stats(self) -> ModelStats | None:
        """Returns the lent model's statistics, if it has any."""
        return await self._model.stats() if isinstance(self._model, LocalEngine) else None

    def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        """Streams one generation, as `ModelProvider.generate` says."""
        return self._model.generate(request)

    async def close(self) -> None:
        """Gives the model back; its last user closes it. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._give_back():
            await self._model.close()
