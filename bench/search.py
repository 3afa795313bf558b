"""`search_files`, compared with bare ripgrep, alternately in one run, in a tree of 40,000 files and in one of 100.

Remit: a call of the tool, timed from its `tool_call` event to its `tool_result`, with gate, policy, search, redaction
and two audit records that are on disk. ripgrep: the whole process with `--line-number`, whose output is read.

Neither keeps anything between calls; the files are in the system's page cache for both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from remit_server.contract import Event, RunRequest, TextInput
from remit_server.harness.ports import NobodyToAsk
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments

GOALS = {100: 2.0, 40_000: 2.0}
WORDS = [f"word{number}" for number in range(2_000)]
PATTERNS = {"nowhere": "needle_x", "in a few files": "needle", "an expression": r"needle\d+ = \w+"}
NEEDLES = 20
MOST = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--folder", type=Path, help="where to work; choose the disk with it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    report = {}
    for size in GOALS:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            report[size] = asyncio.run(measured(Path(folder), size, arguments.rounds))
    print(json.dumps(report) if arguments.json else table(report))


def grow(root: Path, size: int) -> None:
    """Makes a repository of source files of 3 KB, twenty per folder; in every size the same number have the sought
    text."""
    seeded = random.Random(size)
    (root / ".git").mkdir(parents=True)
    (root / ".gitignore").write_text("*.log\nbuild/\nnode_modules/\n")
    chosen = set(seeded.sample(range(size), NEEDLES))
    for number in range(size):
        path = root / f"package{number // 200}" / f"part{number // 20 % 10}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(seeded.choices(WORDS, k=8)) for _ in range(50)]
        lines += [f"needle{number} = {seeded.choice(WORDS)}"] if number in chosen else []
        path.write_text("\n".join(lines) + "\n")


async def measured(folder: Path, size: int, rounds: int) -> dict:
    workspace = folder / "workspace"
    grow(workspace, size)
    select = {"name": "select_active_intent", "arguments": {"intent": "ANALYZE"}}
    calls = [
        {"name": "search_files", "arguments": {"pattern": pattern, "context_lines": 0, "max_results": MOST}}
        for pattern in PATTERNS.values()
    ]
    script = folder / "script.json"
    # One step per call, because calls of one step would run at the same time.
    script.write_text(json.dumps([*({"calls": [select, call]} for call in calls), {"text": "done"}]))
    settings = Settings(workspace, folder / "state", folder / "no-policy.yaml").with_config(
        model={"name": f"script:{script}"}
    )
    runtime = await open_runtime(settings, NoDocuments())
    times: dict[str, dict[str, list[float]]] = {name: {"remit": [], "ripgrep": []} for name in PATTERNS}
    try:
        await searched(runtime, "warm-up")
        for number in range(rounds):
            found, taken = await searched(runtime, f"round-{number}")
            for name, ours, count in zip(PATTERNS, taken, found, strict=True):
                theirs, matches = bare(PATTERNS[name], workspace)
                assert count == matches, (name, count, matches)
                times[name]["remit"].append(ours)
                times[name]["ripgrep"].append(theirs)
    finally:
        await runtime.close()
    return {name: summarized(each) for name, each in times.items()}


async def searched(runtime: Runtime, session: str) -> tuple[list[int], list[float]]:
    """Returns the number of matches and the milliseconds of each call in one turn."""
    found: list[int] = []
    times: list[float] = []
    begun = 0.0

    def on_event(event: Event) -> None:
        nonlocal begun
        match event.model_dump(include={"kind", "ok", "tool", "summary"}):
            case {"kind": "tool_result", "ok": True, "summary": summary}:
                times.append((time.perf_counter() - begun) * 1e3)
                found.append(int(summary.split()[0]))
            case {"kind": "tool_result"}:
                raise AssertionError(event)
            case {"kind": "tool_call", "tool": "search_files"}:
                begun = time.perf_counter()

    request = RunRequest(session_id=session, turn_id="1", input=TextInput(text="search"))
    result = await runtime.run(request, on_event, NobodyToAsk())
    assert result.status == "completed", result
    return found, times


def bare(pattern: str, folder: Path) -> tuple[float, int]:
    begun = time.perf_counter()
    done = subprocess.run(["rg", "--line-number", pattern, "."], cwd=folder, stdout=subprocess.PIPE, check=False)
    return (time.perf_counter() - begun) * 1e3, done.stdout.count(b"\n")


def summarized(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    best = {f"{name}_min_ms": round(min(each), 2) for name, each in times.items()}
    middle = {f"{name}_median_ms": round(median(each), 2) for name, each in times.items()}
    return {
        **best,
        **middle,
        "ratio_min": round(best["remit_min_ms"] / best["ripgrep_min_ms"], 2),
        "ratio_median": round(middle["remit_median_ms"] / middle["ripgrep_median_ms"], 2),
    }


def table(report: Mapping[int, Mapping[str, Mapping[str, float]]]) -> str:
    lines = [
        f"{'milliseconds':34}{'ripgrep':>18}{'remit':>18}{'ratio':>16}",
        f"{'':34}" + f"{'median':>9}{'min':>9}" * 2,
    ]
    for size, parts in report.items():
        for name, part in parts.items():
            keys = ("ripgrep_median_ms", "ripgrep_min_ms", "remit_median_ms", "remit_min_ms")
            figures = "".join(f"{part[key]:9.1f}" for key in keys)
            ratios = f"{part['ratio_median']:9.2f}{part['ratio_min']:9.2f}"
            lines.append(f"{f'{size} files, {name}':34}{figures}{ratios}")
        worst = max(part["ratio_median"] for part in parts.values())
        lines.append(f"goal for {size} files, at most {GOALS[size]}: {'met' if worst <= GOALS[size] else 'missed'}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
