"""A process started from a thread of its own, and its pipes read as they fill (BOX-04).

The thread lives as long as the process, because a process that is to die with its parent dies with the thread that
started it. The process also inherits the mounts that the thread changes for itself, so that no extra program has to
change them.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import functools
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

_CLONE_NEWNS = 0x00020000
_MS_RDONLY, _MS_NOSUID, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND = 1, 2, 8, 32, 4096
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_MNT_DETACH = 2


@dataclass(frozen=True, slots=True)
class Spawned:
    """A process and its end: `exited` is done once the process is dead; until then its pid cannot be reused."""

    process: subprocess.Popen[bytes]
    exited: asyncio.Future[None]


async def spawned(
    argv: Sequence[str],
    environment: Mapping[str, str],
    descriptors: Sequence[int] = (),
    *,
    devices_read_only: bool = False,
    unseen: Sequence[str] = (),
) -> Spawned:
    """Starts a process in a session of its own, with its output in pipes; `environment` has the PATH that finds it.
    Raises OSError.

    With `devices_read_only`, which only root can have, the process sees /dev read-only, and the mounts of `unseen`,
    with all below them, are gone.
    """
    loop = asyncio.get_running_loop()
    started: asyncio.Future[subprocess.Popen[bytes]] = loop.create_future()
    exited: asyncio.Future[None] = loop.create_future()

    def start() -> None:
        try:
            if devices_read_only:
                _own_mounts(unseen)
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=environment,
                pass_fds=descriptors,
                start_new_session=True,
            )
        except BaseException as error:
            _call_on_loop(loop, started.set_exception, error)
            return
        _call_on_loop(loop, started.set_result, process)
        # Do not reap it in this thread, so that the loop's thread can kill it while its pid is certainly not reused.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        _call_on_loop(loop, _wait_for_exit, process, exited)

    try:
        threading.Thread(target=start, name=f"remit-{argv[0]}", daemon=True).start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, str(error)) from error
    return Spawned(await started, exited)


class Reading(asyncio.Protocol):
    """Hands a pipe's bytes to `heard`; the future `ended` is done at the pipe's end, or with what `heard` raises."""

    def __init__(self, heard: Callable[[bytes], None]) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._heard = heard
        self._transport: asyncio.BaseTransport | None = None

    @classmethod
    async def of(cls, pipe: IO[bytes] | None, heard: Callable[[bytes], None]) -> asyncio.Future[None]:
        """Reads this pipe to its end, and closes it then or when the returned future is cancelled."""
        _, reading = await asyncio.get_running_loop().connect_read_pipe(lambda: cls(heard), pipe)
        return reading.ended

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remembers the transport, which is closed when `ended` is done."""
        self._transport = transport
        self.ended.add_done_callback(lambda _: transport.close())

    def data_received(self, data: bytes) -> None:
        """Takes the next bytes."""
        if self.ended.done():
            return
        try:
            self._heard(data)
        except Exception as error:
            self.ended.set_exception(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Notes the end of the pipe."""
        if not self.ended.done():
            self.ended.set_result(None)


def _wait_for_exit(process: subprocess.Popen[bytes], exited: asyncio.Future[None]) -> None:
    process.wait()
    if not exited.done():
        exited.set_result(None)


def _call_on_loop(loop: asyncio.AbstractEventLoop, tell: Callable[..., object], *arguments: Any) -> None:
    """Calls `tell` in the loop's own thread; does nothing if the loop is closed."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(tell, *arguments)


def _own_mounts(unseen: Sequence[str]) -> None:
    """Mounts /dev read-only for this thread and what it starts, because root can change the mode of its own devices
    without any capability; unmounts what is `unseen`. Raises OSError."""
    _check(_libc().unshare(_CLONE_NEWNS))
    _mount(None, b"/", _MS_REC | _MS_PRIVATE)
    if not os.path.ismount("/dev"):
        # Include what is mounted below, because a workspace may lie in /dev/shm.
        _mount(b"/dev", b"/dev", _MS_BIND | _MS_REC)
    # The mount is this thread's own copy now, so the change is seen nowhere else.
    _mount(None, b"/dev", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NOEXEC)
    for place in unseen:
        # Ignore failures: if this fails, nothing is mounted there.
        _libc().umount2(place.encode(), _MNT_DETACH)


def _mount(source: bytes | None, target: bytes, flags: int) -> None:
    _check(_libc().mount(source, target, None, ctypes.c_ulong(flags), None))


def _check(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"/dev cannot be mounted read-only: {os.strerror(code)}")


@functools.cache
def _libc() -> Any:
    return cast("Any", ctypes.CDLL(None, use_errno=True))
