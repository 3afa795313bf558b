"""What this machine has left: memory and disk (OBS-03)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path


def free_disk(folder: Path) -> int:
    """Returns the free bytes of the disk that holds a folder, which need not exist yet. Raises OSError."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return shutil.disk_usage(there).free


def free_memory() -> int | None:
    """Returns the bytes that a process here may still allocate: the least that the machine and its control groups
    leave.

    Returns None if that cannot be found out.
    """
    machine = _mac() if sys.platform == "darwin" else _linux()
    left = control_group_left(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
    return min((free for free in (machine, *left) if free is not None), default=None)


def _linux() -> int | None:
    with suppress(OSError):
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
        return int(found.group(1)) * 1024 if found else None
    return None


def _mac() -> int | None:
    try:
        text = subprocess.run(["/usr/bin/vm_stat"], capture_output=True, text=True, check=True, timeout=5).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_vm_stat(text)


def parse_vm_stat(text: str) -> int | None:
    """Returns the bytes that macOS can free at once, from the output of `vm_stat`, or None if it does not say."""
    page = re.search(r"page size of (\d+) bytes", text)
    counts = re.findall(r"^Pages (?:free|inactive|speculative|purgeable):\s+(\d+)\.", text, re.MULTILINE)
    return int(page.group(1)) * sum(map(int, counts)) if page and counts else None


def control_group_left(listing: Path, mount: Path) -> Iterator[int]:
    """Yields the bytes that each memory limit above this process leaves, for versions 2 and 1 of control groups."""
    try:
        lines = listing.read_text("utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            yield from _free_in_groups(mount, group, ("memory.max", "memory.current", "inactive_file"))
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _free_in_groups(mount / "memory", group, names)


def _free_in_groups(mount: Path, group: str, names: tuple[str, str, str]) -> Iterator[int]:
    limit_name, usage_name, cache_name = names
    for folder in _enclosing_groups(mount, group):
        try:
            limit = int((folder / limit_name).read_text("ascii"))
            usage = int((folder / usage_name).read_text("ascii"))
            stat = (folder / "memory.stat").read_text("ascii")
        except (OSError, ValueError):
            continue  # no limit here (`max`), or a group that the container does not show
        cached = re.search(rf"^{cache_name} (\d+)$", stat, re.MULTILINE)
        yield max(0, limit - usage + (int(cached.group(1)) if cached else 0))


def _enclosing_groups(mount: Path, group: str) -> Iterable[Path]:
    """Returns the folders of a group and of its ancestors. A container sees its own group as the root."""
    parts = [part for part in group.split("/") if part not in {"", ".."}]
    return [mount.joinpath(*parts[:length]) for length in range(len(parts), -1, -1)]


def used_memory() -> float:
    """Returns the share of the machine's memory that is in use, from 0 to 1; 0 if that cannot be found out."""
    free = free_memory()
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 0.0
    return 0.0 if free is None or total <= 0 else min(1.0, max(0.0, 1 - free / total))
