"""Opens doors inside a sandbox, hands them out, and becomes the command. Standard library only.

`python relay.py DESCRIPTOR PORTS SOCKETS COMMAND…`. The sockets that it makes belong to the sandbox's own network: on
those that listen, one for each of the ports, the server outside accepts, and by the others it connects to what listens
here. So no process stays here to relay, and no socket of the file system leads out. This file is not imported outside;
it is the text that the sandboxed Python runs.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

_BACKLOG = 64


def main(descriptor: int, ports: str, sockets: int, command: list[str]) -> None:
    """Ends as a shell does where there is no such program; else this process is the command."""
    made = [_listening(int(port)) for port in ports.split(",") if port]
    made += [socket.socket() for _ in range(sockets)]
    with socket.socket(fileno=descriptor) as outside:
        socket.send_fds(outside, [b"door"], [each.fileno() for each in made])
    for each in made:
        each.close()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and so by what it becomes
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606  the sandbox is around us
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


def _listening(port: int) -> socket.socket:
    door = socket.socket()
    door.bind(("127.0.0.1", port))
    door.listen(_BACKLOG)
    return door


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:])
