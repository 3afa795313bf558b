"""Calls in large workspaces, compared with the program that does the same work, alternately in one run.

A turn with one call is timed, with gate, policy, the look for hidden files, sandbox, redaction and all audit records.
`run_command true` is compared with the same turn in a workspace of one file; `git_status` with `git status` with the
same flags; `list_files` with `rg --files`, whose names are read and counted. Each size is a repository of that many
files, and as many again that it ignores. Files are in the page cache. The first round after the start is shown
separately, because nothing is known of the folders then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from bench_runtime import Bench, benches, call, intent

SIZES = (10_000, 100_000)
CALLS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "run_command true": ("EXECUTE", call("run_command", command="true")),
    "git_status": ("ANALYZE", call("git_status")),
    "list_files": ("ANALYZE", call("list_files", pattern="*")),
}
PEERS: Mapping[str, Sequence[str]] = {
    "git_status": ("git", "status", "--porcelain=v2", "--branch", "--untracked-files=all", "-z"),
    "list_files": ("rg", "--files", "--hidden", "--glob=!.git"),
}
GOALS = {"run_command true": 1.3, "git_status": 2.0, "list_files": 2.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(measure(Path(folder), told.rounds))
    print(json.dumps(report) if told.json else table(report))


async def measure(folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    report: dict[str, dict[str, float]] = {}
    for size in SIZES:
        for name in CALLS:
            place = Path(tempfile.mkdtemp(dir=folder))
            report[f"{name}, {size:,} files"] = await beside(place, size, name, rounds)
    return report


async def beside(folder: Path, size: int, name: str, rounds: int) -> dict[str, float]:
    steps = [step for _ in range(rounds + 1) for step in ({"calls": [intent(CALLS[name][0]), CALLS[name][1]]}, DONE)]
    ours, theirs = list[float](), list[float]()
    async with benches(folder) as open_bench:
        large, small = await open_bench(*steps), await open_bench(*steps, name="small", script="small.json")
        fill(large.workspace, size)
        fill(small.workspace, 1)
        await asyncio.sleep(2.5)  # recently changed folders are examined again each time
        peer = command(PEERS[name], large.workspace) if name in PEERS else None
        first = await timed(large)
        for _ in range(rounds):
            theirs.append(await timed(small) if peer is None else peer())
            ours.append(await timed(large))
    return {
        "first_ms": round(first, 1),
        "remit_ms": round(median(ours), 1),
        "peer_ms": round(median(theirs), 1),
        "ratio": round(median(ours) / median(theirs), 2),
    }


DONE = {"text": "done"}


async def timed(bench: Bench) -> float:
    """Runs one turn, and returns its milliseconds."""
    begun = time.perf_counter()
    result = await bench.ask("go on")
    taken = (time.perf_counter() - begun) * 1e3
    assert (result.status, bench.of("tool_result")[-1].ok) == ("completed", True), bench.of("tool_result")[-1]
    return taken


def command(argv: Sequence[str], folder: Path) -> Callable[[], float]:
    def run() -> float:
        begun = time.perf_counter()
        done = subprocess.run(
            argv, cwd=folder, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"}, capture_output=True, check=True
        )
        done.stdout.count(b"\n")
        return (time.perf_counter() - begun) * 1e3

    return run


def fill(workspace: Path, size: int) -> None:
    """Makes a repository of this many files, fifty per folder, and as many that it ignores."""
    for number in range(size):
        for name in (
            f"src/m{number // 1000}/p{number // 50 % 20}/file_{number}.py",
            f"node_modules/k{number // 50}/{number}.js",
        ):
            file = workspace / name
            if number % 50 == 0:
                file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"x_{number} = {number}\n")
    (workspace / ".gitignore").write_text("node_modules/\n")
    git = ["git", "-C", str(workspace), "-c", "user.name=n", "-c", "user.email=e@x", "-c", "gc.auto=0"]
    for words in (["init", "-q", "--template="], ["add", "."], ["commit", "-qm", "all"], ["status", "-s"]):
        subprocess.run([*git, *words], check=True, stdout=subprocess.DEVNULL)
    os.sync()  # otherwise the first call waits for the disk


def table(report: Mapping[str, Mapping[str, float]]) -> str:
    lines = [f"{'milliseconds':36}{'first':>9}{'remit':>9}{'peer':>9}{'ratio':>8}{'goal':>7}"]
    for name, row in report.items():
        goal = GOALS[name.partition(",")[0]]
        figures = "".join(f"{row[key]:9.1f}" for key in ("first_ms", "remit_ms", "peer_ms"))
        lines.append(f"{name:36}{figures}{row['ratio']:8.2f}{goal:7.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
