"""The one thread that imports, loads, generates and frees; requests wait in its queue (agent.md §Model engine)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

from remit_server.models.host.edge import memory_bytes, on_gpu, release
from remit_server.models.host.loading import HostError, load_model
from remit_server.models.wire import Error, Finished, Frame, Generate, Ready

if TYPE_CHECKING:
    from remit_server.models.host.engine import Engine

log = logging.getLogger("remit.model")


class Worker:
    """Works off generations in order, on a thread of its own. Everything it has to say goes to `emit`."""

    def __init__(self, reference: str, emit: Callable[[Frame], None]) -> None:
        self._reference = reference
        self._emit = emit
        self._queue: SimpleQueue[Generate | None] = SimpleQueue()
        self._flags: dict[str, threading.Event] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mlx", daemon=True)

    def start(self) -> None:
        """Begin to load the model."""
        self._thread.start()

    def submit(self, request: Generate) -> None:
        """Queue a generation."""
        self._flags[request.id] = threading.Event()
        self._queue.put(request)

    def cancel(self, request_id: str) -> None:
        """Stop a generation within one token, or keep it from starting; unknown ids are over already."""
        flag = self._flags.get(request_id)
        if flag is not None:
            flag.set()

    def stop(self, timeout_s: float) -> bool:
        """Stop everything and wait for the thread; False when it is still busy after `timeout_s`.

        Exiting while MLX generates aborts the process, so the thread is waited for.
        """
        self._stopping.set()
        self._queue.put(None)
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        engine = self._load()
        if engine is None:
            return
        while not self._stopping.is_set():
            request = self._queue.get()
            if request is not None:
                self._serve(engine, request)
        del engine
        release()

    def _load(self) -> Engine | None:
        started = time.perf_counter()
        try:
            model = load_model(self._reference)
            from remit_server.models.host.engine import Engine

            engine = Engine(model)
        except HostError as error:
            log.exception("loading `%s` failed", self._reference)
            self._emit(Error(what=error.what, why=error.why, fix=error.fix))
            return None

        self._emit(
            Ready(
                name=model.name,
                device="gpu" if on_gpu() else "cpu",
                load_s=time.perf_counter() - started,
                memory_bytes=memory_bytes(),
            )
        )
        return engine

    def _serve(self, engine: Engine, request: Generate) -> None:
        flag = self._flags[request.id]

        def stopped() -> bool:
            return flag.is_set() or self._stopping.is_set()

        try:
            if stopped():
                self._emit(Finished(id=request.id, reason="cancelled"))
            else:
                engine.generate(request, self._emit, stopped)
        except HostError as error:
            self._emit(Error(id=request.id, what=error.what, why=error.why, fix=error.fix))
        except Exception as error:
            log.exception("generation %s failed", request.id)
            why = f"{type(error).__name__}: {error}"[:300]
            fix = "ask again; the model's log has the details"
            self._emit(Error(id=request.id, what="the model failed", why=why, fix=fix))
        finally:
            del self._flags[request.id]
