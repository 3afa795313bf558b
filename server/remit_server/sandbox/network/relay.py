"""Opens doors inside a sandbox, hands their sockets out, and becomes the command. Standard library only.

`python relay.py WAY PORTS SOCKETS COMMAND…`. The sockets that it makes belong to the sandbox's own network: the server
outside accepts on the listening ones, one for each of PORTS, and connects by the others to programs that listen inside.
So no process has to relay inside, and no socket of the file system leads out. WAY is the descriptor of a socket to the
server, or the path of one. A path lies beside this file, together with the command's seccomp filter; then this process
waits until the command may begin, passes on the descriptor that comes with that message, and stays, because nothing
else would end a container whose server was killed. The server does not import this file; the sandboxed Python runs its
text.
"""

from __future__ import annotations

import os
import runpy
import select
import signal
import socket
import sys
from typing import NoReturn

_BACKLOG = 64
_LOOK_MS = 500
_PR_SET_DUMPABLE = 4


def main(way: str, ports: str, sockets: int, command: list[str]) -> None:
    """Makes the sockets and hands them out; then becomes the command, or starts it and waits for it. Exits with a
    shell's exit codes if there is no such program."""
    made = [_listening(int(port)) for port in ports.split(",") if port]
    made += [socket.socket() for _ in range(sockets)]
    outside = _outside(way)
    socket.send_fds(outside, [b"door"], [each.fileno() for each in made])
    for each in made:
        each.close()
    if way.isdigit():
        outside.close()
        _become(command)
    _attend(outside, os.path.dirname(way), command)  # noqa: PTH120


def _attend(outside: socket.socket, folder: str, command: list[str]) -> NoReturn:
    """Starts the command once it may begin, and ends with it, or when the server is gone. This is the container's first
    process, so all others end with it."""
    said, given, _, _ = socket.recv_fds(outside, 16, 1)
    if not said:
        sys.exit("the command was never allowed to begin")
    kernel = runpy.run_path(f"{folder}/kernel.py")
    with open(f"{folder}/calls", "rb") as file:  # noqa: PTH123
        rules = file.read()
    # No other process in the container may read or write this one's memory.
    kernel["call"]("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)
    child = os.fork()
    if child == 0:
        outside.close()
        if given:
            number = int(said.split()[1])
            os.dup2(given[0], number)
            os.set_inheritable(number, True)
        kernel["filter_calls"](rules)
        _become(command)
    for each in given:
        os.close(each)
    waiting = select.poll()
    for descriptor in (outside.fileno(), os.pidfd_open(child)):
        waiting.register(descriptor, select.POLLIN)
    while not (ended := _reap(child)):
        if outside.fileno() in [descriptor for descriptor, _ in waiting.poll(_LOOK_MS)]:
            os._exit(1)
    code = os.waitstatus_to_exitcode(ended[1])
    os._exit(128 - code if code < 0 else code)


def _reap(child: int) -> tuple[int, int] | None:
    """Reaps all processes that have ended; returns the command's pid and status, once it has ended."""
    while True:
        pid, ended = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return pid, ended
        if pid == 0:
            return None


def _become(command: list[str]) -> NoReturn:
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the command would inherit that
        signal.signal(ignored, signal.SIG_DFL)
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


def _listening(port: int) -> socket.socket:
    door = socket.socket()
    door.bind(("127.0.0.1", port))
    door.listen(_BACKLOG)
    return door


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
