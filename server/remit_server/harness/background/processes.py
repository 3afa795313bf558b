"""The processes that a workspace's sessions have in the background, from their start to their certain end (BG-01).

Each runs in a sandbox of its own, where the sandbox's task holds it: with that, with its session and with the server it
ends. What it may do was judged when it was started, and it does nothing by itself outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from remit_governance.audit.record import AuditKind
from remit_server.contract import ErrorCode, ProcessChanged
from remit_server.errors import ToolError
from remit_server.harness.background.printed import Printed
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.turn import Turn
from remit_server.peers import is_own_user
from remit_server.sandbox.network.loopback import Loopback
from remit_server.sandbox.ports import CommandOutput, Leave, Near, Progress
from remit_server.tools.background.seen import Awaited, Ending, NewOutput, ProcessSeen, unknown_process
from remit_server.tools.background.start_process import LIFE_S

log = logging.getLogger(__name__)

MOST_RUNNING = 4
"""Processes at the same time, in all sessions of a workspace, where nothing else is set."""
MOST_LISTED = 20
"""Processes of a session that are listed; of those that have ended the last ones."""
_LOOK_S = 0.1
_HIDDEN_S, _REST = 1.0, 20
"""How often is looked for what it may not read: each second, and less often where a look takes long."""
WITH_ITS_SERVER = Ending("with the server that ran it")
_LAID_BARE = "a file that it may not read was written since it started; start it again"

ChangedTo = Literal["started", "ready", "published", "ended"]


Launch = Callable[[Progress, Loopback], Coroutine[Any, Any, CommandOutput]]
"""Runs the program in its sandbox until it ends: all that was found out for it before is bound in."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a process is kept from: each path with what was there when it began (BG-02). `look` finds out what it would
    be kept from now."""

    paths: Mapping[Path, object]
    look: Callable[[], Sequence[Path]]

    def is_bare(self) -> bool:
        """Returns whether one of the paths holds something else by now, which is not hidden any more, or there is more
        to be kept from it. What cannot be found out counts as more."""
        try:
            changed = any(identity(path) != before for path, before in self.paths.items())
            return changed or not self.paths.keys() >= set(self.look())
        except (ToolError, OSError):
            return True


@dataclass(slots=True, eq=False)
class Process:
    """One process. `read` is how far its output was read, `why` what ends it where it does not end by itself. One that
    was sent here is `sent`: its sandbox was made for a command, and its ports are not reached (BG-08)."""

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
        """Returns how it is now. Reads files of /proc."""
        return ProcessSeen(self.id, self.command, self.loopback.ports(), dict(self.published), self.ending)


@dataclass(slots=True, eq=False)
class Foreground:
    """A command that its call waits for. `stays` says why it cannot go to the background, and `sent` is there once it
    did."""

    display: str
    stays: str
    task: asyncio.Task[CommandOutput]
    leave: Leave
    kept: Kept
    record: CallRecord
    printed: Printed
    sent: asyncio.Future[ProcessSeen] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def ended(self, printed: Progress, loopback: Loopback) -> CommandOutput:
        """Waits until it has ended by itself, and ends it where that is cancelled."""
        del printed, loopback  # those that it has are from when it began
        return await self.task


class Processes:
    """The processes of all sessions of a workspace."""

    def __init__(self, most: Callable[[], int] = lambda: MOST_RUNNING) -> None:
        self._sessions: dict[str, SessionProcesses] = {}
        self._most = most

    def of(self, session_id: str) -> SessionProcesses:
        """Returns those of one session."""
        if session_id not in self._sessions:
            self._sessions[session_id] = SessionProcesses(self)
        return self._sessions[session_id]

    @property
    def running(self) -> int:
        """How many run now."""
        return sum(each.running for each in self._sessions.values())

    @property
    def most(self) -> int:
        """How many may run."""
        return self._most()

    async def end(self, session_id: str) -> None:
        """Ends all of a session, and forgets them."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.end()

    async def close(self) -> None:
        """Ends all. Idempotent."""
        await asyncio.gather(*(each.end() for each in self._sessions.values()))


