"""A command with much output, compared with the same command whose output is read from a pipe and dropped, alternately.

Remit: a turn with one `run_command`, with sandbox, bounded output, redaction and the editor's live output. The peer:
`subprocess`, which reads 64 KiB at a time and keeps the last 64. Beside the wall clock the table has the delay of the
event loop, which answers cancels and other sessions; it is tested every 5 ms. A command is stopped at 64 MB, so no more
is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from bench_runtime import Bench, benches, call, intent

COMMANDS = {"60 MB of `yes`": "yes | head -c 60000000", "a build log of 250,000 lines": "cat build.log"}
GOAL, LAG_GOAL_MS = 3.0, 20.0
PAUSE_S = 0.005


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    told = parser.parse_args()
    report = {name: asyncio.run(measure(line, told.rounds)) for name, line in COMMANDS.items()}
    print(json.dumps(report) if told.json else table(report))


async def measure(line: str, rounds: int) -> dict[str, float]:
    steps = [
        step
        for _ in range(rounds)
        for step in ({"calls": [intent("EXECUTE"), call("run_command", command=line)]}, {"text": "done"})
    ]
    ours, theirs, lags = list[float](), list[float](), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        async with benches(Path(folder)) as open_bench:
            bench: Bench = await open_bench(*steps)
            (bench.workspace / "build.log").write_text(build_log())
            for _ in range(rounds):
                theirs.append(bare(line, bench.workspace))
                watching = asyncio.create_task(watch(lags))
                begun = time.perf_counter()
                result = await bench.ask("go on")
                ours.append(time.perf_counter() - begun)
                watching.cancel()
                ended = bench.of("tool_result")[-1]
                assert (result.status, ended.ok) == ("completed", True), ended
    return {
        "remit_s": round(median(ours), 2),
        "peer_s": round(median(theirs), 2),
        "ratio": round(median(ours) / median(theirs), 2),
        "lag_p95_ms": round(quantiles(lags, n=20)[-1] * 1e3, 1),
        "lag_most_ms": round(max(lags) * 1e3, 1),
    }


async def watch(lags: list[float]) -> None:
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(PAUSE_S)
        lags.append(time.perf_counter() - begun - PAUSE_S)


def bare(line: str, folder: Path) -> float:
    begun = time.perf_counter()
    kept: deque[bytes] = deque(maxlen=64)
    with subprocess.Popen(["bash", "-c", line], cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while chunk := process.stdout.read1(65_536):
            kept.append(chunk)
    return time.perf_counter() - begun


def build_log() -> str:
    choose = random.Random(1)
    names = [f"module_{number}" for number in range(2_000)]
    return "".join(
        f"[{number:6}/250000] Building CXX object src/{choose.choice(names)}/CMakeFiles/{choose.choice(names)}.cpp.o\n"
        for number in range(250_000)
    )


def table(report: Mapping[str, Mapping[str, float]]) -> str:
    lines = [f"{'':34}{'remit, s':>10}{'peer, s':>10}{'ratio':>8}{'lag p95, ms':>13}{'most':>8}"]
    for name, row in report.items():
        figures = f"{row['remit_s']:10.2f}{row['peer_s']:10.2f}{row['ratio']:8.2f}"
        lines.append(f"{name:34}{figures}{row['lag_p95_ms']:13.1f}{row['lag_most_ms']:8.1f}")
    return "\n".join([*lines, f"goals: a ratio of {GOAL}, a lag of {LAG_GOAL_MS} ms"])


if __name__ == "__main__":
    main()
