"""`true` in the sandbox, compared with bare bwrap, alternately in one run: read-only, and with a layer that takes
writes.

The time is that of the sandbox's `run`, from a command to its output, with namespaces, limits, the seccomp profile and
the certain end of all processes. bwrap gets what a person would write for the same view: namespaces of its own without
network, a read-only file system, fresh /proc, /dev and /tmp. It has no limits and no seccomp profile, and hides
nothing. A bare spawn is shown too. Programs are in the page cache on all sides.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from remit_server.sandbox.choose import choose_sandbox
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.environment import command_environment

BWRAP_GOAL, NOOP_GOAL_MS = 2, 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(measured(Path(folder).resolve(), arguments.rounds))
    print(json.dumps(report) if arguments.json else table(report))


async def measured(folder: Path, rounds: int) -> dict[str, float]:
    sandbox = choose_sandbox(folder)
    read_only = CommandSpec(("/bin/true",), folder, folder, command_environment(os.environ), timeout_s=30)
    times: dict[str, list[float]] = {"spawn": [], "bwrap": [], "sandboxed": [], "with_layer": []}
    for _ in range(rounds):
        for name, argv in (("spawn", ()), ("bwrap", bare_bwrap(folder))):
            begun = time.perf_counter()
            process = await asyncio.create_subprocess_exec(*argv, "/bin/true")
            assert await process.wait() == 0
            times[name].append((time.perf_counter() - begun) * 1e3)
        for name, writes in (("sandboxed", False), ("with_layer", True)):
            begun = time.perf_counter()
            output = await sandbox.run(replace(read_only, writes=writes))
            times[name].append((time.perf_counter() - begun) * 1e3)
            assert output.exit_code == 0, output
    return {
        **{f"{name}_median_ms": round(median(taken), 2) for name, taken in times.items()},
        **{f"{name}_min_ms": round(min(taken), 2) for name, taken in times.items()},
        "ratio_median": round(median(times["sandboxed"]) / median(times["bwrap"]), 2),
        "ratio_min": round(min(times["sandboxed"]) / min(times["bwrap"]), 2),
    }


def bare_bwrap(folder: Path) -> tuple[str, ...]:
    view = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
    return ("bwrap", "--unshare-all", "--die-with-parent", *view, "--ro-bind", str(folder), str(folder))


def table(report: dict[str, float]) -> str:
    met = {True: "met", False: "missed"}
    return "\n".join(
        [
            f"{'milliseconds':30}{'median':>10}{'min':>10}",
            *(
                f"{title:30}{report[f'{name}_median_ms']:10}{report[f'{name}_min_ms']:10}"
                for title, name in (
                    ("bare spawn", "spawn"),
                    ("bare bwrap", "bwrap"),
                    ("sandboxed", "sandboxed"),
                    ("with a layer", "with_layer"),
                )
            ),
            f"{'sandboxed / bwrap':30}{report['ratio_median']:10}{report['ratio_min']:10}",
            f"goal, at most {BWRAP_GOAL} times: {met[report['ratio_median'] <= BWRAP_GOAL]}",
            f"goal, within {NOOP_GOAL_MS} ms: {met[report['with_layer_median_ms'] <= NOOP_GOAL_MS]}",
        ]
    )


if __name__ == "__main__":
    main()
