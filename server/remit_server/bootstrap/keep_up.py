"""Starts the server and keeps it up: by pings and a few restarts (CLI-12, CLI-13)."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from remit_server.bootstrap.container import CannotStart, Workspace, contained, remove_orphans, signal_argv, start_argv
from remit_server.machine.peers import is_dead, is_from, is_own, this_process
from remit_server.streams.pulse import BYE, PING, PONG, SOCKET

MOST_RESTARTS = 3
WITHIN_S = 300.0
LAST_LINES = 20
DONE, FAILED = 0, 1
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Pace:
    """Limits in seconds: for a started server to connect, between pings, for their answers, and to end when told to."""

    start: float = 60.0
    ping: float = 5.0
    pong: float = 10.0
    end: float = 30.0


@dataclass(slots=True)
class Watched:
    """One run of the server; `told` is when it was told to end (0: never), `container` the program and the name of its
    container."""

    process: subprocess.Popen[bytes]
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))
    said_bye: bool = False
    told: float = 0.0
    container: tuple[str, str] | None = None

    def answers(self, connection: socket.socket) -> bool:
        """Returns whether the server made the connection. For a container only the same user can be checked
        (CLI-14)."""
        return is_own(connection) if self.container else is_from(connection, self.process.pid)


def may_restart(restarts: Sequence[float], now: float) -> bool:
    """Returns whether the server may be started again after these restarts: at most three times in five minutes."""
    return sum(now - at < WITHIN_S for at in restarts) < MOST_RESTARTS


def bootstrap(command: Sequence[str], workspace: Workspace | None = None, pace: Pace | None = None) -> int:
    """Keeps the server `command` up until it ends in order; returns its exit code, or 1 if no restart is left."""
    restarts: list[float] = []
    last: Sequence[str] = ()
    try:
        _remove_left_folders()
        if workspace is not None:
            remove_orphans(workspace.program)
        while True:
            with _started(command, workspace) as (watched, listener):
                last = watched.lines
                why = _watch(watched, listener, pace or Pace())
            if why is None:
                code = watched.process.returncode
                return code if code >= 0 else 128 - code
            now = time.monotonic()
            if not may_restart(restarts, now):
                _say(_last_words(why, last))
                return FAILED
            restarts.append(now)
            _say(f"remit: the server was restarted, {len(restarts)} of {MOST_RESTARTS} times: {why}")
    except CannotStart as error:
        _say(f"error: the server cannot run in a container\nwhy: {error.why}\nfix: {error.fix}")
    except OSError as error:
        fix = "run `remit bootstrap --check` to see what is missing"
        _say(f"error: the server cannot be started\nwhy: {error}\nfix: {fix}")
    return FAILED


def _last_words(why: str, lines: Sequence[str]) -> str:
    said = "\n".join(f"  {line}" for line in lines) or "  (nothing)"
    return (
        f"error: the server is not restarted\n"
        f"why: {why}, after {MOST_RESTARTS} restarts in {WITHIN_S / 60:.0f} minutes\n"
        f"fix: see its last lines, below, and `remit doctor`\n{said}"
    )


@contextmanager
def _started(command: Sequence[str], workspace: Workspace | None) -> Generator[tuple[Watched, socket.socket]]:
    """Starts the server with this process's standard input and output; kills it at the end if it still runs. Raises
    OSError, CannotStart."""
    with (
        tempfile.TemporaryDirectory(prefix=f"remit-bootstrap-{this_process()}-", dir=_short_folder()) as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
    ):
        listener.bind(f"{folder}/socket")
        listener.listen(1)
        making = nullcontext("") if workspace is None else contained(workspace, Path(folder), command)
        with making as name:
            argv = list(command) if workspace is None else start_argv(workspace.program, name)
            environment = {**os.environ, SOCKET: f"{folder}/socket"}
            # With a container, Ctrl-C in the terminal reaches only this process, which passes it on; otherwise the
            # container's `start` program would end before the server.
            process = subprocess.Popen(argv, stderr=subprocess.PIPE, env=environment, start_new_session=bool(name))
            watched = Watched(process, container=(workspace.program, name) if workspace is not None else None)
            reader = threading.Thread(target=_keep_lines, args=(watched,), daemon=True)
            reader.start()
            try:
                with _passing_on(watched):
                    yield watched, listener
            finally:
                _end(process)
        reader.join(5)


def _remove_left_folders() -> None:
    """Removes the folders of bootstraps that were killed."""
    for folder in Path(_short_folder()).glob("remit-bootstrap-*-*-*-*"):
        with suppress(OSError):  # another bootstrap may remove it too
            if folder.lstat().st_uid == os.getuid() and is_dead(folder.name.split("-", 2)[2].rpartition("-")[0]):
                shutil.rmtree(folder, ignore_errors=True)


def _short_folder() -> str:
    """Returns a short folder for a socket, because the socket's whole path may have only about a hundred bytes."""
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) < 40 else "/tmp"  # noqa: S108  what is made in it is private


