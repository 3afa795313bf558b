"""Which server something belongs to, so that what a dead one left can be cleared away (003 §Lifecycle)."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path

from remit_server.sandbox import etc, layer
from remit_server.sandbox.layer import Layer


@functools.cache
def this_server() -> str:
    """`<pid namespace>-<pid>-<start>` of this process: no other has it, on this machine and until it starts anew."""
    return _identity(os.getpid()) or f"0-{os.getpid()}-0"


def is_dead(owner: str) -> bool:
    """Whether that server is known to be gone. One that we cannot see, of another pid namespace, is not."""
    space, _, rest = owner.partition("-")
    pid = rest.partition("-")[0]
    ours = this_server().partition("-")[0]
    return space == ours != "0" and pid.isdigit() and _identity(int(pid)) != owner


def clear_left(area: Path) -> list[Path]:
    """Remove the folders of layers and settings below `area` whose server is dead; those removed. Never raises."""
    return [folder for prefix in (layer.PREFIX, etc.PREFIX) for folder in _cleared(area, prefix)]


def _cleared(area: Path, prefix: str) -> list[Path]:
    gone: list[Path] = []
    with contextlib.suppress(OSError):
        for folder in area.glob(f"{prefix}*"):
            owner = folder.name.removeprefix(prefix).rpartition("-")[0]
            # Never somebody else's, whatever its name says, and never through a link.
            if is_dead(owner) and folder.lstat().st_uid == os.geteuid() and not folder.is_symlink():
                Layer(folder, area).remove()
                gone += [] if folder.exists() else [folder]
    return gone


def _identity(pid: int) -> str | None:
    with contextlib.suppress(OSError, IndexError):
        space = Path("/proc/self/ns/pid").stat().st_ino
        started = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19]
        return f"{space}-{pid}-{int(started)}"
    return None
