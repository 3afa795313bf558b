"""How much a command may use, and how much it is using, read from /proc (BOX-04).

Also the table of sandbox templates, with what a command may use in each (BOX-04).
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from remit_governance.values import SandboxName
from remit_server.machine.descriptors import closing_fd
from remit_server.sandbox.bubblewrap.layer import size_below
from remit_server.sandbox.bubblewrap.seccomp import ProfileName

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one command, in bytes and counts. The kernel enforces `tasks`, which counts threads (for root as
    `pids.py` says); the totals are watched.

    `spare_bytes` have to stay free on the disk, because deleted files that are still open take room but are not seen.
    """

    processes: int = 100
    tasks: int = 400
    process_bytes: int = 1024 * MIB
    total_bytes: int = 2048 * MIB
    file_bytes: int = 256 * MIB
    scratch_bytes: int = 256 * MIB
    shared_bytes: int = 64 * MIB
    layer_bytes: int = 512 * MIB
    layer_files: int = 50_000
    spare_bytes: int = 1024 * MIB
    open_files: int = 1024
    output_factor: int = 64

    def impose(self, pid: int) -> None:
        """Sets the limits of the kernel for a process and all that it will start, none above this process's own.

        Raises OSError.
        """
        for kind, wanted in (
            (resource.RLIMIT_NPROC, self.tasks),
            (resource.RLIMIT_DATA, self.process_bytes),
            (resource.RLIMIT_FSIZE, self.file_bytes),
            (resource.RLIMIT_NOFILE, self.open_files),
            (resource.RLIMIT_CORE, 0),
        ):
            most = _lower_limit(kind, wanted)
            resource.prlimit(pid, kind, (most, most))


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process and its descendants use: processes, threads, and bytes of resident memory."""

    processes: int
    tasks: int
    resident_bytes: int

    def beyond(self, limits: Limits) -> str | None:
        """Returns in words which limit is passed, or None."""
        if self.processes > limits.processes:
            return f"more than {limits.processes} processes"
        if self.tasks > limits.tasks:
            return f"more than {limits.tasks} threads"
        if self.resident_bytes > limits.total_bytes:
            return f"more than {limits.total_bytes // MIB} MiB of memory"
        return None


def measure_usage(root: int) -> Usage:
    """Returns what the process `root` and all its descendants use; if `root` is the first of a pid namespace, orphans
    are among them."""
    found = _read_tree(root)
    resident = sum(pages for _, pages in found.values()) * resource.getpagesize()
    return Usage(len(found), sum(threads for threads, _ in found.values()), resident)


def tasks_of(user: int) -> int:
    """Returns how many threads this user has in all, because without a namespace RLIMIT_NPROC counts all of them."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            if entry.stat().st_uid == user:
                total += int(_read_stat(entry.name).rpartition(b")")[2].split()[17])
    return total


def processes_below(root: int) -> frozenset[int]:
    """Returns the pids of the process `root` and of all its descendants."""
    return frozenset(_read_tree(root))


def signal_tree(root: int, number: signal.Signals) -> None:
    """Sends a signal to the process `root` and all its descendants, also to those that appear meanwhile."""
    told: set[int] = set()
    while new := _read_tree(root).keys() - told:
        for pid in sorted(new):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        told |= new


def _read_tree(root: int) -> dict[int, tuple[int, int]]:
    """Returns the threads and resident pages of the process `root` and of all its descendants, by pid."""
    children: dict[int, list[int]] = defaultdict(list)
    used: dict[int, tuple[int, int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  names only, ten times a second
        if name.isdigit():
            # A process may end while we read its status.
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = _read_stat(name).rpartition(b")")[2].split()
                children[int(fields[1])].append(int(name))
                used[int(name)] = int(fields[17]), int(fields[21])
    found: dict[int, tuple[int, int]] = {}
    pending = [root] if root in used else []
    while pending:
        pid = pending.pop()
        found[pid] = used[pid]
        pending += children[pid]
    return found


def free_space(folder: Path) -> int:
    """Returns how many bytes are free on the folder's disk. Raises OSError."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def layer_excess(folder: Path, limits: Limits, free_before: int) -> str | None:
    """Returns in words which limit is passed by what the command wrote to the folder, or None."""
    # Check the disk too, because a removed file takes room as long as it is open, but is not seen in the folder.
    if free_space(folder) < min(limits.spare_bytes, free_before - limits.layer_bytes):
        return "the disk is nearly full"
    written, files = size_below(folder, limits.layer_files)
    if files > limits.layer_files:
        return f"more than {limits.layer_files} files written, or folders too deep"
    return f"more than {limits.layer_bytes // MIB} MiB written" if written > limits.layer_bytes else None


def _read_stat(pid: str) -> bytes:
    """Returns the process's line of /proc. Raises OSError. Uses plain descriptors, because a fork bomb makes a thousand
    processes between two looks."""
    with closing_fd(os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)) as fd:
        return os.read(fd, 4096)


def _lower_limit(kind: int, most: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


TemplateName = SandboxName

# The kernel's limits count threads, so allow this many for each process.
_THREADS = 4
# The sum of resident memory counts shared memory once for each process, so allow this many times the limit.
_SHARED = 2


@dataclass(frozen=True, slots=True)
class Template:
    """What a command of one kind of sandbox may use: `memory` in bytes, `cpus` in processors, `seconds`.

    `restricted`: no network but by a proxy, to hosts that policy names.
    """

    network: Literal["none", "restricted"]
    memory: int
    cpus: float
    processes: int
    seconds: float
    seccomp: ProfileName

    @property
    def limits(self) -> Limits:
        """The limits that are set or watched for a command."""
        return Limits(
            processes=self.processes,
            tasks=self.processes * _THREADS,
            process_bytes=self.memory,
            total_bytes=self.memory * _SHARED,
        )


TEMPLATES: dict[TemplateName, Template] = {
    "code-executor": Template("none", 1024 * MIB, 1.0, 100, 300, "standard"),
    "integration-test": Template("restricted", 1024 * MIB, 1.0, 100, 300, "standard"),
}