def _watch(watched: Watched, listener: socket.socket, pace: Pace) -> str | None:
    """Watches one run to its end; returns why the server should be restarted, or None if it ended in order or was told
    to."""
    connection = _connected(watched, listener, pace)
    if connection is None:
        if _is_overdue(watched, pace):
            _end(watched.process)
        ended = _how_ended(watched.process)
        return None if watched.told else ended or f"it did not answer within {pace.start:.0f} s of its start"
    with connection:
        connection.settimeout(pace.pong)
        while _ping(watched, connection) and not _is_overdue(watched, pace):
            with suppress(subprocess.TimeoutExpired):
                watched.process.wait(pace.ping)
    with suppress(subprocess.TimeoutExpired):
        watched.process.wait(pace.end if watched.told or watched.said_bye else pace.pong)
    ended = _how_ended(watched.process)
    if watched.told:
        _end(watched.process)
        return None
    if ended is None:
        return f"it did not answer a ping within {pace.pong:.0f} s"
    return None if watched.said_bye else ended


def _connected(watched: Watched, listener: socket.socket, pace: Pace) -> socket.socket | None:
    """Waits for the server to connect to the socket; returns None if it ends before or takes too long."""
    until = time.monotonic() + pace.start
    listener.settimeout(0.1)
    while time.monotonic() < until and not _is_overdue(watched, pace):
        with suppress(TimeoutError):
            connection = listener.accept()[0]
            if watched.answers(connection):
                return connection
            connection.close()
            _say("remit: a process other than the server connected to its bootstrap, and was refused")
        if watched.process.poll() is not None:
            return None
    return None


def _is_overdue(watched: Watched, pace: Pace) -> bool:
    return watched.told > 0 and time.monotonic() - watched.told > pace.end


def _ping(watched: Watched, connection: socket.socket) -> bool:
    """Sends one ping; returns whether the pong came. A server that ends in order sends `bye` last."""
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(PING)
        answer = b""
        while not answer.endswith(b"\n"):
            chunk = connection.recv(64)
            if not chunk:
                break
            answer += chunk
    except OSError:  # a time-out among others
        return False
    watched.said_bye |= answer.endswith(BYE)
    return answer == PONG


def _how_ended(process: subprocess.Popen[bytes]) -> str | None:
    code = process.poll()
    if code is None:
        return None
    if code < 0:
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it ended unexpectedly with {code}"


@contextmanager
def _passing_on(watched: Watched) -> Generator[None]:
    """Passes signals that should end this process on to the server, which then ends in order. An ignored signal
    (`nohup`) stays ignored.
    """

    def pass_on(number: int, _: object) -> None:
        watched.told = watched.told or time.monotonic()
        if watched.container is not None:
            subprocess.Popen(signal_argv(*watched.container, number), stdout=subprocess.DEVNULL)
            return
        with suppress(ProcessLookupError):
            watched.process.send_signal(number)

    before = {number: handler for number in ENDING if (handler := signal.getsignal(number)) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _keep_lines(watched: Watched) -> None:
    """Passes on the server's standard error, and keeps its last lines."""
    assert watched.process.stderr is not None
    for line in watched.process.stderr:
        text = line.decode(errors="replace").rstrip("\n")
        watched.lines.append(text)
        _say(text)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


def _say(text: str) -> None:
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