class SessionProcesses:
    """The processes of one session: what its tools see of them, and what the harness does with them."""

    def __init__(self, everywhere: Processes) -> None:
        self._everywhere = everywhere
        self._processes: dict[str, Process] = {}
        self._before: list[ProcessSeen] = []
        self._turn: Turn | None = None
        self._untold: list[tuple[str, ChangedTo, str]] = []
        self._foreground: list[Foreground] = []
        self._count = 0

    # What tools see.

    def all(self) -> tuple[ProcessSeen, ...]:
        """Returns those that run, and the last ones that have ended."""
        seen = [*self._before, *(each.seen() for each in self._processes.values())]
        return tuple(seen[-MOST_LISTED:])

    def find(self, process: str) -> ProcessSeen:
        """Returns the one with this id. Raises ToolError (`not_found`)."""
        before = next((each for each in self._before if each.id == process), None)
        return before or self._get(process).seen()

    async def read(self, process: str, awaited: Awaited) -> NewOutput:
        """Returns what is new of its output, once what is awaited came, it ended, or the time is over."""
        found = self._get(process)
        met = await _wait(found, awaited)
        data, lost = found.printed.since(found.read)
        found.read = found.printed.total
        # After it was taken: what the look does not find was not there to be printed.
        await _end_if_bare(found)
        if found.why == _LAID_BARE:
            data, lost, met = b"", 0, False
        text = await asyncio.to_thread(_text, found, data)
        return NewOutput(found.seen(), text, lost, met)

    async def near(self, process: str) -> Near:
        """Returns its ports, for a command to reach. Raises ToolError where it has ended, or listens on none."""
        found = await self._running(process)
        _require_ports(found)
        if not (ports := found.loopback.ports()):
            fix = "read what it prints; `port` waits until it listens"
            raise ToolError(f"cannot reach {process}", "it listens on no port", fix, code=ErrorCode.NOT_FOUND)
        return Near(process, found.loopback, ports)

    # What the harness does.

    @property
    def running(self) -> int:
        """How many run now."""
        return sum(each.ending is None for each in self._processes.values())

    @contextmanager
    def waiting_for(self, command: Foreground) -> Generator[None]:
        """Has a command be one that can be sent to the background, as long as its call waits for it."""
        self._foreground.append(command)
        try:
            yield
        finally:
            self._foreground.remove(command)

    def send_to_background(self) -> ProcessSeen:
        """Has the command that began last go on in the background (BG-08). Raises ToolError where that is not to be."""
        command = next((each for each in reversed(self._foreground) if not each.sent.done()), None)
        if command is None or command.task.done() or command.leave.now is None:
            raise _stays("no command runs now", "a command that waits for its turn has not begun")
        if command.stays:
            raise _stays(command.stays, "let it end, or stop the turn")
        process = self.begin(command.display, command.ended, command.kept, command.record, command.printed)
        command.leave.now(LIFE_S)
        command.sent.set_result(process.seen())
        return process.seen()

    def begin(
        self, command: str, launch: Launch, kept: Kept, record: CallRecord, printed: Printed | None = None
    ) -> Process:
        """Starts one, or takes one that runs already and has `printed` something. Raises ToolError where there are as
        many as there may be, or it cannot be audited."""
        if self._everywhere.running >= (most := self._everywhere.most):
            raise ToolError(
                "no process was started",
                f"{self._everywhere.running} run in the background, and `limits.background` allows {most}",
                "stop one of them: `list_processes` names those of this session"
                if self._everywhere.running
                else "run it by `run_command`; the person can raise `limits.background`",
                code=ErrorCode.LIMIT_REACHED,
            )
        self._count += 1
        name = f"p{self._count}"
        redact = record.redactor.redact
        process = Process(name, redact(command), record, kept, lambda text: redact(text, keep_lines=True))
        sent = {} if printed is None else {"sent": "by the person"}
        if printed is not None:
            process.printed, process.sent = printed, True
        record.record_process(AuditKind.PROCESS_STARTED, name, **sent)
        self._processes[name] = process
        process.task = asyncio.create_task(self._live(process, launch))
        process.task.add_done_callback(lambda _: self._close(process))
        self._tell(process, "started", f"{name} runs in the background: {process.command}")
        return process

    def tell_ready(self, process: Process, met: bool, within_s: float) -> None:
        """Tells the person whether what was waited for came."""
        if process.ending is None:
            how = "is ready" if met else f"was not ready within {within_s:g} s, and goes on"
            self._tell(process, "ready", f"{process.id} {how}")

    async def stop(self, process: str) -> ProcessSeen:
        """Ends one, with all that it started. Raises ToolError where there is none of this id."""
        found = self._get(process)
        await _end(found, "it was stopped")
        return found.seen()

    async def publish(self, process: str, port: int, record: CallRecord) -> str:
        """Has the machine's own loopback lead to a port of it, until it ends; returns the address. Raises ToolError."""
        found = await self._running(process)
        _require_ports(found)
        if port not in found.loopback.ports():
            fix = "name a port that it listens on: `/processes` lists them"
            raise ToolError(f"cannot publish port {port}", f"{process} does not listen on it", fix)
        if port not in found.published:
            listener = _listen(port)
            found.published[port] = f"http://127.0.0.1:{listener.getsockname()[1]}"
            record.record_process(AuditKind.PORT_PUBLISHED, process, port=str(port), address=found.published[port])
            found.serving.append(asyncio.create_task(_serve(found, listener, port)))
            self._tell(found, "published", f"port {port} of {process} is at {found.published[port]} on this machine")
        return found.published[port]

    async def end(self) -> None:
        """Ends all."""
        await asyncio.gather(*(_end(each, "its session ended") for each in self._processes.values()))

    def take_up(self, commands: Sequence[str]) -> None:
        """Lists those that an earlier server ran in this session, which ended with it."""
        if not self._count:
            self._count = len(commands)
            named = enumerate(commands, 1)
            self._before = [ProcessSeen(f"p{n}", command, ending=WITH_ITS_SERVER) for n, command in named]

    def attach(self, turn: Turn) -> None:
        """Has a turn that begins tell what became of processes since the last one, and from now on."""
        self._turn = turn
        for process, state, means in self._untold:
            self._emit(turn, process, state, means)
        self._untold.clear()

    def detach(self) -> None:
        """Keeps for the next turn what is to be told from now on."""
        self._turn = None

    def _get(self, process: str) -> Process:
        if process not in self._processes:
            known = (*(each.id for each in self._before), *self._processes)
            if (before := next((each for each in self._before if each.id == process), None)) is not None:
                raise _has_ended(before)
            raise unknown_process(process, known)
        return self._processes[process]

    async def _running(self, process: str) -> Process:
        found = self._get(process)
        await _end_if_bare(found)
        if found.ending is not None:
            raise _has_ended(found.seen())
        return found

    async def _live(self, process: Process, launch: Launch) -> None:
        """Runs it to its end, whatever that is, and tells how it ended."""
        watching = asyncio.create_task(_watch(process))
        try:
            ending = _ending(await launch(process.printed.feed, process.loopback))
        except ToolError as error:
            ending = Ending(f"it could not run: {error.why}")
        except asyncio.CancelledError:
            ending = Ending(process.why)
        except Exception:
            log.exception("process %s failed", process.id)
            ending = Ending("an internal error; the log has it")
        finally:
            for task in (watching, *process.serving):
                task.cancel()
        process.ending = ending

    def _close(self, process: Process) -> None:
        """Tells how it ended, once nothing of it is left."""
        ending = process.ending = process.ending or Ending(process.why)
        process.published.clear()
        process.printed.finish()
        if process.why == _LAID_BARE:
            # It may be in there. What was read before was looked at then.
            process.printed.forget()
        self._tell(process, "ended", f"{process.id} has ended: {ending.how}")
        try:
            process.record.record_process(AuditKind.PROCESS_ENDED, process.id, how=ending.how)
        except ToolError:
            log.exception("the end of process %s could not be audited", process.id)

    def _tell(self, process: Process, state: ChangedTo, means: str) -> None:
        if self._turn is None:
            self._untold.append((process.id, state, means))
            del self._untold[:-MOST_LISTED]
        else:
            self._emit(self._turn, process.id, state, means)

    def _emit(self, turn: Turn, process: str, state: ChangedTo, means: str) -> None:
        try:
            turn.emit(ProcessChanged(**turn.stamp(), process=process, state=state, means=means))
        except Exception:  # the client is gone
            log.warning("nobody was told of process %s", process)


