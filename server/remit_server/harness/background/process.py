"""One background process: what is kept from it, what is awaited of it, its published ports, and its end (BG-01)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.background.printed import Printed
from remit_server.harness.record.call_record import CallRecord
from remit_server.machine.peers import is_own_user
from remit_server.sandbox.network.loopback import Loopback
from remit_server.tools.background.seen import Awaited, Ending, ProcessSeen

_LOOK_S = 0.1
_HIDDEN_S, _REST = 1.0, 20
"""How often the hidden paths are checked: every `_HIDDEN_S` seconds, or after `_REST` times as long as a check took, if
that is longer."""
LAID_BARE = "a file that it may not read was written since it started; start it again"


@dataclass(frozen=True, slots=True)
class Kept:
    """The paths that are hidden from a process, each with the `identity` it had at the start (BG-02). `look` returns
    the paths that would be hidden from it if it started now."""

    paths: Mapping[Path, object]
    look: Callable[[], Sequence[Path]]

    def is_bare(self) -> bool:
        """Returns whether the process might read something that it may not: a hidden path was replaced, so that it is
        no longer hidden, or another path would have to be hidden now. An error while checking counts as yes."""
        try:
            changed = any(identity(path) != before for path, before in self.paths.items())
            return changed or not self.paths.keys() >= set(self.look())
        except (ToolError, OSError):
            return True


@dataclass(slots=True, eq=False)
class Process:
    """One process. `read` is the position up to which its output was read, `why` the reason if something else ends it.

    `sent` is true for a command that was sent to the background: its sandbox was made for a command, so nothing can
    reach its ports (BG-08)."""

    id: str
    command: str
    record: CallRecord
    kept: Kept
    redact: Callable[[str], str]
    printed: Printed = field(default_factory=Printed)
    loopback: Loopback = field(default_factory=Loopback)
    published: dict[int, str] = field(default_factory=dict[int, str])
    serving: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])
    ending: Ending | None = None
    why: str = ""
    read: int = 0
    sent: bool = False
    task: asyncio.Task[None] | None = None

    def seen(self) -> ProcessSeen:
        """Returns the state of the process now. Reads files of /proc."""
        return ProcessSeen(self.id, self.command, self.loopback.ports(), dict(self.published), self.ending)


def identity(path: Path) -> object:
    """Returns a value that changes when another file or folder takes the path's place; None if nothing is there."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def require_ports(process: Process) -> None:
    """Raises ToolError if the ports of the process cannot be reached, because it was sent to the background."""
    if process.sent:
        why = "it is a command that was sent to the background, so its ports cannot be reached"
        fix = "stop it, and start it with `start_process`"
        raise ToolError(f"cannot reach {process.id}", why, fix, code=ErrorCode.NOT_FOUND)


async def end_process(process: Process, why: str) -> None:
    """Ends the process, and waits for its end."""
    _cancel(process, why)
    if process.task is not None:
        await asyncio.wait([process.task])


def _cancel(process: Process, why: str) -> None:
    """Cancels the process's task, but only once, because a second cancellation would cut its clean-up short."""
    if process.ending is None and not process.why and process.task is not None:
        process.why = why
        process.task.cancel()


async def end_if_bare(process: Process) -> None:
    """Ends the process if it might read what it may not, before anything of it is handed on."""
    if process.ending is None and await asyncio.to_thread(process.kept.is_bare):
        await end_process(process, LAID_BARE)


async def watch(process: Process) -> None:
    """Ends the process soon after a file that it may not read appears where it can read it."""
    bare, took = False, 0.0
    while not bare:
        await asyncio.sleep(max(_HIDDEN_S, took * _REST))
        since = time.monotonic()
        bare = await asyncio.to_thread(process.kept.is_bare)
        took = time.monotonic() - since
    _cancel(process, LAID_BARE)


async def wait_for(process: Process, awaited: Awaited) -> bool:
    """Waits for what is awaited; returns whether it came."""
    loop = asyncio.get_running_loop()
    until, begun, looked = loop.time() + awaited.within_s, process.read, -1
    while True:
        if awaited.port and awaited.port in process.loopback.ports():
            return True
        if process.printed.total != looked:
            looked = process.printed.total
            data, _ = process.printed.since(begun)
            if awaited.text and awaited.text in await asyncio.to_thread(redacted_text, process, data):
                return True
            if data and not awaited.text and not awaited.port:
                return True
        left = until - loop.time()
        if process.ending is not None or left <= 0:
            return False
        await process.printed.wait(min(left, _LOOK_S))


def redacted_text(process: Process, data: bytes) -> str:
    """Returns output of the process as text, without secrets."""
    return process.redact(data.decode(errors="replace").replace("\0", ""))


def listen(port: int) -> socket.socket:
    """Returns a socket on this machine's loopback, on the same port if it is free, else on any free port.

    Raises ToolError if there is none."""
    for wanted in (port, 0):
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", wanted))
    why = "this machine has no free port"
    raise ToolError(f"cannot publish port {port}", why, "try again", code=ErrorCode.LIMIT_REACHED)


async def serve_port(process: Process, listener: socket.socket, port: int) -> None:
    """Serves the published port until the task is cancelled. Only processes of our own user may connect."""
    with listener:
        async with process.loopback.serving(listener, port, is_own_user):
            await asyncio.get_running_loop().create_future()
