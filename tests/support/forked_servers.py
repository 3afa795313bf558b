"""`remit serve` started in milliseconds: a process that has imported everything forks one server after the other.

Each server is a process of its own with pipes of its own, and runs `remit serve` from its first line; only the
imports are shared.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from types import TracebackType
from typing import Self

from lsp_pipe import PipeClient


class Servers:
    """Starts servers with an environment each; use as a context, at whose end none is left."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._clients: list[PipeClient] = []
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            # Pipes here too: Python looks at what its standard streams are when it starts.
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, pass_fds=[theirs.fileno()])

    def spawn(self, environment: dict[str, str]) -> PipeClient:
        """A server from nothing, as an editor starts it."""
        command = [sys.executable, "-m", "remit_server.cli.main", "serve"]
        self._clients.append(PipeClient.spawn(command, environment))
        return self._clients[-1]

    def fork(self, environment: dict[str, str]) -> PipeClient:
        """A server that has its imports already."""
        their_in, to_server = os.pipe()
        from_server, their_out = os.pipe()
        pid = self._ask(environment, their_in, their_out)
        self._clients.append(PipeClient(pid, from_server, to_server))
        return self._clients[-1]

    async def start(self, environment: dict[str, str], limit: int) -> ForkedProcess:
        """Like `asyncio.create_subprocess_exec` with pipes, a server that has its imports already; `limit` is that of
        a line, in bytes. Whoever starts it ends it."""
        their_in, to_server = os.pipe()
        from_server, their_out = os.pipe()
        ended, their_ended = os.pipe()
        pid = self._ask(environment, their_in, their_out, their_ended)
        return await ForkedProcess.attach(pid, to_server, from_server, ended, limit)

    def _ask(self, environment: dict[str, str], *fds: int) -> int:
        """The process id of a new server on these, which are closed here."""
        socket.send_fds(self._socket, [json.dumps(environment).encode()], fds)
        pid = int(self._socket.recv(32))
        for fd in fds:
            os.close(fd)
        return pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients:
            if not client.ended:
                client.kill()
        self._socket.close()
        self._process.communicate()


class ForkedProcess:
    """What tests use of an `asyncio.subprocess.Process`, for a server that is no child of this process."""

    def __init__(self, pid: int, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self.returncode: int | None = None
        self._ending: asyncio.Task[int]

    @classmethod
    async def attach(cls, pid: int, to_server: int, from_server: int, ended: int, limit: int) -> Self:
        """The process at the other ends of these pipes; the last says its return code."""
        loop = asyncio.get_running_loop()
        writing, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(to_server, "wb", buffering=0)
        )
        stdout, _ = await _read_pipe(from_server, limit)
        self = cls(pid, asyncio.StreamWriter(writing, protocol, None, loop), stdout)
        self._ending = asyncio.create_task(self._wait(ended))
        return self

    async def wait(self) -> int:
        """The return code, once it has ended."""
        return await asyncio.shield(self._ending)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

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


def fork_on_demand(requests: socket.socket) -> None:
    """Answer each request with the process id of a new server, until nobody asks any more."""
    # For the servers to come.
    import keyring  # noqa: F401
    import watchfiles  # noqa: F401

    import remit_server.runtime.opening
    import remit_server.transports.lsp.main  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries them
    while True:
        environment, fds, _, _ = socket.recv_fds(requests, 1 << 17, 3)
        if not environment:
            return
        pipes, ended = fds[:2], fds[2:]
        pid = fork_attended(*ended) if ended else os.fork()
        if pid == 0:
            requests.close()
            serve(json.loads(environment), pipes)
        for fd in fds:
            os.close(fd)
        requests.send(str(pid).encode())


def fork_attended(ended: int) -> int:
    """`os.fork`, with a process between the two that writes there the new one's return code once it has ended."""
    told, tell = os.pipe()
    if os.fork():
        os.close(tell)
        with os.fdopen(told) as pid:
            return int(pid.read())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # this one waits for it
    if (pid := os.fork()) == 0:
        for fd in (told, tell, ended):
            os.close(fd)
        return 0
    os.write(tell, str(pid).encode())
    # It holds none of the server's own pipes: nobody would see that they are closed.
    os.closerange(0, ended)
    os.closerange(ended + 1, 1 << 10)
    _, status = os.waitpid(pid, 0)
    os.write(ended, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def serve(environment: dict[str, str], fds: list[int]) -> None:
    """Be a server on these pipes; never returns."""
    from remit_server.cli.main import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environment)
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)
    os._exit(main(["serve"]))


if __name__ == "__main__":
    fork_on_demand(socket.socket(fileno=int(sys.argv[1])))
