"""The background processes of a workspace's sessions, from their start to their certain end (BG-01).

Each process runs in a sandbox of its own, in an asyncio task. It ends when that task, its session or the server ends.
What it may do was judged when it was started, and it can change nothing outside its sandbox.
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
from remit_server.machine.peers import is_own_user
from remit_server.sandbox.network.loopback import Loopback
from remit_server.sandbox.ports import CommandOutput, Leave, Near, Progress
from remit_server.tools.background.seen import Awaited, Ending, NewOutput, ProcessSeen, unknown_process
from remit_server.tools.background.start_process import LIFE_S

log = logging.getLogger(__name__)

MOST_RUNNING = 4
"""Processes that may run at the same time, in all sessions of a workspace together, unless the person sets a limit."""
MOST_LISTED = 20
"""Processes of a session that are listed: the newest ones."""
_LOOK_S = 0.1
_HIDDEN_S, _REST = 1.0, 20
"""How often the hidden paths are checked: every `_HIDDEN_S` seconds, or after `_REST` times as long as a check took, if
that is longer."""
WITH_ITS_SERVER = Ending("with the server that ran it")
_LAID_BARE = "a file that it may not read was written since it started; start it again"

ChangedTo = Literal["started", "ready", "published", "ended"]


Launch = Callable[[Progress, Loopback], Coroutine[Any, Any, CommandOutput]]
"""Runs a program in its sandbox until it ends; everything else that the start needs is already bound in."""


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


@dataclass(slots=True, eq=False)
class Foreground:
    """A command that its call waits for. `stays` says why it cannot be sent to the background (empty if it can), and
    `sent` gets its result when it is sent there."""

    display: str
    stays: str
    task: asyncio.Task[CommandOutput]
    leave: Leave
    kept: Kept
    record: CallRecord
    printed: Printed
    sent: asyncio.Future[ProcessSeen] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def ended(self, printed: Progress, loopback: Loopback) -> CommandOutput:
        """Waits until the command has ended, and cancels it if the waiting is cancelled."""
        del printed, loopback  # the command has had its own ones since it began
        return await self.task


class Processes:
    """The processes of all sessions of a workspace."""

    def __init__(self, most: Callable[[], int] = lambda: MOST_RUNNING) -> None:
        self._sessions: dict[str, SessionProcesses] = {}
        self._most = most

    def of(self, session_id: str) -> SessionProcesses:
        """Returns the processes of one session."""
        if session_id not in self._sessions:
            self._sessions[session_id] = SessionProcesses(self)
        return self._sessions[session_id]

    @property
    def running(self) -> int:
        """The number of running processes, in all sessions."""
        return sum(each.running for each in self._sessions.values())

    @property
    def most(self) -> int:
        """The number of processes that may run at the same time."""
        return self._most()

    async def end(self, session_id: str) -> None:
        """Ends all processes of a session, and forgets them."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.end()

    async def close(self) -> None:
        """Ends all processes. Idempotent."""
        await asyncio.gather(*(each.end() for each in self._sessions.values()))


