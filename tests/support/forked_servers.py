"""`remit serve` started in milliseconds: a process that has imported everything forks one server after the other.

Each server is a process of its own with pipes of its own, and runs `remit serve` from its first line; only the
imports are shared.
"""

from __future__ import annotations

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
        socket.send_fds(self._socket, [json.dumps(environment).encode()], [their_in, their_out])
        pid = int(self._socket.recv(32))
        os.close(their_in)
        os.close(their_out)
        self._clients.append(PipeClient(pid, from_server, to_server))
        return self._clients[-1]

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


def fork_on_demand(requests: socket.socket) -> None:
    """Answer each request with the process id of a new server, until nobody asks any more."""
    import remit_server.runtime.opening  # noqa: F401  imported for the servers to come

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries them
    while True:
        environment, fds, _, _ = socket.recv_fds(requests, 1 << 17, 2)
        if not environment:
            return
        pid = os.fork()
        if pid == 0:
            requests.close()
            serve(json.loads(environment), fds)
        for fd in fds:
            os.close(fd)
        requests.send(str(pid).encode())


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
