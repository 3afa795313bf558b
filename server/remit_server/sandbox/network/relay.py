"""Opens doors inside a sandbox, hands them out, and becomes the command. Standard library only.

`python relay.py WAY PORTS SOCKETS COMMAND…`. The sockets that it makes belong to the sandbox's own network: on those
that listen, one for each of the ports, the server outside accepts, and by the others it connects to what listens here.
So no process stays here to relay, and no socket of the file system leads out. WAY is the descriptor of a socket to the
server; or the path of one, which lies beside this file, with the filter of calls that the command is to have: it waits
then until it may begin. This file is not imported outside; it is the text that the sandboxed Python runs.
"""

from __future__ import annotations

import os
import runpy
import signal
import socket
import sys

_BACKLOG = 64


def main(way: str, ports: str, sockets: int, command: list[str]) -> None:
    """Ends as a shell does where there is no such program; else this process is the command."""
    made = [_listening(int(port)) for port in ports.split(",") if port]
    made += [socket.socket() for _ in range(sockets)]
    with _outside(way) as outside:
        socket.send_fds(outside, [b"door"], [each.fileno() for each in made])
        if not way.isdigit() and not outside.recv(16):
            sys.exit("it was never let go")
    for each in made:
        each.close()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and so by what it becomes
        signal.signal(ignored, signal.SIG_DFL)
    if not way.isdigit():
        _filter_calls(os.path.dirname(way))  # noqa: PTH120
    try:
        os.execvp(command[0], command)  # noqa: S606  the sandbox is around us
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


def _outside(way: str) -> socket.socket:
    if way.isdigit():
        return socket.socket(fileno=int(way))
    outside = socket.socket(socket.AF_UNIX)
    outside.connect(way)
    return outside


def _filter_calls(folder: str) -> None:
    with open(f"{folder}/calls", "rb") as rules:  # noqa: PTH123
        runpy.run_path(f"{folder}/kernel.py")["filter_calls"](rules.read())


def _listening(port: int) -> socket.socket:
    door = socket.socket()
    door.bind(("127.0.0.1", port))
    door.listen(_BACKLOG)
    return door


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
