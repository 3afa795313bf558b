"""The part of `remit hook` that runs for each call (HOK-07): asks the resident process, over its socket.

If that does not answer in time, or is of another version or another user, the caller answers in the plain way. Uses
only little of the standard library, because imports take most of a call's time.
"""

from __future__ import annotations

import os
import sys
import zlib
from _socket import AF_UNIX, SOCK_STREAM, SOL_SOCKET, socket

from remit_server import __version__

TYPE_CHECKING = False  # `typing` is most of what would be imported here
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

OFF = "REMIT_HOOK_RESIDENT"
"""The environment variable that, if it is `off`, keeps the resident process from being started and asked."""
PATIENCE_S = 5.0
MOST_BYTES = (8 << 20) + 1
AGENTS = frozenset({"claude-code", "codex", "gemini", "copilot", "cursor"})
"""The names of the agents in `agents.py`, repeated because importing that takes long."""
_SO_PEERCRED = 17
_DECIDE = ("REMIT_", "XDG_", "HOME=")


def answer_fast(agent: str, event: str = "") -> None:
    """Answers the event on standard input and exits the process; returns, with standard input as it was, if the caller
    has to answer in the plain way. `event` is its name, if the agent's text has none.
    """
    if agent not in AGENTS or os.environ.get(OFF) == "off" or sys.platform != "linux":
        return
    try:
        data = _read_all(0)
        try:
            reply = _ask(agent, event, data)
        except OSError:
            reply = None
        if reply is not None:
            _leave(*reply)
        _put_back(data)
        _start()
    except OSError:
        return


def stamp() -> str:
    """Returns a text that differs for another Remit: its version, its folder's time and inode, and its Python."""
    here = os.stat(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH116, PTH120  pathlib is an import
    return f"{__version__}:{here.st_mtime_ns}:{here.st_ino}:{sys.executable}"


def socket_place(environment: Mapping[str, str]) -> tuple[str, str]:
    """Returns the folder of the socket, and its name, which differs if Remit's files are elsewhere."""
    home = environment.get("HOME", "")
    state = environment.get("XDG_STATE_HOME", "").strip() or f"{home}/.local/state"
    folder = os.path.abspath(environment.get("REMIT_STATE_DIR") or f"{state}/remit")  # noqa: PTH100
    return f"{folder}/hooks", f"{zlib.crc32(decides(environment).encode('utf-8', 'surrogateescape')):08x}.sock"


def decides(environment: Mapping[str, str]) -> str:
    """Returns the variables that decide where Remit's files are, and how it is set."""
    return "\n".join(sorted(f"{k}={v}" for k, v in environment.items() if f"{k}=".startswith(_DECIDE)))


def pack(parts: tuple[bytes, ...]) -> bytes:
    """Returns one message: how many parts, how long each is, and the parts."""
    sizes = b"".join(len(part).to_bytes(4, "big") for part in parts)
    return len(parts).to_bytes(4, "big") + sizes + b"".join(parts)


def receive(connection: socket, most: int = 64 << 20) -> list[bytes]:
    """Returns the parts of one message. Raises OSError for anything else."""
    count = int.from_bytes(_exactly(connection, 4), "big")
    if count > 100_000:
        raise OSError("no message of ours")
    sizes = _exactly(connection, 4 * count)
    lengths = [int.from_bytes(sizes[at : at + 4], "big") for at in range(0, len(sizes), 4)]
    if sum(lengths) > most:
        raise OSError("the message is too long")
    return [_exactly(connection, length) for length in lengths]


def _exactly(connection: socket, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        data = connection.recv(min(length - len(found), 1 << 20))
        if not data:
            raise OSError("the other end is gone")
        found += data
    return bytes(found)


def _read_all(fd: int) -> bytes:
    found = bytearray()
    while len(found) < MOST_BYTES and (data := os.read(fd, 1 << 20)):
        found += data
    return bytes(found)


def _ask(agent: str, event: str, data: bytes) -> tuple[int, bytes, bytes] | None:
    """Returns exit code, output and errors from the resident process, or None if it does not serve this call."""
    folder, name = socket_place(os.environ)
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    connection = socket(AF_UNIX, SOCK_STREAM)
    try:
        cwd = os.getcwd()  # noqa: PTH109
        connection.settimeout(PATIENCE_S)
        os.chdir(folder)  # a socket's path has at most 107 bytes, and a state folder's may be longer
        connection.connect(name)
        owner = int.from_bytes(connection.getsockopt(SOL_SOCKET, _SO_PEERCRED, 12)[4:8], sys.byteorder)
        if owner != os.geteuid():
            return None
        given = [f"{k}={v}".encode("utf-8", "surrogateescape") for k, v in os.environ.items()]
        head = [stamp(), agent, event, cwd]
        connection.sendall(pack((data, *(each.encode("utf-8", "surrogateescape") for each in head), *given)))
        answer = receive(connection)
        return (int(answer[0]), answer[1], answer[2]) if len(answer) == 3 else None
    except ValueError:
        return None
    finally:
        connection.close()
        os.fchdir(here)
        os.close(here)


def _leave(code: int, out: bytes, err: bytes) -> NoReturn:
    try:
        _write_all(1, out)
        _write_all(2, err)
    except OSError:
        code = 2  # the agent could not read the answer, so the call must not go on
    os._exit(code)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _put_back(data: bytes) -> None:
    """Makes standard input begin again with what was read of it."""
    fd = os.memfd_create("event")
    _write_all(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    os.dup2(fd, 0)
    os.close(fd)


def _start() -> None:
    """Starts the resident process, for the next call."""
    import subprocess

    command = [sys.executable, "-m", "remit_server.hooks.resident.resident"]
    nothing = subprocess.DEVNULL
    subprocess.Popen(
        command, stdin=nothing, stdout=nothing, stderr=nothing, cwd="/", start_new_session=True, close_fds=True
    )
