"""Who is at the other end of a Unix socket, as the kernel says (CLI-14): SO_PEERCRED on Linux, LOCAL_PEERCRED on macOS.

The pid is one of our own namespace, 0 where the peer has none there. Standard library only.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

_SO_PEERPIDFD = 77
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 0x001, 0x002
_MOST_ANCESTORS = 1_000


@dataclass(frozen=True, slots=True)
class Peer:
    """A process and its user. `pidfd` holds on to it, so that its pid cannot become another's unseen, -1 where the
    system has none (before Linux 6.5).
    """

    pid: int
    uid: int
    pidfd: int = -1

    def close(self) -> None:
        """Lets go of it."""
        if self.pidfd >= 0:
            os.close(self.pidfd)

    @property
    def has_ended(self) -> bool:
        """Whether it is known to have ended, so that its pid may be another's."""
        return self.pidfd >= 0 and has_ended(self.pidfd)


def has_ended(pidfd: int) -> bool:
    """Returns whether the process of a pidfd has ended."""
    waiting = select.poll()
    waiting.register(pidfd, select.POLLIN)
    return bool(waiting.poll(0))


def unix_peer(connection: socket.socket) -> Peer:
    """Returns who connected, or made the socket pair. Raises OSError where the system does not say."""
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
    """Returns whether a Unix socket was connected by a process of our user's."""
    try:
        peer = unix_peer(connection)
    except OSError:
        return False
    with closing(peer):
        return peer.uid == os.geteuid()


def is_from(connection: socket.socket, ancestor: int) -> bool:
    """Returns whether a Unix socket was connected by our user's process `ancestor`, or one that descends from it."""
    try:
        peer = unix_peer(connection)
    except OSError:
        return False
    with closing(peer):
        # The pidfd last: had it ended while we looked, another process might have been looked at.
        return peer.uid == os.geteuid() and descends(peer.pid, ancestor) and not peer.has_ended


def descends(pid: int, ancestor: int) -> bool:
    """Returns whether a process is `ancestor` or descends from it. An orphan descends from whoever took it over."""
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
