"""Starts `remit` in milliseconds: a process that has imported everything forks one command or server after the other.

Each is a process of its own with pipes, folder and environment of its own, and runs `remit` from its first line; only
the imports are shared. A test that starts commands without a fork shows that each imports what it needs
(`test_every_command_has_help_and_json`).
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NoReturn, Self

from lsp_pipe import PipeClient

REMIT = Path(sys.executable).with_name("remit")
SERVE = ("serve",)
AT_THE_START = ("LANG", "LC_", "LD_", "MALLOC_", "PYTHON", "TMP", "TZ")
"""Prefixes of variables that a process reads when it starts. A test that changes one starts `remit` without a fork."""


NEEDS: Mapping[str, tuple[str, ...]] = {
    "stdio": ("remit_server.transports.stdio.main",),
    "http": ("remit_server.transports.http.main",),
    "mcp": ("remit_server.transports.mcp.main",),
    **dict.fromkeys(("worker", "submit", "watch"), ("remit_server.transports.queue.main",)),
    "acp": ("remit_server.transports.acp.main",),
    "hook": ("remit_server.cli.commands.governance.hook",),
}
"""Modules that only one kind of command needs; they are imported for the first command of that kind."""
CLIENTS: Mapping[str, tuple[str, ...]] = {
    "openai:": (
        *("openai._streaming", "openai.resources.models", "openai.resources.chat", "httpcore2"),
        *("remit_server.models.remote.choose", "remit_server.models.remote.clients.openai_client"),
    ),
    "anthropic:": ("anthropic",),
}
"""Modules that a turn with a served model imports, by the prefix of the model's name; they take half a second."""
COMMANDS = (
    *("governance.audit", "governance.budget", "governance.policy", "models_and_tools.model", "setup.config"),
    *("setup.doctor", "setup.sandbox", "turns.ask", "turns.run_tool", "turns.session"),
)
TURNS = frozenset({"acp", "ask", "http", "mcp", "run-tool", "serve", "stdio", "worker"})
"""The commands that run turns."""
USUAL = (
    "anyio._backends._asyncio",
    "concurrent_log_handler",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "email.policy",
    "importlib_metadata",
    "keyring",
    "remit_server.runtime.opening",
    "remit_server.sandbox.containers.container_sandbox",
    "remit_server.sandbox.landlock.landlock_alone",
    "remit_server.sandbox.network.mounted_socket",
    "remit_server.sandbox.seatbelt.seatbelt",
    "remit_server.sandbox.subprocess_run",
    "remit_server.transports.lsp.main",
    "watchfiles",
    *map("remit_server.cli.commands.{}".format, COMMANDS),
)
"""Modules that most servers and commands import, sooner or later."""


