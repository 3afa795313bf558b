"""Tells which process is at the other end of a socket, as the kernel says: of a Unix socket (CLI-14) by SO_PEERCRED on
Linux and LOCAL_PEERCRED on macOS, of a connection over the loopback interface (LSP-17) by the table of connections,
which on macOS lsof(8) shows. Also gives each process of this machine an identity that stays its own when its pid is
used again (BOX-06).

Pids are those of this process's namespace, 0 for a peer that has none there. Standard library only.
"""

from __future__ import annotations

import functools
import os
import select
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path


@functools.cache
def this_process() -> str:
    """Returns `<pid namespace>-<pid>-<start>` of this process, which no other has on this machine until it reboots."""
    return _identity(os.getpid()) or f"0-{os.getpid()}-0"


def is_dead(owner: str) -> bool:
    """Returns whether that process is known to be gone; False for one of another pid namespace, which cannot be
    seen."""
    space, _, rest = owner.partition("-")
    pid = rest.partition("-")[0]
    ours = this_process().partition("-")[0]
    return space == ours != "0" and pid.isdigit() and _identity(int(pid)) != owner


def _identity(pid: int) -> str | None:
    with suppress(OSError, IndexError):
        space = Path("/proc/self/ns/pid").stat().st_ino
        started = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19]
        return f"{space}-{pid}-{int(started)}"
    return None


_SO_PEERPIDFD = 77
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 0x001, 0x002
_MOST_ANCESTORS = 1_000


@dataclass(frozen=True, slots=True)
class Peer:
    """A process and its user. `pidfd` refers to this very process, so that a reuse of its pid is noticed; -1 if the
    system has none (before Linux 6.5).
    """

    pid: int
    uid: int
    pidfd: int = -1

    def close(self) -> None:
        """Closes the pidfd."""
        if self.pidfd >= 0:
            os.close(self.pidfd)

    @property
    def has_ended(self) -> bool:
        """Whether the process is known to have ended, so that its pid may be another's."""
        return self.pidfd >= 0 and has_ended(self.pidfd)


def has_ended(pidfd: int) -> bool:
    """Returns whether the process of a pidfd has ended."""
    waiting = select.poll()
    waiting.register(pidfd, select.POLLIN)
    return bool(waiting.poll(0))


def unix_peer(connection: socket.socket) -> Peer:
    """Returns the process that connected, or made the socket pair. Raises OSError if the system does not say."""
    if not hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 4 + 4 + 4 + 16 * 4)
        uid: int = struct.unpack_from("=II", credentials)[1]
        return Peer(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), uid)
    pid, uid, _ = struct.unpack("=iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    try:
        return Peer(pid, uid, connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD))
    except OSError:
        return Peer(pid, uid)


def is_own(connection: socket.socket) -> bool:
    """Returns whether a Unix socket was connected by a process of this user."""
    try:
        peer = unix_peer(connection)
    except OSError:
        return False
    with closing(peer):
        return peer.uid == os.geteuid()


def is_from(connection: socket.socket, ancestor: int) -> bool:
    """Returns whether a Unix socket was connected by this user's process `ancestor` or a descendant of it."""
    try:
        peer = unix_peer(connection)
    except OSError:
        return False
    with closing(peer):
        # Ask the pidfd last: if the process ended meanwhile, `descends` may have looked at another with its pid.
        return peer.uid == os.geteuid() and descends(peer.pid, ancestor) and not peer.has_ended


def descends(pid: int, ancestor: int) -> bool:
    """Returns whether a process is `ancestor` or descends from it. An orphan descends from the process that adopted
    it."""
    for _ in range(_MOST_ANCESTORS):
        if pid == ancestor:
            return True
        if pid <= 1 or (parent := _parent(pid)) is None:
            return False
        pid = parent
    return False


def _parent(pid: int) -> int | None:
    try:
        if Path("/proc/self/stat").exists():
            return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        said = subprocess.run(["/bin/ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, check=True)
        return int(said.stdout)
    except (OSError, ValueError, IndexError, subprocess.CalledProcessError):
        return None


_LSOF = "/usr/sbin/lsof"


def is_own_user(connection: socket.socket) -> bool:
    """Returns whether an accepted connection of the loopback interface comes from a process of this user.

    False if the kernel's table does not say so.
    """
    theirs, ours = connection.getpeername()[:2], connection.getsockname()[:2]
    if Path("/proc/self/net/tcp").exists():
        rows = connections(Path("/proc/self/net"))
        return any(row.uid == os.geteuid() and row.inode for row in rows if (row.local, row.remote) == (theirs, ours))
    with suppress(OSError, subprocess.SubprocessError):
        return is_listed(_LSOF, theirs, ours)
    return False


def is_listed(lsof: str, theirs: tuple[str, int], ours: tuple[str, int]) -> bool:
    """Returns whether lsof(8) lists a connection from one place to another among those of our own user's processes.

    Raises OSError and SubprocessError if lsof fails, which it also does if there is no such connection.
    """
    told = subprocess.run(
        [lsof, "-nP", "-a", "-u", str(os.geteuid()), f"-iTCP:{theirs[1]}", "-sTCP:ESTABLISHED", "-Fn"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    return f"n{_spell(theirs)}->{_spell(ours)}" in told.stdout.decode().splitlines()


def _spell(place: tuple[str, int]) -> str:
    host, port = place
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class Connection:
    """One end of a TCP connection; `inode` is its socket, 0 if no process has it open any more.

    A socket that `listens` has no connection yet.
    """

    local: tuple[str, int]
    remote: tuple[str, int]
    uid: int
    inode: int
    listens: bool = False


_LISTENS = "0A"


def connections(table: Path) -> Iterator[Connection]:
    """Yields the ends of connections in a network namespace, `table` being a `/proc/PID/net`. Raises OSError."""
    for name in ("tcp", "tcp6"):
        with suppress(FileNotFoundError):
            for line in (table / name).read_text().splitlines()[1:]:
                fields = line.split()
                yield Connection(
                    _place(fields[1]), _place(fields[2]), int(fields[7]), int(fields[9]), fields[3] == _LISTENS
                )


def _place(text: str) -> tuple[str, int]:
    """Reads an address as the kernel prints it: each word of 32 bits in the order of this machine's bytes."""
    address, _, port = text.partition(":")
    words = [address[at : at + 8] for at in range(0, len(address), 8)]
    packed = b"".join(struct.pack("=I", int(word, 16)) for word in words)
    if len(packed) == 16 and packed.startswith(b"\0" * 10 + b"\xff\xff"):
        packed = packed[12:]
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed), int(port, 16)
