"""Finds the process of a sandbox that holds the other end of a connection to its proxy, as the kernel says (BOX-09)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from remit_server.machine.peers import connections, descends, has_ended
from remit_server.sandbox.limits.limits import processes_below


@dataclass(frozen=True, slots=True)
class Caller:
    """A process that connects, and the first process of the sandbox that it is in."""

    pid: int
    first: int


@dataclass(slots=True)
class SandboxProcesses:
    """The processes of one sandbox, known by its first one, with which all others end; none before `begin`."""

    _first: int = 0
    _pidfd: int = field(default=-1, repr=False)

    def begin(self, first: int) -> None:
        """Sets the sandbox's first process. Raises ProcessLookupError if that has ended already."""
        self._pidfd = os.pidfd_open(first)
        self._first = first

    def close(self) -> None:
        """Forgets the sandbox."""
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._first, self._pidfd = 0, -1

    def holds(self, pid: int) -> bool | None:
        """Returns whether a process is in the sandbox, or None if it cannot be known because either has ended."""
        if not self._first or has_ended(self._pidfd):
            return None
        if descends(pid, self._first):
            return None if has_ended(self._pidfd) else True
        return False if Path(f"/proc/{pid}").exists() else None

    def find(self, theirs: tuple[str, int], ours: tuple[str, int]) -> Caller | None:
        """Returns the process of the sandbox that has connected from `theirs` to `ours`, or None if none has.

        A process from elsewhere may have entered the sandbox's network. Its socket is in the table there, but no
        descendant of the first process holds it. Reads files of /proc.
        """
        if not self._first:
            return None
        with contextlib.suppress(OSError):
            rows = connections(Path(f"/proc/{self._first}/net"))
            inodes = {row.inode for row in rows if (row.local, row.remote) == (theirs, ours)} - {0}
            pid = _holder(inodes, processes_below(self._first)) if inodes else None
            # Check this last: if the first process still lives, its pid was not another's while we read.
            if pid is not None and descends(pid, self._first) and not has_ended(self._pidfd):
                return Caller(pid, self._first)
        return None


def _holder(inodes: Iterable[int], pids: Iterable[int]) -> int | None:
    """Returns the first of the processes that has one of these sockets open; those that end meanwhile have none."""
    names = {f"socket:[{inode}]" for inode in inodes}
    for pid in sorted(pids):
        with contextlib.suppress(OSError):
            if any(_target(f"/proc/{pid}/fd/{fd}") in names for fd in os.listdir(f"/proc/{pid}/fd")):  # noqa: PTH208  names
                return pid
    return None


def _target(link: str) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115  no path, but a name of the kernel's
    except OSError:
        return ""