class Servers:
    """Starts commands, and servers with an environment each. Use it as a context, which kills the servers at its
    end."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_at_a_time = threading.Lock()
        self._clients: list[PipeClient] = []
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            # Use pipes here too, because Python sets up its standard streams by their kind when it starts.
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, pass_fds=[theirs.fileno()])

    def spawn(self, environment: dict[str, str]) -> PipeClient:
        """Returns a server that is started without a fork, as an editor starts it."""
        command = [sys.executable, "-m", "remit_server.cli.main", "serve"]
        self._clients.append(PipeClient.spawn(command, environment))
        return self._clients[-1]

    def fork(self, environment: dict[str, str]) -> PipeClient:
        """Returns a forked server, which has its imports already."""
        their_in, to_server = os.pipe()
        from_server, their_out = os.pipe()
        pid = self._ask({"environment": environment}, (their_in, their_out))
        self._clients.append(PipeClient(pid, from_server, to_server))
        return self._clients[-1]

    async def start(self, environment: dict[str, str], limit: int, script: Path | None = None) -> ForkedProcess:
        """Forks a server, or this script, with pipes like `asyncio.create_subprocess_exec`. `limit` is the longest line
        in bytes. The caller has to end the process."""
        their_in, to_server = os.pipe()
        from_server, their_out = os.pipe()
        ended, their_ended = os.pipe()
        asked = {"environment": environment, "script": None if script is None else str(script)}
        pid = self._ask(asked, (their_in, their_out), their_ended)
        return await ForkedProcess.attach(pid, to_server, from_server, ended, limit)

    def log(self, words: Sequence[str], folder: Path, environment: Mapping[str, str], file: Path) -> Begun:
        """Starts a command of `remit` without input, which runs on; its output and errors go to a file."""
        ended, their_ended = os.pipe()
        written = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        streams = (os.open(os.devnull, os.O_RDONLY), os.open(file, written, 0o600), os.open(file, written, 0o600))
        asked = {"environment": dict(environment), "words": list(words), "folder": str(folder)}
        return Begun(self._ask(asked, streams, their_ended), None, None, ended)

    def begin(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Begun:
        """Starts a command of `remit` that runs on, like `subprocess.Popen` with pipes; its standard error is
        discarded."""
        their_in, to_command = os.pipe()
        from_command, their_out = os.pipe()
        ended, their_ended = os.pipe()
        asked = {"environment": dict(environment), "words": list(words), "folder": str(folder)}
        pid = self._ask(asked, (their_in, their_out, os.open(os.devnull, os.O_WRONLY)), their_ended)
        return Begun(pid, os.fdopen(to_command, "wb"), os.fdopen(from_command, "rb"), ended)

    def run(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], given: bytes, timeout: float
    ) -> tuple[int, bytes, bytes]:
        """Runs a command of `remit` to its end, like `subprocess.run` with pipes. Returns its return code, output and
        errors."""
        their_in, to_command = os.pipe()
        from_command, their_out = os.pipe()
        errors, their_errors = os.pipe()
        ended, their_ended = os.pipe()
        asked = {"environment": dict(environment), "words": list(words), "folder": str(folder)}
        pid = self._ask(asked, (their_in, their_out, their_errors), their_ended)
        late = threading.Timer(timeout, os.kill, (pid, signal.SIGKILL))
        late.start()
        with ThreadPoolExecutor(4) as pool:
            giving = pool.submit(_give, to_command, given)
            out, err, code = (pool.submit(_take, fd) for fd in (from_command, errors, ended))
            returned = int(code.result())
            late.cancel()
            giving.result()
            return returned, out.result(), err.result()

    def _ask(self, asked: Mapping[str, Any], streams: tuple[int, ...], *ended: int) -> int:
        """Returns the id of a new process with these descriptors, which are closed in this process."""
        fds = (*streams, *ended)
        with self._one_at_a_time:
            socket.send_fds(self._socket, [json.dumps({**asked, "streams": len(streams)}).encode()], fds)
            pid = int(self._socket.recv(32))
        for fd in fds:
            os.close(fd)
        return pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the servers that were started here, and the process that forks them."""
        for client in self._clients:
            if not client.ended:
                client.kill()
        self._socket.close()
        self._process.communicate()


