"""The local model as a provider: a process started on first use, and again after it died, if it does not keep dying
(MOD-02).

A model of the hub is found in the local cache when its process starts, and never downloaded (MOD-07).
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from remit_server.contract import ModelStats
from remit_server.errors import ModelUnavailable
from remit_server.models.local import wire
from remit_server.models.local.conversion import event_of, profile_of, read_answer, step_to_wire, to_load
from remit_server.models.local.options import EngineOptions
from remit_server.models.local.process import START_TIMEOUT_S, HostProcess
from remit_server.models.ports import Finished, GenerateRequest, ModelEvent, ModelProvider, ModelState, Traits
from remit_server.models.profile import LARGE, Profile
from remit_server.models.sameness import Sameness, end_where_alike

log = logging.getLogger("remit.model")


class MlxProvider(ModelProvider):
    """A `ModelProvider` with a model process of its own. Concurrent requests alternate."""

    def __init__(
        self,
        folder: str | Path,
        options: EngineOptions | None = None,
        *,
        find: Callable[[], Path] | None = None,
        start_timeout_s: float = START_TIMEOUT_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Takes the path of a folder in MLX format, and a clock in seconds; nothing is started yet.

        With `find`, `folder` is only the model's name: `find` returns the folder at each start, or raises
        ModelUnavailable, so that a model pulled later is found without a restart.
        """
        path = Path(folder).expanduser().absolute()
        self._called = path.name if find is None else str(folder)
        self._find: Callable[[], Path] = find or (lambda: path)
        self._options = options or EngineOptions()
        self._start_timeout_s = start_timeout_s
        self._now = now
        self._start: asyncio.Task[HostProcess] | None = None
        self._spawned: HostProcess | None = None
        self._backoff = Backoff()
        self._users = 0
        self._idle: asyncio.TimerHandle | None = None
        self._unloading: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def traits(self) -> Traits:
        """The model's name, and its window once it is loaded."""
        host = self._started()
        return Traits(self._called, None if host is None else host.ready.context)

    @property
    def state(self) -> ModelState:
        """The state for a status bar."""
        if self._start is None or self._closed:
            return "stopped"
        if not self._start.done():
            return "starting"
        host = _host_of(self._start)
        if host is None or not host.alive:
            return "failed"
        return "busy" if host.busy else "ready"

    async def meet(self) -> Profile:
        """Returns the profile that fits the model's weights; loads the model for that."""
        try:
            with self._in_use():
                host = await self._host()
        except ModelUnavailable:
            return LARGE
        return profile_of(host.ready, self.name, self._options)

    @property
    def pid(self) -> int | None:
        """The model process's id, while there is one."""
        host = self._started()
        return host.pid if host is not None and host.alive else None

    @property
    def loaded_share(self) -> float | None:
        """The share of the model that is in memory, from 0 to 1, while it is loading; None otherwise."""
        if self.state != "starting" or self._spawned is None:
            return None
        loading = self._spawned.loading
        return loading.done / loading.total if loading is not None and loading.total else 0.0

    async def stats(self) -> ModelStats | None:
        """Returns the process's statistics, or None if no process could answer."""
        host = self._started()
        if host is None or not host.alive:
            return None
        try:
            return await host.stats()
        except ModelUnavailable:
            return None

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        """Streams one generation, as `ModelProvider.generate` says."""
        with self._in_use():
            async with aclosing(self._generate(request)) as events:
                async for event in events:
                    yield event

    async def _generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        nameable = None if request.paths is None else await request.paths.list()
        host = await self._host()
        profile = profile_of(host.ready, self.name, self._options)
        wanted = step_to_wire(request, profile, nameable)
        events = self._events(host, wanted)
        # A value of a caller's schema is closed within its tokens anyway.
        steps = events if request.answer_schema is not None else end_where_alike(events, profile.alike, ended_alike)
        try:
            async with aclosing(read_answer(steps, request, wanted)) as events:
                async for event in events:
                    yield event
        except ModelUnavailable:
            self._lost(host)
            raise

    async def _events(self, host: HostProcess, wanted: wire.Generate) -> AsyncGenerator[ModelEvent]:
        async with aclosing(host.generate(wanted)) as events:
            async for event in events:
                if not isinstance(event, wire.ProgressFrame):
                    self._backoff = Backoff()
                yield event_of(event)

    async def close(self) -> None:
        """Stops the model process, by force if it does not stop by itself. Idempotent."""
        self._closed = True
        self._stay()
        await self._unload()
        if self._unloading is not None:
            await self._unloading

    def _started(self) -> HostProcess | None:
        return _host_of(self._start) if self._start is not None and self._start.done() else None

    async def _host(self) -> HostProcess:
        """Returns the process, started if there is none or if the last one died. Raises ModelUnavailable."""
        if self._unloading is not None:
            await asyncio.shield(self._unloading)
        if self._closed:
            fix = "restart the server"
            raise ModelUnavailable("the model cannot be asked", "it was shut down", fix)
        if self._start is None or (self._start.done() and not _usable(self._start)):
            self._start = self._begin_start(self._find())
        # A caller that stops waiting does not stop the start: others may wait for it too.
        return await asyncio.shield(self._start)

    def _begin_start(self, folder: Path) -> asyncio.Task[HostProcess]:
        """Begins a start. Raises ModelUnavailable during the pause after repeated deaths."""
        if pause := self._backoff.pause(self._now()):
            what = f"the model `{self.name}` is not started again yet"
            why = f"it stopped {self._backoff.deaths} times before it answered, the last time: {self._backoff.why}"
            fix = f"ask again in {math.ceil(pause)} s; `remit model check` tries the model and says more"
            raise ModelUnavailable(what, why, fix)
        start = asyncio.create_task(self._launch(folder))
        start.add_done_callback(_host_of)
        return start

    async def _launch(self, folder: Path) -> HostProcess:
        try:
            host = await HostProcess.start(to_load(folder, self._options), self._start_timeout_s, self._watch)
        except ModelUnavailable as error:
            self._backoff = self._backoff.after_death(self._now(), error.why)
            raise
        if self._options.guided and not host.ready.guided:
            log.warning("model `%s` has a tokenizer that cannot be guided: no grammar holds its calls", self.name)
        return host

    def _watch(self, host: HostProcess) -> None:
        self._spawned = host

    def _lost(self, host: HostProcess) -> None:
        """Counts a process that died before its first answer, once for all who waited for it."""
        if not host.answered and not host.alive and self._spawned is host:
            self._spawned = None
            self._backoff = self._backoff.after_death(self._now(), host.death or "")

    @contextmanager
    def _in_use(self) -> Generator[None]:
        """Keeps the model loaded meanwhile, and for the idle time after the last use."""
        self._users += 1
        self._stay()
        try:
            yield
        finally:
            self._users -= 1
            if self._users == 0 and not self._closed:
                self._idle = asyncio.get_running_loop().call_later(self._options.idle_s, self._leave)

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _leave(self) -> None:
        log.info("model `%s` is unloaded after %g s without a request", self.name, self._options.idle_s)
        self._unloading = asyncio.create_task(self._unload())

    async def _unload(self) -> None:
        """Stops the process, even while it is starting. The next request starts another."""
        start, self._start = self._start, None
        if start is None:
            return
        if not start.done():
            start.cancel()
        await asyncio.wait([start])
        host = _host_of(start)
        if host is not None:
            await host.close()


