"""One contained process from its start to its certain end: drained, watched, and dead before we return (threats.md)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remit_server.sandbox.limits import Limits, layer_beyond, usage_below
from remit_server.sandbox.output import Kept

_CHUNK = 1 << 16
_WATCH_S = 0.1
_HEARD_S = 5.0
_DEATH_S = 10.0


@dataclass(frozen=True, slots=True)
class Job:
    """A bwrap to run, found by `path`. `descriptors` are passed on to it, `status` is where it reports to.

    `layer` is the folder that fills with what it writes to the workspace.
    """

    argv: Sequence[str]
    path: str
    descriptors: Sequence[int]
    status: int
    timeout_s: float
    max_output_bytes: int
    limits: Limits
    progress: Callable[[bytes], None] | None = None
    layer: Path | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended. `exit_code` is None where it was stopped, and where bwrap failed before the command began."""

    exit_code: int | None
    timed_out: bool
    stopped: str | None
    stdout: Kept
    stderr: Kept


@dataclass(slots=True)
class _Namespace:
    """What bwrap tells of its pid namespace: its first process, with whose death every other one in it dies."""

    told: bytearray = field(default_factory=bytearray)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    init: int | None = None
    pidfd: int | None = None

    def hear(self, data: bytes) -> None:
        """More of the report; nothing at its end."""
        self.told += data
        if self.init is None and b"\n" in self.told:
            self.init = int(json.loads(self.told.partition(b"\n")[0])["child-pid"])
            with contextlib.suppress(ProcessLookupError):
                self.pidfd = os.pidfd_open(self.init)
        if self.init is not None or not data:
            self.heard.set()

    @property
    def exit_code(self) -> int | None:
        """The command's, once it has ended by itself."""
        reports = [json.loads(line) for line in self.told.splitlines()]
        return next((int(report["exit-code"]) for report in reports if "exit-code" in report), None)

    async def end(self) -> None:
        """Kill what is left of it, and wait until it is gone. Raises TimeoutError where the kernel cannot do it."""
        if self.pidfd is None:
            return
        loop = asyncio.get_running_loop()
        dead = asyncio.Event()
        loop.add_reader(self.pidfd, dead.set)
        try:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            async with asyncio.timeout(_DEATH_S):
                await dead.wait()
        finally:
            loop.remove_reader(self.pidfd)
            os.close(self.pidfd)
            self.pidfd = None


async def contain(job: Job) -> Ended:
    """Run it and see it end, at its limits at the latest, and when cancelled. Raises OSError where it cannot start."""
    starting = asyncio.create_task(_started(job))
    cancelled = False
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Killed in the midst of its start, it would leave a process that we do not know.
        process, cancelled = await starting, True
    namespace = _Namespace()
    stdout, stderr = Kept(job.max_output_bytes), Kept(job.max_output_bytes)
    overrun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    exited = asyncio.create_task(process.wait())
    watching = asyncio.create_task(_watch(namespace, job, overrun))
    most = job.max_output_bytes * job.limits.output_factor
    draining = [
        asyncio.create_task(drain(process.stdout, stdout, most, job.progress, overrun)),
        asyncio.create_task(drain(process.stderr, stderr, most, job.progress, overrun)),
        asyncio.create_task(_listen(job.status, namespace)),
    ]
    try:
        ends: set[asyncio.Future[Any]] = {exited, overrun}
        if cancelled:
            raise asyncio.CancelledError
        await asyncio.wait(ends, timeout=job.timeout_s, return_when=asyncio.FIRST_COMPLETED)
        by_itself = exited.done()
        stopped = overrun.result() if overrun.done() and not by_itself else None
    finally:
        watching.cancel()
        await asyncio.shield(asyncio.create_task(_end(process, namespace, draining)))
    return Ended(
        exit_code=namespace.exit_code if by_itself else None,
        timed_out=not by_itself and stopped is None,
        stopped=stopped,
        stdout=stdout,
        stderr=stderr,
    )


async def _started(job: Job) -> asyncio.subprocess.Process:
    """Closes the descriptors, which the process has or nobody needs; raises OSError, and closes `status` too then."""
    try:
        return await asyncio.create_subprocess_exec(
            *job.argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": job.path},
            pass_fds=tuple(job.descriptors),
            start_new_session=True,
        )
    except BaseException:
        os.close(job.status)
        raise
    finally:
        for fd in job.descriptors:
            os.close(fd)


async def _end(
    process: asyncio.subprocess.Process, namespace: _Namespace, draining: Sequence[asyncio.Task[None]]
) -> None:
    """Kill bwrap and its namespace, and wait for both and for the last of their output."""
    with contextlib.suppress(TimeoutError):
        # Killed before it has told, it might leave a process that we do not know.
        async with asyncio.timeout(_HEARD_S):
            await namespace.heard.wait()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    # First: bwrap may have died before its child was bound to die with it, and the child holds our pipes open.
    await namespace.end()
    await process.wait()
    done, pending = await asyncio.wait(draining, timeout=_DEATH_S)
    for task in pending:
        task.cancel()
    for task in done:
        task.result()


async def drain(
    stream: asyncio.StreamReader | None,
    kept: Kept,
    most: int,
    progress: Callable[[bytes], None] | None,
    overrun: asyncio.Future[str],
) -> None:
    """Read to the end, whatever is kept of it, so that the command never waits for us; `overrun` past `most` bytes."""
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        kept.add(chunk)
        if progress is not None:
            progress(chunk)
        if kept.total > most and not overrun.done():
            overrun.set_result(f"more than {most} bytes of output")


async def _listen(status: int, namespace: _Namespace) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(status, "rb", buffering=0)
    )
    try:
        while chunk := await reader.read(_CHUNK):
            namespace.hear(chunk)
        namespace.hear(b"")
    finally:
        transport.close()


async def _watch(namespace: _Namespace, job: Job, overrun: asyncio.Future[str]) -> None:
    """Look at the totals, which no limit of a single process bounds, until one is passed."""
    await namespace.heard.wait()
    while namespace.init is not None and not overrun.done():
        reason = usage_below(namespace.init).beyond(job.limits)
        if reason is None and job.layer is not None:
            reason = await asyncio.to_thread(layer_beyond, job.layer, job.limits)
        if reason is not None and not overrun.done():
            overrun.set_result(reason)
        await asyncio.sleep(_WATCH_S)
