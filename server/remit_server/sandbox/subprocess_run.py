"""Runs one process to its end, for adapters that have their own way to end all that it started."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remit_server.sandbox.bounded_output import BoundedOutput
from remit_server.sandbox.bubblewrap.run_contained import WATCH_S, drain_to, finish_draining, output_of
from remit_server.sandbox.ports import CommandOutput, Progress, StreamName
from remit_server.scheduling.runner import Freezer, wait_first
from remit_server.uninterrupted import finish_uninterrupted

_CHUNK = 1 << 16
_LAST_OUTPUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Invocation:
    """A program to run. If one of its streams has more than `most_output` bytes, it is ended; `kept` bytes of each are
    held.

    `end` ends all that the program has started; it may be called in any state, and again. `began` runs beside the
    program until its end. `freezer` pauses it by `freeze`. `begun` gets its pid once it has started; if it raises, the
    program is ended. `beyond` returns in words which limit is passed; it is called ten times a second, on a thread.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    timeout_s: float
    kept: int
    most_output: int
    end: Callable[[asyncio.subprocess.Process], Awaitable[None]]
    progress: Progress | None = None
    began: Callable[[asyncio.subprocess.Process], Coroutine[Any, Any, None]] | None = None
    freezer: Freezer | None = None
    freeze: Callable[[bool], None] | None = None
    begun: Callable[[int], None] | None = None
    beyond: Callable[[], str | None] | None = None


async def run_subprocess(errand: Invocation) -> CommandOutput:
    """Runs the program until it ends, passes a limit, or is cancelled. Raises OSError if it cannot start."""
    process = await asyncio.create_subprocess_exec(
        *errand.argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(errand.environment),
        cwd="/",
        start_new_session=True,
    )
    stdout, stderr = BoundedOutput(errand.kept), BoundedOutput(errand.kept)
    overrun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    streams: tuple[tuple[StreamName, asyncio.StreamReader | None, BoundedOutput], ...] = (
        ("stdout", process.stdout, stdout),
        ("stderr", process.stderr, stderr),
    )
    draining = [
        asyncio.create_task(_drain(stream, drain_to(name, kept, errand.most_output, errand.progress, overrun)))
        for name, stream, kept in streams
    ]
    exited = asyncio.create_task(process.wait())
    beside = [asyncio.create_task(errand.began(process))] if errand.began else []
    beside += [asyncio.create_task(_watch(errand.beyond, overrun))] if errand.beyond else []
    try:
        ends: set[asyncio.Future[Any]] = {exited, overrun}
        if errand.begun is not None:
            errand.begun(process.pid)
        if errand.freezer is not None and errand.freeze is not None:
            errand.freezer.attach(errand.freeze)
        await wait_first(ends, errand.timeout_s, errand.freezer)
        by_itself = exited.done()
        stopped = overrun.result() if overrun.done() and not by_itself else None
    finally:
        if errand.freezer is not None:
            errand.freezer.detach()
        for task in beside:
            task.cancel()
        await finish_uninterrupted(_end(errand, process, draining))
    exit_code = process.returncode if by_itself else None
    return output_of(exit_code, stdout, stderr, timed_out=not by_itself and stopped is None, stopped=stopped)


async def _watch(beyond: Callable[[], str | None], overrun: asyncio.Future[str]) -> None:
    while not overrun.done():
        await asyncio.sleep(WATCH_S)
        if (reason := await asyncio.to_thread(beyond)) is not None and not overrun.done():
            overrun.set_result(reason)


async def _drain(stream: asyncio.StreamReader | None, take: Callable[[bytes], None]) -> None:
    """Reads the stream to its end."""
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        take(chunk)


async def _end(errand: Invocation, process: asyncio.subprocess.Process, draining: Sequence[asyncio.Task[None]]) -> None:
    """Ends the program and all that it started, and waits for the last of the output."""
    await errand.end(process)
    await kill_process(process)
    await finish_draining(draining, _LAST_OUTPUT_S)


async def kill_process(process: asyncio.subprocess.Process) -> None:
    """Kills a process that we started, and waits for its end."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    await process.wait()
