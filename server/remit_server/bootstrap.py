"""Starts the server and keeps it up: what it needs, ping and pong, a few restarts (CLI-11 to CLI-13).

It has to work where little else does: the standard library only, no message of the protocol, no data of the person's.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from remit_server.peers import is_from, is_own
from remit_server.pulse import BYE, PING, PONG, SOCKET

INSIDE = "/run/remit-bootstrap"
MOST_RESTARTS = 3
WITHIN_S = 300.0
LAST_LINES = 20
DONE, FAILED = 0, 1

PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "python": ("python3", "python"),
    "node": ("node",),
    "bubblewrap": ("bwrap",),
    "podman": ("podman",),
    "docker": ("docker",),
}
"""What may be needed, and the programs that it is."""

USES: Mapping[str, str] = {
    "python": "runs Remit",
    "node": "runs tests and tools of JavaScript projects",
    "bubblewrap": "runs commands in a sandbox",
    "podman": "runs commands, or Remit itself, in a container",
    "docker": "runs commands, or Remit itself, in a container",
}

INSTALL: Mapping[str, Mapping[str, str]] = {
    "debian": {
        "python": "apt install python3",
        "node": "apt install nodejs",
        "bubblewrap": "apt install bubblewrap",
        "podman": "apt install podman",
        "docker": "apt install docker.io",
    },
    "fedora": {
        "python": "dnf install python3",
        "node": "dnf install nodejs",
        "bubblewrap": "dnf install bubblewrap",
        "podman": "dnf install podman",
        "docker": "dnf install moby-engine",
    },
    "arch": {
        "python": "pacman -S python",
        "node": "pacman -S nodejs",
        "bubblewrap": "pacman -S bubblewrap",
        "podman": "pacman -S podman",
        "docker": "pacman -S docker",
    },
    "darwin": {
        "python": "brew install python",
        "node": "brew install node",
        "bubblewrap": "not for macOS, which has sandbox-exec",
        "podman": "brew install podman && podman machine init && podman machine start",
        "docker": "brew install --cask docker",
    },
    "win32": dict.fromkeys(PROGRAMS, "install it inside WSL2, and run Remit there"),
}
"""How each is installed, by system."""

FAMILIES: Mapping[str, str] = {"ubuntu": "debian", "rhel": "fedora", "centos": "fedora", "manjaro": "arch"}


class Stopped(Exception):
    """The server is not kept up any more; its text says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """One runtime: where it is, else how it is installed here."""

    name: str
    path: str | None
    install: str


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: until a started server has to say something, between two pings, until each has its answer."""

    start: float = 60.0
    ping: float = 5.0
    pong: float = 10.0


@dataclass(frozen=True, slots=True)
class Workspace:
    """A container to run the server in: the program, the image, and the folder that it may write."""

    program: str
    image: str
    folder: Path


@dataclass(slots=True)
class Watched:
    """One run of the server: its process, its last lines, and whether it said that it ends in order."""

    process: subprocess.Popen[bytes]
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))
    said_bye: bool = False
    contained: bool = False

    def answers(self, connection: socket.socket) -> bool:
        """Returns whether it is the server that connected, or of a container at least our user (CLI-14)."""
        return is_own(connection) if self.contained else is_from(connection, self.process.pid)


def this_system() -> str:
    """Returns the key of `INSTALL` for this machine; an empty text where it is none of them."""
    if not sys.platform.startswith("linux"):
        return sys.platform
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    rows = {key: value for line in text.splitlines() for key, sign, value in [line.partition("=")] if sign}
    ids = " ".join(rows.get(key, "").strip("\"'") for key in ("ID", "ID_LIKE")).split()
    return next((name for each in ids if (name := FAMILIES.get(each, each)) in INSTALL), "")


def find_runtimes(system: str, path: str | None = None) -> tuple[Found, ...]:
    """Returns every runtime, found in `path` (the PATH where it is None) or not."""
    how = INSTALL.get(system, {})
    return tuple(
        Found(
            name,
            next((at for program in programs if (at := shutil.which(program, path=path))), None),
            how.get(name, f"install {name} with this system's package manager"),
        )
        for name, programs in PROGRAMS.items()
    )


def describe_runtimes(found: Sequence[Found]) -> str:
    """Returns one line for each: where it is, or what it is for and how to get it."""
    return "\n".join(
        f"{each.name:<11}{each.path or f'not found; it {USES[each.name]}: {each.install}'}" for each in found
    )


def may_restart(restarts: Sequence[float], now: float) -> bool:
    """Returns whether the server may be started again, after these restarts: three at most in five minutes."""
    return sum(now - at < WITHIN_S for at in restarts) < MOST_RESTARTS


def container_argv(workspace: Workspace, name: str, sockets: Path, command: Sequence[str]) -> list[str]:
    """Returns the command line of the server in a container: the workspace writable, no privilege, nothing else of
    the person's.
    """
    same_user = ("--userns", "keep-id") if workspace.program == "podman" and os.getuid() else ("--user", _user())
    return [
        *(workspace.program, "run", "--rm", "--interactive", "--init", "--name", name, *same_user),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *("--volume", f"{workspace.folder}:{workspace.folder}", "--workdir", str(workspace.folder)),
        *("--volume", f"{sockets}:{INSIDE}", "--env", f"{SOCKET}={INSIDE}/socket"),
        *(workspace.image, *command),
    ]


def bootstrap(command: Sequence[str], workspace: Workspace | None = None, pace: Pace | None = None) -> int:
    """Keeps the server `command` up until it ends in order. Returns the exit code: its own, or 1 with the reason and
    its last lines on standard error.
    """
    restarts: list[float] = []
    last: Sequence[str] = ()
    while True:
        try:
            with _started(command, workspace) as (watched, listener):
                last = watched.lines
                why = _watch(watched, listener, pace or Pace())
                if why is None:
                    return watched.process.returncode
        except OSError as error:
            why = f"it cannot be started: {error}"
        now = time.monotonic()
        if not may_restart(restarts, now):
            _say(_last_words(why, last))
            return FAILED
        restarts.append(now)
        _say(f"remit: the server is started again, {len(restarts)} of {MOST_RESTARTS} times: {why}")


def _last_words(why: str, lines: Sequence[str]) -> str:
    said = "\n".join(f"  {line}" for line in lines) or "  (nothing)"
    return (
        f"error: the server is not started again\n"
        f"why: {why}, after {MOST_RESTARTS} restarts in {WITHIN_S / 60:.0f} minutes\n"
        f"fix: see its last lines, below, and `remit doctor`\n{said}"
    )


@contextmanager
def _started(command: Sequence[str], workspace: Workspace | None) -> Generator[tuple[Watched, socket.socket]]:
    """Starts the server with our standard input and output; whatever is left of it is ended. Raises OSError."""
    with (
        tempfile.TemporaryDirectory(prefix="remit-bootstrap-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
    ):
        listener.bind(f"{folder}/socket")
        listener.listen(1)
        name = f"remit-workspace-{secrets.token_hex(6)}"
        argv = list(command) if workspace is None else container_argv(workspace, name, Path(folder), command)
        environment = {**os.environ, SOCKET: f"{folder}/socket"}
        process = subprocess.Popen(argv, stderr=subprocess.PIPE, env=environment)
        watched = Watched(process, contained=workspace is not None)
        reader = threading.Thread(target=_keep_lines, args=(watched,), daemon=True)
        reader.start()
        try:
            with _passing_on(process):
                yield watched, listener
        finally:
            _end(process)
            if workspace is not None:
                subprocess.run([workspace.program, "rm", "--force", name], check=False, capture_output=True)
            reader.join(5)


def _watch(watched: Watched, listener: socket.socket, pace: Pace) -> str | None:
    """Watches one run to its end; returns why it is to be started again, None where it ended in order."""
    connection = _connected(watched, listener, pace)
    if connection is None:
        return _how_ended(watched.process) or f"it did not answer within {pace.start:.0f} s of its start"
    with connection:
        connection.settimeout(pace.pong)
        while _ping(watched, connection):
            with suppress(subprocess.TimeoutExpired):
                watched.process.wait(pace.ping)
    with suppress(subprocess.TimeoutExpired):
        watched.process.wait(pace.pong)
    ended = _how_ended(watched.process)
    if ended is None:
        return f"it did not answer a ping within {pace.pong:.0f} s"
    return None if watched.said_bye else ended


def _connected(watched: Watched, listener: socket.socket, pace: Pace) -> socket.socket | None:
    """Waits for the server to come to the socket; None where it ends before, or takes too long."""
    until = time.monotonic() + pace.start
    listener.settimeout(0.1)
    while time.monotonic() < until:
        with suppress(TimeoutError):
            connection = listener.accept()[0]
            if watched.answers(connection):
                return connection
            connection.close()
            _say("remit: another process than the server connected to its bootstrap, and was refused")
        if watched.process.poll() is not None:
            return None
    return None


def _ping(watched: Watched, connection: socket.socket) -> bool:
    """Sends one ping; returns whether the pong came. What comes last of a server that ends in order is its `bye`."""
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
    return f"it ended with {code}, and not in order"


@contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Generator[None]:
    """Signals that are meant to end us end the server, which then says that it ends in order."""

    def pass_on(number: int, _: object) -> None:
        with suppress(ProcessLookupError):
            process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _keep_lines(watched: Watched) -> None:
    """Passes on what the server says on standard error, and keeps the last of it."""
    assert watched.process.stderr is not None
    for line in watched.process.stderr:
        text = line.decode(errors="replace").rstrip("\n")
        watched.lines.append(text)
        _say(text)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


def _user() -> str:
    return f"{os.getuid() or 65534}:{os.getgid() or 65534}"


def _say(text: str) -> None:
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