def identity(path: Path) -> object:
    """Returns what tells whether a path is still the same file or folder."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _stays(why: str, fix: str) -> ToolError:
    return ToolError("nothing was sent to the background", why, fix, code=ErrorCode.NOT_FOUND)


def _require_ports(process: Process) -> None:
    """Raises ToolError where its ports are not reached, whatever it listens on."""
    if process.sent:
        why = "it was a command that was sent to the background, and its ports are not reached"
        fix = "stop it, and start it by `start_process`"
        raise ToolError(f"cannot reach {process.id}", why, fix, code=ErrorCode.NOT_FOUND)


def _has_ended(process: ProcessSeen) -> ToolError:
    how = process.ending.how if process.ending else ""
    fix = "start it again with `start_process`"
    return ToolError(f"{process.id} has ended", how, fix, code=ErrorCode.NOT_FOUND)


def _ending(output: CommandOutput) -> Ending:
    if output.exit_code is not None:
        return Ending(f"exit code {output.exit_code}", output.exit_code)
    if output.timed_out:
        return Ending("it ran as long as a process may")
    return Ending(f"it reached a limit of the sandbox: {output.stopped}")


async def _end(process: Process, why: str) -> None:
    _cancel(process, why)
    if process.task is not None:
        await asyncio.wait([process.task])


def _cancel(process: Process, why: str) -> None:
    """Has it end. Once: what clears up after it is not to be cut short."""
    if process.ending is None and not process.why and process.task is not None:
        process.why = why
        process.task.cancel()


async def _end_if_bare(process: Process) -> None:
    """Ends it before anything of it is handed on, where it may see what it should not."""
    if process.ending is None and await asyncio.to_thread(process.kept.is_bare):
        await _end(process, _LAID_BARE)


async def _watch(process: Process) -> None:
    """Ends it soon after something that it may not read was put where it can."""
    bare, took = False, 0.0
    while not bare:
        await asyncio.sleep(max(_HIDDEN_S, took * _REST))
        since = time.monotonic()
        bare = await asyncio.to_thread(process.kept.is_bare)
        took = time.monotonic() - since
    _cancel(process, _LAID_BARE)


async def _wait(process: Process, awaited: Awaited) -> bool:
    """Waits for it; returns whether it came."""
    loop = asyncio.get_running_loop()
    until, begun, looked = loop.time() + awaited.within_s, process.read, -1
    while True:
        if awaited.port and awaited.port in process.loopback.ports():
            return True
        if process.printed.total != looked:
            looked = process.printed.total
            data, _ = process.printed.since(begun)
            if awaited.text and awaited.text in await asyncio.to_thread(_text, process, data):
                return True
            if data and not awaited.text and not awaited.port:
                return True
        left = until - loop.time()
        if process.ending is not None or left <= 0:
            return False
        await process.printed.wait(min(left, _LOOK_S))


def _text(process: Process, data: bytes) -> str:
    return process.redact(data.decode(errors="replace").replace("\0", ""))


def _listen(port: int) -> socket.socket:
    """Returns a socket on the machine's loopback, on the same port where it is free. Raises ToolError."""
    for wanted in (port, 0):
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", wanted))
    why = "this machine gives no port"
    raise ToolError(f"cannot publish port {port}", why, "try again", code=ErrorCode.LIMIT_REACHED)


async def _serve(process: Process, listener: socket.socket, port: int) -> None:
    """Serves until it is cancelled. Whoever connects is of our own user, or is let in nowhere."""
    with listener:
        async with process.loopback.serving(listener, port, is_own_user):
            await asyncio.get_running_loop().create_future()