def ended_alike(heard: Sameness) -> ModelEvent:
    """Returns the end of an answer that only repeated itself."""
    return Finished("alike", heard.read, 0, heard.written)


def _usable(start: asyncio.Task[HostProcess]) -> bool:
    host = _host_of(start)
    return host is not None and host.alive


def _host_of(start: asyncio.Task[HostProcess]) -> HostProcess | None:
    """Returns a finished start's process: None if it failed."""
    return None if start.cancelled() or start.exception() is not None else start.result()


FREE_RESTARTS = 2
"""The number of consecutive deaths after which the model is still restarted at once: a kill, or a replaced model."""
MOST_PAUSE_S = 60.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """The number of consecutive deaths before a first answer, and the earliest time of the next start, in seconds."""

    deaths: int = 0
    until: float = 0.0
    why: str = ""

    def after_death(self, now: float, why: str) -> Backoff:
        """Returns the state after a failed start, or after a process died without an answer."""
        deaths = self.deaths + 1
        pause = 0.0 if deaths <= FREE_RESTARTS else min(2.0 ** (deaths - FREE_RESTARTS), MOST_PAUSE_S)
        return Backoff(deaths, now + pause, why)

    def pause(self, now: float) -> float:
        """Returns the seconds left to wait, or 0 if a start is allowed."""
        return max(0.0, self.until - now)
