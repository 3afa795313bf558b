"""The model process from outside: start, requests, stop, and noticing its death (MOD-02)."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress

from remit_server.contract import ModelStats
from remit_server.errors import ModelFailed, ModelUnavailable, PromptTooLong
from remit_server.models.local.wire import (
    AskStats,
    Call,
    Cancel,
    Delta,
    Error,
    Event,
    FinishedFrame,
    Frame,
    FrameBuffer,
    Generate,
    Generated,
    Load,
    Loading,
    ProgressFrame,
    Ready,
    Shutdown,
    Stats,
    ThinkingFrame,
    UnreadableFrame,
    WireError,
    decode_event,
    encode,
)

log = logging.getLogger("remit.model")

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 5.0
CANCEL_TIMEOUT_S = 120.0
"""Seconds for a cancelled generation to stop: it takes one token, unless the model's thread hangs in its template."""
PROBE_TIMEOUT_S = 30.0
"""Seconds for what follows the loading of the weights. The chat template is tried then, a program from the folder."""
_CHUNK = 1 << 16
_RESTART = "ask again; this restarts it; if it keeps happening, run `remit model check`"

# fmt: off
_ENVIRONMENT = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH",
    "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "XDG_CACHE_HOME",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
)
# fmt: on
"""The environment variables of the model process. Keys and tokens are not among them, because a model needs none."""

_Answer = Generated | Error | None
"""What a waiting request receives; None: the process is dead."""