class Begun:
    """What tests use of a `subprocess.Popen`, for a command that is no child of this process."""

    def __init__(self, pid: int, stdin: BinaryIO | None, stdout: BinaryIO | None, ended: int) -> None:
        self.pid, self.stdin, self.stdout, self._ended = pid, stdin, stdout, ended
        self.returncode: int | None = None
        self._one_at_a_time = threading.Lock()

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Returns the return code, once the process has ended. Raises subprocess.TimeoutExpired."""
        with self._one_at_a_time:
            if self.returncode is None:
                if not select.select([self._ended], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired("remit", timeout or 0)
                self.returncode = int(os.read(self._ended, 32))
                os.close(self._ended)
            return self.returncode

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless the process has ended, because its id may be another process's by now."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class ForkedProcess:
    """What tests use of an `asyncio.subprocess.Process`, for a server that is no child of this process."""

    def __init__(self, pid: int, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self.returncode: int | None = None
        self._ending: asyncio.Task[int]

    @classmethod
    async def attach(cls, pid: int, to_server: int, from_server: int, ended: int, limit: int) -> Self:
        """Returns the process at the other ends of these pipes; `ended` gives its return code."""
        loop = asyncio.get_running_loop()
        writing, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(to_server, "wb", buffering=0)
        )
        stdout, _ = await _read_pipe(from_server, limit)
        self = cls(pid, asyncio.StreamWriter(writing, protocol, None, loop), stdout)
        self._ending = asyncio.create_task(self._wait(ended))
        return self

    async def wait(self) -> int:
        """Returns the return code, once the process has ended."""
        return await asyncio.shield(self._ending)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    async def _wait(self, ended: int) -> int:
        reader, reading = await _read_pipe(ended, limit=32)
        self.returncode = int(await reader.read())
        reading.close()
        return self.returncode


async def _read_pipe(fd: int, limit: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader(limit)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
    )
    return reader, transport


def _give(fd: int, data: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(fd, "wb") as stream:
        stream.write(data)


def _take(fd: int) -> bytes:
    with os.fdopen(fd, "rb") as stream:
        return stream.read()


def fork_on_demand(requests: socket.socket) -> None:
    """Answer each request with the id of a new process, until the other end is closed."""
    for module in USUAL:
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the children
    while True:
        asked, fds, _, _ = socket.recv_fds(requests, 1 << 18, 4)
        if not asked:
            return
        request = json.loads(asked)
        prepare(request.get("words", SERVE), request["environment"])
        gc.freeze()
        streams, ended = fds[: request["streams"]], fds[request["streams"] :]
        pid = fork_attended(*ended) if ended else os.fork()
        if pid == 0:
            requests.close()
            begin(request, streams)
        for fd in fds:
            os.close(fd)
        requests.send(str(pid).encode())


def prepare(words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Import and prepare what this command needs in addition to `USUAL`."""
    named = [*words, environment.get("REMIT_MODEL", "")]
    for module in NEEDS.get(next(iter(words), ""), ()):
        importlib.import_module(module)
    for client, modules in CLIENTS.items():
        if any(word.startswith(client) for word in named):
            for module in modules:
                importlib.import_module(module)
    if TURNS.intersection(words[:1]):
        know_tools()
        know_policy(hooks=False)
    elif words[:1] == ["hook"]:
        know_policy(hooks=True)
    if words[:1] == ["ask"] and not any(word.startswith("script:") for word in named):
        know_phrases()


@functools.cache
def know_tools() -> None:
    """Make the tools' schemas once, because each process would have to make them again. The next functions do the
    same."""
    from remit_server.tools.table import TOOLS

    for tool in TOOLS.values():
        tool.schema  # noqa: B018


@functools.cache
def know_policy(hooks: bool) -> None:
    """Compile the packaged policy, its globs and what is known of programs and paths."""
    from remit_governance.policy.decision.risk import score_of
    from remit_governance.policy.language.load import load_policy
    from remit_governance.values import Action

    load_policy(hooks=hooks)
    for syscall in ("fs.read", "fs.write"):
        score_of(Action(syscall, path="a"))


@functools.cache
def know_phrases() -> None:
    """Compile the tables of phrases and words of the built-in model."""
    from remit_server.models.built_in.language.phrases import likely_phrases
    from remit_server.models.built_in.language.words import saying, word_table

    likely_phrases("")
    for idea in word_table():
        saying(idea)


def fork_attended(ended: int) -> int:
    """Like `os.fork`, but with a process in between that writes the new process's return code to `ended`."""
    told, tell = os.pipe()
    if os.fork():
        os.close(tell)
        with os.fdopen(told) as pid:
            return int(pid.read())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # this process waits for its child
    if (pid := os.fork()) == 0:
        for fd in (told, tell, ended):
            os.close(fd)
        return 0
    os.write(tell, str(pid).encode())
    # Close the server's own pipes here, because otherwise nobody would see when the server closes them.
    os.closerange(0, ended)
    os.closerange(ended + 1, 1 << 10)
    _, status = os.waitpid(pid, 0)
    os.write(ended, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def begin(request: Mapping[str, Any], fds: list[int]) -> None:
    """Run the requested command or script on these pipes; never returns."""
    from remit_server.cli.main import enter

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request.get("folder", "."))
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)
    if len(fds) == 3:  # the old object remembers whether its file is seekable
        sys.stderr = os.fdopen(
            2, "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace", closefd=False
        )
    script = request.get("script")
    sys.argv = [script or str(REMIT), *([] if script else request.get("words", SERVE))]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    try:
        runpy.run_path(script, run_name="__main__") if script else enter()
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        end(ended.code or 0)
    end(0)


def end(code: int) -> NoReturn:
    """End as Python does, but do not tear down the inherited modules, because that is most of a short command's
    cost."""
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # closed, or nobody reads it: Python reports that, and has a return code for it
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    fork_on_demand(socket.socket(fileno=int(sys.argv[1])))
