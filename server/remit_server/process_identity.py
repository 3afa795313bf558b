"""Tells one process from every other one of this machine, also after its number was given away (BOX-06).

Of the standard library alone: `remit bootstrap` uses it too.
"""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from pathlib import Path


@functools.cache
def this_process() -> str:
    """`<pid namespace>-<pid>-<start>` of this process: no other has it, on this machine and until it starts anew."""
    return _identity(os.getpid()) or f"0-{os.getpid()}-0"


def is_dead(owner: str) -> bool:
    """Returns whether that process is known to be gone. One that we cannot see, of another pid namespace, is not."""
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