class HostProcess:
    """A running model process with its model loaded. Belongs to one event loop."""

    def __init__(self, process: asyncio.subprocess.Process, folder: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._folder = folder
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._open: dict[str, asyncio.Queue[_Answer] | None] = {}
        self._asked: deque[asyncio.Future[ModelStats]] = deque()
        self.loading: Loading | None = None
        """The progress of loading; None before the first report."""
        self.answered = False
        """Whether any generation has ever produced output."""
        self.death: str | None = None
        """Why the process died, None while it lives."""
        self._loaded: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._tasks = (asyncio.create_task(self._read_events()), asyncio.create_task(self._read_log()))

    @classmethod
    async def start(
        cls, load: Load, timeout_s: float = START_TIMEOUT_S, on_spawned: Callable[[HostProcess], None] | None = None
    ) -> HostProcess:
        """Starts the process and loads a folder, given by an absolute path.

        `on_spawned` receives the process before its model is loaded. Raises ModelUnavailable, and leaves no process
        then.
        """
        try:
            process = await _spawn()
        except OSError as error:
            fix = "check the Python installation that runs Remit"
            raise ModelUnavailable("the model process cannot be started", str(error), fix) from error
        host = cls(process, load.folder)
        if on_spawned is not None:
            on_spawned(host)
        try:
            await host.send(load)
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(host._loaded)
        except TimeoutError as error:
            why = f"`{load.folder}` was not loaded within {timeout_s:g} seconds"
            raise ModelUnavailable("the model did not start", why, "use a smaller model, or ask again") from error
        finally:
            if not host.loaded:
                await host.close(0)
        return host

    @property
    def loaded(self) -> bool:
        """Whether the model is loaded."""
        return self._loaded.done() and not self._loaded.cancelled() and self._loaded.exception() is None

    @property
    def ready(self) -> Ready:
        """The process's report about its model after loading."""
        return self._loaded.result()

    @property
    def alive(self) -> bool:
        """Whether the process accepts requests."""
        return self.death is None

    @property
    def busy(self) -> bool:
        """Whether a generation runs or waits."""
        return bool(self._open)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def generate(self, request: Generate) -> AsyncGenerator[Generated]:
        """Streams one generation. Closing the stream early cancels it, within one token.

        Raises ModelUnavailable when the process dies, ModelFailed when it has no usable answer.
        """
        if self.death is not None:
            raise self._dead()
        answers: asyncio.Queue[_Answer] = asyncio.Queue()
        self._open[request.id] = answers
        ended = False
        try:
            await self.send(request)
            while not ended:
                answer = await answers.get()
                ended = answer is None or isinstance(answer, FinishedFrame | Error)
                if isinstance(answer, Error):
                    raise _failure(answer)
                if answer is None:
                    raise self._dead()
                yield answer
        except WireError as error:
            ended = True
            fix = "start a new session, or send less in one message"
            raise ModelFailed("the request cannot be sent to the model", str(error), fix) from error
        finally:
            if ended:
                self._open.pop(request.id, None)
            elif request.id in self._open:
                # From here on nobody reads the stream; further events are dropped until the process confirms the end.
                self._open[request.id] = None
                self._stdin.write(encode(Cancel(id=request.id)))
                asyncio.get_running_loop().call_later(CANCEL_TIMEOUT_S, self._give_up, request.id)

    async def stats(self) -> ModelStats:
        """Returns the process's statistics. Raises ModelUnavailable when it dies."""
        if self.death is not None:
            raise self._dead()
        answer: asyncio.Future[ModelStats] = asyncio.get_running_loop().create_future()
        self._asked.append(answer)
        await self.send(AskStats())
        return await answer

    async def send(self, message: Frame) -> None:
        """Writes one message. A broken pipe is not reported here, because the reader notices the death."""
        self._stdin.write(encode(message))
        with suppress(ConnectionError):
            await self._stdin.drain()

    async def close(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Asks the process to stop, waits, then kills it; with a time of 0 it is killed at once. Idempotent."""
        if self.death is None and timeout_s > 0:
            with suppress(ConnectionError):
                self._stdin.write(encode(Shutdown()))
                self._stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._process.wait()
        self._kill()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read_events(self) -> None:
        buffer = FrameBuffer()
        why = ""
        try:
            while data := await self._stdout.read(_CHUNK):
                for payload in buffer.feed(data):
                    self._dispatch(decode_event(payload))
        except WireError as error:
            why = f"it sent something that is not a message ({error})"
            log.error("model process: %s", why)
        finally:
            self._kill()
            code = await self._process.wait()
            self._die(why or _ending(code))

    def _dispatch(self, event: Event) -> None:
        match event:
            case Loading():
                self.loading = event
                if event.done == event.total:
                    asyncio.get_running_loop().call_later(PROBE_TIMEOUT_S, self._give_up_start)
            case Ready():
                if not self._loaded.done():
                    self._loaded.set_result(event)
            case Stats(stats=stats):
                if self._asked and not (answer := self._asked.popleft()).done():
                    answer.set_result(stats)
            case Error(id=None):
                if not self._loaded.done():
                    self._loaded.set_exception(ModelUnavailable(event.what, event.why, event.fix))
            case ProgressFrame() | Delta() | ThinkingFrame() | Call() | UnreadableFrame() | FinishedFrame() | Error():
                self._answer(event)

    def _answer(self, event: Generated | Error) -> None:
        assert event.id is not None
        self.answered = self.answered or not isinstance(event, ProgressFrame)
        over = isinstance(event, FinishedFrame | Error)
        # An ended request is no longer open, even if its last event was not read yet, or never will be.
        answers = self._open.pop(event.id, None) if over else self._open.get(event.id)
        if answers is not None:
            answers.put_nowait(event)

    def _die(self, why: str) -> None:
        self.death = why
        for answers in self._open.values():
            if answers is not None:
                answers.put_nowait(None)
        self._open.clear()
        for asked in self._asked:
            if not asked.done():
                asked.set_exception(self._dead())
        if not self._loaded.done():
            what = f"the model `{self._folder}` cannot be loaded"
            fix = "run `remit model check`, or choose another model"
            self._loaded.set_exception(ModelUnavailable(what, f"its process stopped: {why}", fix))
        # Read once, so that a start nobody waits for is not reported as a lost exception.
        self._loaded.exception()

    def _dead(self) -> ModelUnavailable:
        return ModelUnavailable("the model process stopped", self.death or "", _RESTART, retryable=True)

    def _give_up(self, request_id: str) -> None:
        """Kills a process that continues a cancelled generation, because it would answer no other request."""
        if request_id in self._open:
            log.error("model process: it did not stop within %g seconds, and is ended", CANCEL_TIMEOUT_S)
            self._kill()

    def _give_up_start(self) -> None:
        """Fails a start that does not finish after the weights, because the chat template may not terminate."""
        if not self._loaded.done():
            what = f"the model `{self._folder}` cannot be loaded"
            why = f"{PROBE_TIMEOUT_S:g} seconds after its weights, its tokenizer and chat template were not ready"
            self._loaded.set_exception(ModelUnavailable(what, why, "look at its chat template, or use another model"))

    def _kill(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _read_log(self) -> None:
        while data := await self._stderr.read(_CHUNK):
            log.info("model process: %s", data.decode("utf-8", "replace").rstrip())


async def _spawn() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # the folder it is started in must not provide modules
        "-m",
        "remit_server.models.local.host",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=os.sep,
        env=host_environment(os.environ),
        start_new_session=True,
    )


def host_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables of an environment that the model process may see."""
    kept = {name: environment[name] for name in _ENVIRONMENT if name in environment}
    return kept | {"HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1"}


def _ending(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
    return f"it exited with status {code}"


def _failure(error: Error) -> ModelFailed:
    if error.window:
        return PromptTooLong(error.what, error.why, error.fix, tokens=error.tokens, window=error.window)
    return ModelFailed(error.what, error.why, error.fix)
