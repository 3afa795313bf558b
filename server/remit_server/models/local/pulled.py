"""A model of the hub as a provider: found in the local cache at each request, never downloaded (MOD-07)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from remit_server.errors import ModelUnavailable
from remit_server.models.local.hub.cache import find_snapshot
from remit_server.models.local.hub.folder import describe
from remit_server.models.local.hub.names import HubName
from remit_server.models.local.options import EngineOptions
from remit_server.models.local.provider import MlxProvider
from remit_server.models.ports import (
    EngineStats,
    GenerateRequest,
    ModelEvent,
    ModelProvider,
    ModelState,
    Traits,
)
from remit_server.models.profile import LARGE, Profile


class PulledProvider(ModelProvider):
    """An `MlxProvider` for a model that `remit model pull` fetched; one pulled later is found without a restart."""

    def __init__(self, name: HubName, cache: Path, options: EngineOptions | None = None) -> None:
        self._name, self._cache, self._options = name, cache, options
        self._model: MlxProvider | None = None

    @property
    def traits(self) -> Traits:
        """Returns its name on the hub, and what its folder says once it is loaded."""
        known = None if self._model is None else self._model.traits.context_tokens
        return Traits(str(self._name), known)

    @property
    def state(self) -> ModelState:
        """The state for a status bar."""
        return "stopped" if self._model is None else self._model.state

    async def meet(self) -> Profile:
        """Returns the profile of its weights; it is loaded for that."""
        try:
            return await self._loaded().meet()
        except ModelUnavailable:
            return LARGE

    @property
    def loaded_share(self) -> float | None:
        """The share of the model that is in memory, as in `LocalEngine`."""
        return None if self._model is None else self._model.loaded_share

    async def stats(self) -> EngineStats | None:
        """Returns the process's statistics, as in `LocalEngine`."""
        return None if self._model is None else await self._model.stats()

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        """Streams one generation, as `ModelProvider.generate` says."""
        async with aclosing(self._loaded().generate(request)) as events:
            async for event in events:
                yield event

    def _loaded(self) -> MlxProvider:
        """Returns the provider of its folder. Raises ModelUnavailable where it was not pulled."""
        if self._model is None:
            self._model = MlxProvider(pulled_folder(self._name, self._cache), self._options)
        return self._model

    async def close(self) -> None:
        """Stops the model process, if there is one. Idempotent."""
        if self._model is not None:
            await self._model.close()


def pulled_folder(name: HubName, cache: Path) -> Path:
    """Returns the complete folder of a pulled model. Raises ModelUnavailable that says how to pull it."""
    folder = find_snapshot(cache, name)
    problem = "it was not pulled" if folder is None else describe(folder).problem
    if folder is None or problem is not None:
        fix = f"run `remit model pull {name}`; a folder of that name is `./{name}`"
        raise ModelUnavailable(f"there is no model `{name}` on this machine", problem or "", fix)
    return folder
