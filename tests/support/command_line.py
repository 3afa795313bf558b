"""The command line as a script meets it (a process and what it printed) and as a person does (a terminal)."""

from __future__ import annotations

import atexit
import functools
import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from forked_servers import AT_THE_START, REMIT, Begun, Servers
from lsp_pipe import PipeClient

PATIENCE_S = 240
LONG = 4096
"""A command with a word of this many characters or more is not forked."""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def machine_environment() -> dict[str, str]:
    """Returns the variables of the person who runs the tests, without their settings of Remit except the sandbox that
    they chose: with `REMIT_SANDBOX=landlock`, every test that starts Remit uses that sandbox."""
    return {k: v for k, v in os.environ.items() if not k.startswith("REMIT_") or k == "REMIT_SANDBOX"}


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output of a `--json` command: every line is an object."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def json(self) -> dict[str, Any]:
        (only,) = self.lines
        return only

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.lines if event.get("kind") == kind]


@dataclass(frozen=True)
class CommandLine:
    """`remit` in a workspace, with state and configuration of its own."""

    workspace: Path
    environment: Mapping[str, str]

    @staticmethod
    def alone(workspace: Path, elsewhere: Path) -> CommandLine:
        """Returns a command line that sees nothing of this machine's Remit: state and configuration are below
        `elsewhere`."""
        own = {"REMIT_STATE_DIR": str(elsewhere / "state"), "REMIT_CONFIG_DIR": str(elsewhere / "config")}
        return CommandLine(workspace, machine_environment() | own)

    @property
    def state(self) -> Path:
        return Path(self.environment["REMIT_STATE_DIR"])

    @property
    def config(self) -> Path:
        return Path(self.environment["REMIT_CONFIG_DIR"])

    def __call__(self, *words: str | bytes, stdin: str = "", before: tuple[str, ...] = (), **environment: str) -> Done:
        """Run to the end, in a forked process that has its imports already, unless the words or the environment need a
        process that is started from nothing."""
        plain = [word for word in words if isinstance(word, str) and len(word) < LONG and word.isprintable()]
        everything = {**self.environment, **environment}
        if before or len(plain) < len(words) or _settled(everything) != _settled(os.environ):
            return self.from_nothing(*words, stdin=stdin, before=before, **environment)
        return _done(*_forking().run(plain, self.workspace, everything, stdin.encode(), PATIENCE_S))

    def from_nothing(
        self, *words: str | bytes, stdin: str = "", before: tuple[str, ...] = (), **environment: str
    ) -> Done:
        """Run to the end, as a shell starts it."""
        done = subprocess.run(
            [*before, str(REMIT), *words],
            cwd=self.workspace,
            env={**self.environment, **environment},
            input=stdin.encode(),
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return _done(done.returncode, done.stdout, done.stderr)

    def in_terminal(self, *words: str, **environment: str) -> Terminal:
        return Terminal([str(REMIT), *words], self.workspace, {**self.environment, "TERM": "xterm", **environment})


def begin(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Begun | subprocess.Popen[bytes]:
    """Starts a command of `remit` with pipes. It is forked with its imports, if its environment allows that."""
    if _settled(environment) == _settled(os.environ):
        return _forking().begin(words, folder, environment)
    pipe = subprocess.PIPE
    command = [str(REMIT), *words]
    return subprocess.Popen(command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)


def start_server(environment: Mapping[str, str], before: Sequence[str] = ()) -> PipeClient:
    """Starts a server for an editor, on pipes. It is forked with its imports, unless another program starts it or its
    environment does not allow that."""
    if before or _settled(environment) != _settled(os.environ):
        return PipeClient.spawn([*before, str(REMIT), "serve"], environment)
    return _forking().fork(dict(environment))


def begin_logging(words: Sequence[str], folder: Path, environment: Mapping[str, str], file: Path) -> Begun:
    """Starts a command of `remit` that runs on without input, forked with its imports; its output and errors go to the
    file."""
    return _forking().log(words, folder, environment, file)


def _done(code: int, printed: bytes, errors: bytes) -> Done:
    """Returns the ended command. Checks that it printed no traceback, because a person must never see one."""
    out, err = printed.decode(errors="surrogateescape"), errors.decode(errors="surrogateescape")
    assert "Traceback" not in out + err, err
    return Done(code, out, err)


def _settled(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that a process reads when it starts."""
    return {name: value for name, value in environment.items() if name.startswith(AT_THE_START)}


@functools.cache
def _forking() -> Servers:
    """Returns the process that forks commands, until this process ends."""
    servers = Servers()
    atexit.register(servers.close)
    return servers


class Terminal:
    """A process in a terminal, and the person's end of the terminal, which reads and types."""

    def __init__(self, command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self._read, self._open = "", True

    @property
    def screen(self) -> str:
        return COLOUR.sub("", self._read).replace("\r\n", "\n")

    def wait_for(self, text: str, times: int = 1) -> None:
        """Waits until the text is on the screen `times` times."""
        until = time.monotonic() + PATIENCE_S
        while self.screen.count(text) < times:
            if not self._more(until):
                raise AssertionError(f"`{text}` never came:\n{self.screen}")

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C."""
        os.killpg(self._process.pid, signal.SIGINT)

    def hang_up(self) -> int:
        """Close the terminal, as when its window is closed; returns the exit code of its process."""
        os.close(self._master)
        self._open = False
        return self._process.wait(PATIENCE_S)

    def wait(self) -> int:
        """Returns the exit code, once everything was printed."""
        until = time.monotonic() + PATIENCE_S
        while self._more(until):
            pass
        assert "Traceback" not in self.screen, self.screen
        return self._process.wait(PATIENCE_S)

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._open:
            os.close(self._master)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _more(self, until: float) -> bool:
        """Read what there is; False at the end, or when patience has run out."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, until - time.monotonic()))
        try:
            data = os.read(self._master, 65536) if ready else b""
        except OSError:  # Linux raises this when no process has the other end open any more
            data = b""
        self._read += data.decode(errors="replace")
        return bool(data)
