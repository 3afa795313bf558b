"""Opens the proxy's door inside a sandbox, hands it out, and becomes the command. Standard library only.

`python relay.py DESCRIPTOR PORT COMMAND…`. The socket that it makes belongs to the sandbox's own network; the server
outside accepts on it. So no process stays here to relay, and no socket of the file system leads out. This file is not
imported outside; it is the text that the sandboxed Python runs.
"""

from __future__ import annotations

import os
import socket
import sys

_BACKLOG = 64


def main(descriptor: int, port: int, command: list[str]) -> None:
    """Ends as a shell does where there is no such program; else this process is the command."""
    with socket.socket(fileno=descriptor) as outside, socket.socket() as door:
        door.bind(("127.0.0.1", port))
        door.listen(_BACKLOG)
        socket.send_fds(outside, [b"door"], [door.fileno()])
    try:
        os.execvp(command[0], command)  # noqa: S606  the sandbox is around us
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
