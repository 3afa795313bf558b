"""Finds and kills sandboxes that a killed server left behind before their command began (BOX-06).

Once a command runs, it dies with its server. Before that, bwrap's inner process waits for permission to go on and is
not bound to its parent's life: it will never run anything, but would wait for ever.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from remit_server.machine.peers import is_dead, this_process

_MARK = b"remit-server-"


def orphan_mark() -> tuple[str, str]:
    """Returns options of bwrap(1) that have no effect, but mark all its processes with this server."""
    return "--unsetenv", f"{_MARK.decode()}{this_process()}"


def kill_orphans() -> list[int]:
    """Kills each bwrap of this user whose server is dead, and returns the killed pids. Never raises."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _is_orphan(entry) and _kill_orphan(entry)]


def _kill_orphan(entry: Path) -> bool:
    with contextlib.suppress(OSError):
        pidfd = os.pidfd_open(int(entry.name))
        try:
            # Check again, because until we held the pidfd, the pid may have become another process's.
            if _is_orphan(entry):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                return True
        finally:
            os.close(pidfd)
    return False


def _is_orphan(entry: Path) -> bool:
    """Returns whether this process is a bwrap of this user's, marked with a dead server."""
    with contextlib.suppress(OSError, ValueError):
        words = (entry / "cmdline").read_bytes().split(b"\0")
        if words[0] != b"bwrap":
            return False
        options = words[: words.index(b"--")]
        marked = options[options.index(b"--unsetenv") + 1]
        uids = next(line for line in (entry / "status").read_text().splitlines() if line.startswith("Uid:"))
        owner = marked.removeprefix(_MARK).decode() if marked.startswith(_MARK) else ""
        return int(uids.split()[1]) == os.geteuid() and is_dead(owner)
    return False
