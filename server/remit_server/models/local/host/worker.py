"""The thread that imports, loads, generates and frees; it receives requests through a queue (MOD-02)."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from remit_server.models.local.host.caches import CacheStore, fingerprint
from remit_server.models.local.host.loading import HostError, load_model
from remit_server.models.local.host.mlx_backend import memory_bytes, on_gpu, release
from remit_server.models.local.wire import AskStats, Cancel, Error, Frame, Generate, Load, Loading, Ready, Stats

if TYPE_CHECKING:
    from remit_server.models.local.host.engine import Engine

log = logging.getLogger("remit.model")


class Worker:
    """Runs generations alternately, on a thread of its own. Its events go to `emit`."""

    def __init__(self, load: Load, emit: Callable[[Frame], None]) -> None:
        self._request = load
        self._emit = emit
        self._queue: SimpleQueue[Generate | Cancel | AskStats | None] = SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mlx", daemon=True)

    def start(self) -> None:
        """Starts to load the model."""
        self._thread.start()

    def submit(self, request: Generate | Cancel | AskStats) -> None:
        """Queues a request; it is read between two tokens, or two parts of a prompt."""
        self._queue.put(request)

    def stop(self, timeout_s: float) -> bool:
        """Stops all work and waits for the thread. Returns False if it is still busy after `timeout_s`.

        Exiting while MLX generates aborts the process, so the thread is waited for.
        """
        self._stopping.set()
        self._queue.put(None)
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException:
            # Without this thread the process answers nothing; the server notices its end and starts another process.
            log.exception("the model's thread failed")
            os._exit(1)

    def _work(self) -> None:
        engine = self._load()
        if engine is None:
            return
        while not self._stopping.is_set():
            self._receive(engine)
            if not engine.idle:
                engine.round()
        engine.close()
        del engine
        release()

    def _receive(self, engine: Engine) -> None:
        """Handles the requests that have arrived, and waits for one if there is nothing else to do."""
        try:
            while True:
                request = self._queue.get(block=engine.idle and not self._stopping.is_set())
                if request is None:
                    return
                match request:
                    case Generate():
                        engine.submit(request)
                    case Cancel(id=request_id):
                        engine.cancel(request_id)
                    case AskStats():
                        self._emit(Stats(stats=engine.stats()))
        except Empty:
            return

    def _load(self) -> Engine | None:
        started = time.perf_counter()
        try:
            model = load_model(self._request, lambda done, total: self._emit(Loading(done=done, total=total)))
            from remit_server.models.local.host.engine import Engine
            from remit_server.models.local.host.model_adapter import ModelAdapter

            adapter = ModelAdapter(model, guided=self._request.guided, thinking=self._request.thinking)
            engine = Engine(model, adapter, self._emit, self._request.cache_bytes, self._store())
        except HostError as error:
            log.exception("loading `%s` failed", self._request.folder)
            self._emit(Error(what=error.what, why=error.why, fix=error.fix))
            return None

        self._emit(
            Ready(
                name=model.name,
                device="gpu" if on_gpu() else "cpu",
                load_s=time.perf_counter() - started,
                memory_bytes=memory_bytes(),
                context=model.context,
                parameters=model.parameters,
                guided=adapter.guided,
            )
        )
        return engine

    def _store(self) -> CacheStore | None:
        """Returns the store for caches that survive the process, or None if they are not to survive."""
        load = self._request
        if load.cache_folder is None:
            return None
        return CacheStore(Path(load.cache_folder), fingerprint(Path(load.folder)), load.cache_bytes)