class SessionProcesses:
    """The processes of one session, as its tools see them and as the harness starts and ends them."""

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
        """Returns the newest processes, running or ended, at most `MOST_LISTED`."""
        seen = [*self._before, *(each.seen() for each in self._processes.values())]
        return tuple(seen[-MOST_LISTED:])

    def find(self, process: str) -> ProcessSeen:
        """Returns the process with this id. Raises ToolError (`not_found`) if there is none."""
        before = next((each for each in self._before if each.id == process), None)
        return before or self._get(process).seen()

    async def read(self, process: str, awaited: Awaited) -> NewOutput:
        """Returns the new output of a process as soon as what is awaited came, the process ended, or the time is over.

        Raises ToolError (`not_found`) if there is no such process."""
        found = self._get(process)
        met = await _wait(found, awaited)
        data, lost = found.printed.since(found.read)
        found.read = found.printed.total
        # Check only after taking the output: if the check finds nothing laid bare, nothing laid bare is in this output.
        await _end_if_bare(found)
        if found.why == _LAID_BARE:
            data, lost, met = b"", 0, False
        text = await asyncio.to_thread(_text, found, data)
        return NewOutput(found.seen(), text, lost, met)

    async def near(self, process: str) -> Near:
        """Returns the ports of a process, for a command to reach. Raises ToolError if it has ended or listens on
        none."""
        found = await self._running(process)
        _require_ports(found)
        if not (ports := found.loopback.ports()):
            fix = "read what it prints; `port` waits until it listens"
            raise ToolError(f"cannot reach {process}", "it listens on no port", fix, code=ErrorCode.NOT_FOUND)
        return Near(process, found.loopback, ports)

    # What the harness does.

    @property
    def running(self) -> int:
        """The number of running processes of this session."""
        return sum(each.ending is None for each in self._processes.values())

    @contextmanager
    def waiting_for(self, command: Foreground) -> Generator[None]:
        """Lets a command be sent to the background as long as its call waits for it."""
        self._foreground.append(command)
        try:
            yield
        finally:
            self._foreground.remove(command)

    def send_to_background(self) -> ProcessSeen:
        """Lets the command that began last go on in the background (BG-08). Raises ToolError if it cannot."""
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
        """Starts a process, or takes over a running command, whose output so far is `printed`. Raises ToolError if as
        many processes run as may, or if the start cannot be audited."""
        if self._everywhere.running >= (most := self._everywhere.most):
            raise ToolError(
                "no process was started",
                f"{self._everywhere.running} run in the background, and `limits.background` allows {most}",
                "stop one of them: `list_processes` names those of this session"
                if self._everywhere.running
                else "run it with `run_command`; the person can raise `limits.background`",
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
        """Tells the person whether the process became ready within `within_s` seconds."""
        if process.ending is None:
            how = "is ready" if met else f"was not ready within {within_s:g} s, and goes on"
            self._tell(process, "ready", f"{process.id} {how}")

    async def stop(self, process: str) -> ProcessSeen:
        """Ends a process with all its child processes. Raises ToolError if no process has this id."""
        found = self._get(process)
        await _end(found, "it was stopped")
        return found.seen()

    async def publish(self, process: str, port: int, record: CallRecord) -> str:
        """Makes a port of a process reachable on this machine's loopback until the process ends; returns the address.

        Raises ToolError if the process has ended, does not listen on the port, or cannot be reached."""
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
        """Ends all processes of the session."""
        await asyncio.gather(*(_end(each, "its session ended") for each in self._processes.values()))

    def take_up(self, commands: Sequence[str]) -> None:
        """Lists the processes that an earlier server ran in this session, as ended with that server."""
        if not self._count:
            self._count = len(commands)
            named = enumerate(commands, 1)
            self._before = [ProcessSeen(f"p{n}", command, ending=WITH_ITS_SERVER) for n, command in named]

    def attach(self, turn: Turn) -> None:
        """Reports all changes since the last turn as events of this turn, and from now on each change as it happens."""
        self._turn = turn
        for process, state, means in self._untold:
            self._emit(turn, process, state, means)
        self._untold.clear()

    def detach(self) -> None:
        """Keeps all changes from now on for the next turn."""
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
        """Runs a process until it ends, and notes how it ended."""
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
        """Reports and audits how a process ended, after its task is done."""
        ending = process.ending = process.ending or Ending(process.why)
        process.published.clear()
        process.printed.finish()
        if process.why == _LAID_BARE:
            # The output may hold what the process should not have read. Earlier output was checked when it was read.
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
    """Returns a value that changes when another file or folder takes the path's place; None if nothing is there."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _stays(why: str, fix: str) -> ToolError:
    return ToolError("nothing was sent to the background", why, fix, code=ErrorCode.NOT_FOUND)


def _require_ports(process: Process) -> None:
    """Raises ToolError if the ports of the process cannot be reached, because it was sent to the background."""
    if process.sent:
        why = "it is a command that was sent to the background, so its ports cannot be reached"
        fix = "stop it, and start it with `start_process`"
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
    """Cancels the process's task, but only once, because a second cancellation would cut its clean-up short."""
    if process.ending is None and not process.why and process.task is not None:
        process.why = why
        process.task.cancel()


async def _end_if_bare(process: Process) -> None:
    """Ends the process if it might read what it may not, before anything of it is handed on."""
    if process.ending is None and await asyncio.to_thread(process.kept.is_bare):
        await _end(process, _LAID_BARE)


async def _watch(process: Process) -> None:
    """Ends the process soon after a file that it may not read appears where it can read it."""
    bare, took = False, 0.0
    while not bare:
        await asyncio.sleep(max(_HIDDEN_S, took * _REST))
        since = time.monotonic()
        bare = await asyncio.to_thread(process.kept.is_bare)
        took = time.monotonic() - since
    _cancel(process, _LAID_BARE)


async def _wait(process: Process, awaited: Awaited) -> bool:
    """Waits for what is awaited; returns whether it came."""
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
    """Returns a socket on this machine's loopback, on the same port if it is free, else on any free port.

    Raises ToolError if there is none."""
    for wanted in (port, 0):
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", wanted))
    why = "this machine has no free port"
    raise ToolError(f"cannot publish port {port}", why, "try again", code=ErrorCode.LIMIT_REACHED)


async def _serve(process: Process, listener: socket.socket, port: int) -> None:
    """Serves the published port until the task is cancelled. Only processes of our own user may connect."""
    with listener:
        async with process.loopback.serving(listener, port, is_own_user):
            await asyncio.get_running_loop().create_future()
