"""A sandboxed `true` beside `podman run` of the same, by turns in one run.

Remit: the whole of Bubblewrap's adapter, with namespaces, seccomp, limits and clean-up. Podman: `podman run --rm` of an
image of empty folders with this system's programs mounted, without network and with Podman's own seccomp profile.
`--in-a-row 5` has five runs of each before the other's turn: with warm caches, which an agent's commands seldom find.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.containers.container_image import system_image, system_paths
from remit_server.sandbox.containers.container_sandbox import Containers
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.environment import command_environment

GOAL = 1 / 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="turns of each")
    parser.add_argument("--in-a-row", type=int, default=1, help="runs in a turn")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if shutil.which("podman") is None:
        print("there is no podman: apt-get install podman runc", file=sys.stderr)
        return 1
    isolation = Containers("podman").isolation()
    if not isolation.available:
        print(f"podman does not work here: {isolation.why}", file=sys.stderr)
        return 1
    report = asyncio.run(measured(arguments.rounds, arguments.in_a_row))
    print(json.dumps(report) if arguments.json else table(report))
    return 0


async def measured(rounds: int, in_a_row: int) -> dict:
    times: dict[str, list[float]] = {"remit": [], "podman": []}
    mounts = [option for path in system_paths() for option in ("--volume", f"{path}:{path}:ro")]
    limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096")
    podman = ["podman", "run", "--rm", "--network", "none", *limits, *mounts, system_image()[0], "/bin/true"]
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        spec = CommandSpec(("/bin/true",), here, here, command_environment({}), 60)
        sandbox = Bubblewrap()
        await sandbox.run(spec)
        for _ in range(rounds):
            for _ in range(in_a_row):
                started = time.perf_counter()
                assert (await sandbox.run(spec)).exit_code == 0
                times["remit"].append(time.perf_counter() - started)
            for _ in range(in_a_row):
                started = time.perf_counter()
                await asyncio.to_thread(subprocess.run, podman, check=True)
                times["podman"].append(time.perf_counter() - started)
    report: dict = {
        name: {"median_ms": median(taken) * 1000, "minimum_ms": min(taken) * 1000} for name, taken in times.items()
    }
    ratios = {kind: report["remit"][kind] / report["podman"][kind] for kind in ("median_ms", "minimum_ms")}
    return {**report, "ratio": ratios, "goal": GOAL}


def table(report: dict) -> str:
    lines = ["| `true`, ms | median | minimum |", "|---|---|---|"]
    lines += [
        f"| {name} | {report[name]['median_ms']:.1f} | {report[name]['minimum_ms']:.1f} |"
        for name in ("remit", "podman")
    ]
    ratio = report["ratio"]
    lines.append(f"| ratio (goal {GOAL:.2f}) | {ratio['median_ms']:.3f} | {ratio['minimum_ms']:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
