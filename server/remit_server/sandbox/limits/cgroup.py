"""A control group for one command, if this user may make one (cgroups v2; BOX-04)."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from remit_server.sandbox.limits.limits import MIB, Template
from remit_server.sandbox.server_identity import find_leftovers, prefix_of

_MOUNTED = Path("/sys/fs/cgroup")
_OURS = Path("/proc/self/cgroup")
_EMPTY_S = 10.0
_PERIOD_US = 100_000


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The control group of one command; `memory` is its limit in bytes."""

    folder: Path
    memory: int

    @classmethod
    def make(cls, template: Template, parents: tuple[Path, ...] | None = None) -> ControlGroup | None:
        """Returns a fresh group below the first of `parents` where both limits can be set, or None if there is none."""
        for parent in find_parents() if parents is None else parents:
            with contextlib.suppress(OSError):
                made = cls(Path(tempfile.mkdtemp(prefix=prefix_of("group"), dir=parent)), template.memory)
                if made._limited(template):
                    return made
                made.remove()
        return None

    def joining(self) -> tuple[str, ...]:
        """Returns the words to put before an argv, so that its process and all that it starts are in the group."""
        return ("/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.folder / "cgroup.procs"))

    def stopped(self) -> str | None:
        """Returns in words why the kernel killed a process of the group, or None if it killed none."""
        with contextlib.suppress(OSError):
            for line in (self.folder / "memory.events").read_text().splitlines():
                name, _, times = line.partition(" ")
                if name == "oom_kill" and int(times):
                    return f"more than {self.memory // MIB} MiB of memory"
        return None

    def freeze(self, stop: bool) -> None:
        """Pauses all processes of the group, or lets them go on. Never raises, because a missing group is empty."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.freeze").write_text("1" if stop else "0")

    def remove(self) -> None:
        """Kills all processes of the group, and removes it. Never raises."""
        with contextlib.suppress(OSError):
            if (self.folder / "cgroup.kill").exists():
                (self.folder / "cgroup.kill").write_text("1")
        until = time.monotonic() + _EMPTY_S
        while self.folder.exists() and time.monotonic() < until:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.005)

    def _limited(self, template: Template) -> bool:
        """Sets the limits, and returns whether they could be set and processes can join. A limit's file exists only if
        its controller is enabled. May raise OSError."""
        wanted = {"memory.max": template.memory, "pids.max": template.limits.tasks}
        if not all((self.folder / name).exists() for name in wanted):
            return False
        for name, value in wanted.items():
            (self.folder / name).write_text(str(value))
        # If the controllers exist; without `cpu` a command still has a lower priority than others.
        for name, most in (("memory.swap.max", "0"), ("cpu.max", f"{round(template.cpus * _PERIOD_US)} {_PERIOD_US}")):
            with contextlib.suppress(OSError):
                (self.folder / name).write_text(most)
        return os.access(self.folder / "cgroup.procs", os.W_OK)


def clear_groups() -> None:
    """Empties and removes the control groups of servers that are dead. Never raises."""
    for parent in find_parents():
        for folder in find_leftovers(parent):
            ControlGroup(folder, 0).remove()


def find_parents(ours: Path = _OURS, mounted: Path = _MOUNTED) -> tuple[Path, ...]:
    """Returns the folders in which a group may be made: first beside the server's own group, because a group that has
    processes itself cannot set limits for groups below it; then below it."""
    # Look for this file first, because that is quick, and without version 2 there is nothing to read.
    if not (mounted / "cgroup.controllers").exists():
        return ()
    with contextlib.suppress(OSError):
        for line in ours.read_text().splitlines():
            if line.startswith("0::/"):
                group = mounted / line.removeprefix("0::/")
                above = (group.parent,) if group != mounted else ()
                return tuple(place for place in (*above, group) if os.access(place, os.W_OK))
    return ()
