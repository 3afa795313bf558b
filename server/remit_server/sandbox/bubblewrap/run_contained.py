"""Runs one contained process: reads its output, watches its limits, and returns only once it is dead (BOX-04)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from remit_server.errors import ToolError
from remit_server.sandbox.bounded_output import BoundedOutput
from remit_server.sandbox.bubblewrap.spawn import Reading, Spawned, spawned
from remit_server.sandbox.landlock.alone import end_below
from remit_server.sandbox.limits.limits import Limits, free_space, layer_excess, measure_usage, signal_tree
from remit_server.sandbox.ports import CommandOutput, Progress, StreamName
from remit_server.scheduling.runner import Freezer, wait_first
from remit_server.uninterrupted import finish_uninterrupted

_FIRST_WATCH_S, WATCH_S = 0.01, 0.1
_HEARD_S = 5.0
_DEATH_S = 10.0
_NICER = 10


@dataclass(frozen=True, slots=True)
class Job:
    """A bwrap to run, found by `path`. It inherits `descriptors`; from `status` we read its reports.

    The command begins when we send a message by `hold`, once its limits are set. With `as_root`, bwrap starts where
    /dev is read-only and the mounts of `unseen` are gone. `layer` is the folder that takes what the command writes to
    the workspace. `freezer` pauses the command: by `freeze`, the control group's way, else by signals to all its
    processes. `begun` gets the pid of the first process before the command begins; if it raises ToolError, the command
    does not begin. `sweeps`: there is no namespace that ends with the first process, so its descendants are killed
    before it. The totals are checked every `watch_s` seconds, more often at first.
    """

    argv: Sequence[str]
    path: str
    descriptors: Sequence[int]
    status: int
    hold: socket.socket
    timeout_s: float
    max_output_bytes: int
    limits: Limits
    progress: Progress | None = None
    layer: Path | None = None
    as_root: bool = False
    unseen: Sequence[str] = ()
    freezer: Freezer | None = None
    freeze: Callable[[bool], None] | None = None
    begun: Callable[[int], None] | None = None
    sweeps: bool = False
    watch_s: float = WATCH_S


@dataclass(slots=True)
class _Namespace:
    """What bwrap reports about its pid namespace: its first process, `init`; when that dies, all others in it die.

    `heard` is set when `init` is known, or once bwrap can report nothing any more; `over` is done when the command has
    ended by itself.
    """

    over: asyncio.Future[None]
    told: bytearray = field(default_factory=bytearray)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    init: int | None = None
    pidfd: int | None = None

    def hear(self, data: bytes) -> None:
        """Takes more bytes of bwrap's report."""
        self.told += data
        if self.init is None and b"\n" in self.told:
            self.init = int(json.loads(self.told.partition(b"\n")[0])["child-pid"])
            with contextlib.suppress(ProcessLookupError):
                self.pidfd = os.pidfd_open(self.init)
            self.heard.set()
        if not self.over.done() and self.exit_code is not None:
            self.over.set_result(None)

    @property
    def exit_code(self) -> int | None:
        """The command's exit code, once it has ended by itself; else None."""
        reports = [json.loads(line) for line in bytes(self.told).split(b"\n")[:-1]]
        return next((int(report["exit-code"]) for report in reports if "exit-code" in report), None)

    async def end(self) -> None:
        """Kills the namespace's first process and waits for its death. Raises TimeoutError if that takes too long."""
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


@dataclass(frozen=True, slots=True)
class _Running:
    """A job that has started, with its output and all that reports on it."""

    spawned: Spawned
    namespace: _Namespace
    stdout: BoundedOutput
    stderr: BoundedOutput
    overrun: asyncio.Future[str]
    draining: Sequence[asyncio.Future[None]]


async def run_contained(job: Job) -> CommandOutput:
    """Runs the job until it ends, passes a limit, or is cancelled; then no process of it is left. There is no exit code
    if it was stopped, or if bwrap failed before the command began. Raises OSError if it cannot start, and ToolError if
    `begun` refuses it."""
    starting = asyncio.create_task(_start(job))
    cancelled = False
    try:
        running = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Wait for the start to finish, because a bwrap killed meanwhile would leave a process that we do not know.
        running, cancelled = await starting, True
    process, namespace, overrun = running.spawned, running.namespace, running.overrun
    watching = asyncio.create_task(_watch(namespace, job, overrun))
    try:
        ends: set[asyncio.Future[Any]] = {process.exited, namespace.over, overrun}
        if cancelled:
            raise asyncio.CancelledError
        await wait_first(ends, job.timeout_s, job.freezer)
        by_itself = process.exited.done() or namespace.over.done()
        stopped = overrun.result() if overrun.done() and not by_itself else None
    finally:
        watching.cancel()
        if job.freezer is not None:
            job.freezer.detach()
        try:
            await finish_uninterrupted(_end(process, namespace, running.draining, sweeps=job.sweeps))
        finally:
            job.hold.close()
    return output_of(
        namespace.exit_code if by_itself else None,
        running.stdout,
        running.stderr,
        timed_out=not by_itself and stopped is None,
        stopped=stopped,
    )


def output_of(
    exit_code: int | None, stdout: BoundedOutput, stderr: BoundedOutput, *, timed_out: bool, stopped: str | None
) -> CommandOutput:
    """Returns how a process ended, with the output that was kept of it."""
    return CommandOutput(
        exit_code,
        stdout.value(),
        stderr.value(),
        timed_out=timed_out,
        stopped=stopped,
        truncated=stdout.truncated or stderr.truncated,
    )


