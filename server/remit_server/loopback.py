"""Whose the other end of a connection over the loopback interface is, by the kernel's table of connections (LSP-17).

A socket of TCP names nobody itself. On Linux the table is in /proc; elsewhere lsof(8) shows it, of one's own processes.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LSOF = "/usr/sbin/lsof"


def is_own_user(connection: socket.socket) -> bool:
    """Returns whether a connection of the loopback interface, as accepted, is one of our own user's.

    Where the kernel's table does not say so, it is not.
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

    Raises OSError and SubprocessError where it cannot say, which it also does where there is none.
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
    """One end of a TCP connection; `inode` is its socket, 0 where no process has it open any more."""

    local: tuple[str, int]
    remote: tuple[str, int]
    uid: int
    inode: int


def connections(table: Path) -> Iterator[Connection]:
    """Yields the ends of connections in a network namespace, `table` being a `/proc/PID/net`. Raises OSError."""
    for name in ("tcp", "tcp6"):
        with suppress(FileNotFoundError):
            for line in (table / name).read_text().splitlines()[1:]:
                fields = line.split()
                yield Connection(_place(fields[1]), _place(fields[2]), int(fields[7]), int(fields[9]))


def _place(text: str) -> tuple[str, int]:
    """Reads an address as the kernel prints it: each word of 32 bits in the order of this machine's bytes."""
    address, _, port = text.partition(":")
    words = [address[at : at + 8] for at in range(0, len(address), 8)]
    packed = b"".join(struct.pack("=I", int(word, 16)) for word in words)
    if len(packed) == 16 and packed.startswith(b"\0" * 10 + b"\xff\xff"):
        packed = packed[12:]
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed), int(port, 16)