def drain_to(
    stream: StreamName, kept: BoundedOutput, most: int, progress: Progress | None, overrun: asyncio.Future[str]
) -> Callable[[bytes], None]:
    """Returns a function that takes each piece of a stream, so that the command never waits for us; it sets `overrun`
    once the stream has more than `most` bytes."""

    def take(chunk: bytes) -> None:
        kept.add(chunk)
        if progress is not None:
            progress(stream, chunk)
        if kept.total > most and not overrun.done():
            overrun.set_result(f"more than {most} bytes of output")

    return take


async def _start(job: Job) -> _Running:
    """Starts the job and begins to read its output and reports. Raises OSError."""
    process = await _spawn_job(job)
    loop = asyncio.get_running_loop()
    overrun: asyncio.Future[str] = loop.create_future()
    namespace = _Namespace(loop.create_future())
    stdout, stderr = BoundedOutput(job.max_output_bytes), BoundedOutput(job.max_output_bytes)
    most = job.max_output_bytes * job.limits.output_factor
    draining = (
        await Reading.of(process.process.stdout, drain_to("stdout", stdout, most, job.progress, overrun)),
        await Reading.of(process.process.stderr, drain_to("stderr", stderr, most, job.progress, overrun)),
        await Reading.of(os.fdopen(job.status, "rb", buffering=0), namespace.hear),
    )
    draining[-1].add_done_callback(lambda _: namespace.heard.set())
    return _Running(process, namespace, stdout, stderr, overrun, draining)


async def _spawn_job(job: Job) -> Spawned:
    """Starts the process and closes our copies of its descriptors; if it fails, also closes `status` and `hold`.

    Raises OSError.
    """
    try:
        environment = {"PATH": job.path}
        return await spawned(job.argv, environment, job.descriptors, devices_read_only=job.as_root, unseen=job.unseen)
    except BaseException:
        os.close(job.status)
        job.hold.close()
        raise
    finally:
        for fd in job.descriptors:
            os.close(fd)


def _release(namespace: _Namespace, job: Job, overrun: asyncio.Future[str]) -> None:
    """Sets the limits of the namespace's first process, which all others inherit, and lets the command begin.

    Without the message the command waits for ever. The command also gets a lower priority, so that the editor stays
    responsive beside it.
    """
    if namespace.init is None or namespace.pidfd is None:
        return
    try:
        job.limits.impose(namespace.init)
        if job.begun is not None:
            job.begun(namespace.init)
        # Only now, so that bwrap's own preparations do not run at the low priority.
        os.setpriority(os.PRIO_PROCESS, namespace.init, os.getpriority(os.PRIO_PROCESS, 0) + _NICER)
        job.hold.send(b"go")
        if job.freezer is not None:
            job.freezer.attach(job.freeze or partial(_signal_all, namespace.init))
    except (ProcessLookupError, ConnectionError):
        return
    except OSError as error:
        if not overrun.done():
            overrun.set_exception(OSError(f"its limits cannot be set: {error}"))
    except ToolError as refusal:
        if not overrun.done():
            overrun.set_exception(refusal)


def _signal_all(init: int, stop: bool) -> None:
    signal_tree(init, signal.SIGSTOP if stop else signal.SIGCONT)


async def _end(
    spawned: Spawned, namespace: _Namespace, draining: Sequence[asyncio.Future[None]], *, sweeps: bool
) -> None:
    """Kills bwrap and its namespace, and waits for both and for the last of their output."""
    with contextlib.suppress(TimeoutError):
        # Wait, because a bwrap killed before it reports its child might leave a process that we do not know.
        async with asyncio.timeout(_HEARD_S):
            await namespace.heard.wait()
    alive = sweeps and namespace.init is not None and not spawned.exited.done()
    if alive and namespace.init is not None and await asyncio.to_thread(end_below, namespace.init):
        # The first process reaps the killed ones, and then ends itself.
        await asyncio.wait([spawned.exited], timeout=_DEATH_S)
    if not spawned.exited.done():
        # Not by `Popen`, which would reap the process if it is dead already, so that `exited` would never be set.
        os.kill(spawned.process.pid, signal.SIGKILL)
    # Before reading to the end: bwrap may have died before its child was bound to die with it, and such a child holds
    # our pipes open.
    await namespace.end()
    await spawned.exited
    await finish_draining(draining, _DEATH_S)


async def finish_draining(draining: Sequence[asyncio.Future[None]], timeout_s: float) -> None:
    """Waits for the last of an ended program's output. Raises what one of the readers raised."""
    done, pending = await asyncio.wait(draining, timeout=timeout_s)
    for reading in pending:
        reading.cancel()
    for reading in done:
        reading.result()


async def _watch(namespace: _Namespace, job: Job, overrun: asyncio.Future[str]) -> None:
    """Lets the command begin, and checks the totals of all its processes until one is passed, because the limits of the
    kernel hold for each single process only."""
    await namespace.heard.wait()
    free_before = free_space(job.layer) if job.layer else 0
    _release(namespace, job, overrun)
    pause = _FIRST_WATCH_S
    while namespace.init is not None and not overrun.done():
        # Sleep first, because the command has hardly begun. Briefly at first, because a command that starts processes
        # as fast as it can has thousands of them, and all processors, within a tenth of a second.
        await asyncio.sleep(pause)
        pause = min(2 * pause, job.watch_s)
        reason = measure_usage(namespace.init).beyond(job.limits)
        if reason is None and job.layer is not None:
            reason = await asyncio.to_thread(layer_excess, job.layer, job.limits, free_before)
        if reason is not None and not overrun.done():
            overrun.set_result(reason)
