"""How Remit's work grows with its input: processor time of one step at three sizes, each ten times the one before.

`python bench/growth.py` prints a table; `--plot FILE` also draws it, each work relative to its smallest size, on
logarithmic axes: a line along the dotted one grows as its size does, and a flat line does not grow. The best of three
counts, and the files are in the page cache. There is no comparison with other programs; the other measurements have
that.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from bench_runtime import benches, call, intent
from large import fill

from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.secrets.redaction import Redactor
from remit_server.contract import ModelConfig
from remit_server.harness.approval.review import unified
from remit_server.models.ports import UserMessage
from remit_server.sessions.folder import SessionFolder
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.session_file import SessionFile
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import image_of
from remit_server.workspace.paths.workspace_path import WorkspacePath

ROUNDS = 3
Curve = Sequence[tuple[int, float]]
"""Sizes, and the milliseconds of one step at each."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path, help="an SVG file to draw")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    told = parser.parse_args()
    curves: dict[str, Curve] = {}
    for name, (sizes, measure) in WORKS.items():
        curves[name] = [(size, run(measure, size)) for size in sizes]
    if told.plot:
        told.plot.write_text(plot(curves))
    print(json.dumps(curves) if told.json else table(curves))


def run(measure: Callable[[Path, int], Awaitable[float]], size: int) -> float:
    async def once(folder: Path) -> float:
        return await measure(folder, size)

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(once(Path(folder)))


def best(do: Callable[[int], object]) -> float:
    """Returns the least milliseconds of processor time; each round gets its number, so that no round repeats
    another."""
    taken: list[float] = []
    for number in range(ROUNDS):
        begun = time.process_time()
        do(number)
        taken.append((time.process_time() - begun) * 1e3)
    return min(taken)


async def listing(folder: Path, size: int) -> float:
    step = {"calls": [intent("ANALYZE"), call("list_files", pattern="src/**/*7.py")]}
    async with benches(folder) as open_bench:
        bench = await open_bench(*([step, {"text": "done"}] * (ROUNDS + 1)))
        fill(bench.workspace, size)
        return await best_turn(bench.ask)


async def turns(folder: Path, size: int) -> float:
    async with benches(folder) as open_bench:
        bench = await open_bench(*([{"text": "It is so."}] * (size + ROUNDS + 1)))
        for number in range(size):
            await bench.ask(f"question {number}")
        return await best_turn(bench.ask)


async def best_turn(ask: Callable[[str], Awaitable[object]]) -> float:
    taken: list[float] = []
    for number in range(ROUNDS + 1):
        begun = time.process_time()
        await ask(f"and now {number}?")
        taken.append((time.process_time() - begun) * 1e3)
    return min(taken)


async def rules(folder: Path, size: int) -> float:
    del folder
    rows = [
        {"name": f"r{n}", "match": {"syscall": ["fs.write"], "path_glob": [f"packages/p{n}/**"]}, "action": "allow"}
        for n in range(size)
    ]
    policy = compile_policy([Source("growth", json.dumps({"version": 1, "capabilities": rows}))])

    def decide(number: int) -> None:
        for n in range(1_000):
            form = {"syscall": "fs.write", "path": f"packages/p{n % size}/src/{number}_{n}.py", "intent": "CODE"}
            evaluate(policy, parse_action(form))

    return best(decide) / 1_000


async def records(folder: Path, size: int) -> float:
    event = AuditEvent(
        AuditKind.TOOL_INTENT, caller="model", session_id="s", turn_id="1", step=1, tool_name="read_file"
    )
    log = AuditLog(folder / "audit.sqlite3")
    for n in range(size):
        log.write(replace(event, tool_call_id=str(n)))
    return best(lambda number: query_audit(log.path, AuditFilter(tool_call_id=str(number * 7), limit=50)))


async def lines(folder: Path, size: int) -> float:
    del folder
    choose = random.Random(size)
    old = [f"    value_{n} = {choose.random()}\n" if n % 3 else "    return result\n" for n in range(size)]

    def show(number: int) -> None:
        new = list(old)
        for at in random.Random(number).sample(range(size), size // 100):
            new[at] = f"    changed = {number}\n"
        path = WorkspacePath("x.py", Path())
        unified(FileChange(path, image_of("".join(old).encode()), "".join(new).encode()))

    return best(show)


async def sessions(folder: Path, size: int) -> float:
    kept = SessionFolder(folder / "sessions")
    for number in range(size):
        recorder = Recorder(SessionFile(kept.file_of(f"s{number}")), f"s{number}", "/w", "0", Redactor().redact_json)
        recorder.begin("one", ModelConfig(provider="growth", model="growth"))
        recorder.keep(UserMessage(f"question {number}"), f"question {number}")
        recorder.file.close()
    kept.list()
    return best(lambda _: kept.list())


async def taken_up(folder: Path, size: int) -> float:
    path = folder / "session.jsonl"

    def recorder() -> Recorder:
        return Recorder(SessionFile(path), "s", "/w", "0", Redactor().redact_json)

    first = recorder()
    first.begin("one", ModelConfig(provider="growth", model="growth"))
    for number in range(size):
        first.keep(UserMessage(f"message {number}"), f"message {number}")
    first.file.close()

    def take(number: int) -> None:
        again = recorder()
        again.begin(f"again {number}", ModelConfig(provider="growth", model="growth"))
        again.file.close()

    return best(take)


WORKS: Mapping[str, tuple[Sequence[int], Callable[[Path, int], Awaitable[float]]]] = {
    "list_files, by files": ((1_000, 10_000, 100_000), listing),
    "the next turn, by turns before": ((10, 100, 1_000), turns),
    "a decision, by rules": ((10, 100, 1_000), rules),
    "a query, by audit records": ((1_000, 10_000, 100_000), records),
    "a diff of 1 % edits, by lines": ((1_000, 10_000, 100_000), lines),
    "the list of sessions, by sessions": ((10, 100, 1_000), sessions),
    "a session taken up, by messages": ((100, 1_000, 10_000), taken_up),
}


def table(curves: Mapping[str, Curve]) -> str:
    rows = [
        f"{name:36}" + "".join(f"{f'{size:,}':>10}{took:9.2f} ms" for size, took in curve)
        for name, curve in curves.items()
    ]
    return "\n".join(rows)


WIDTH, HEIGHT, LEFT, TOP, STEP = 720, 340, 60, 20, 110


def plot(curves: Mapping[str, Curve]) -> str:
    """Draws each curve relative to its first point; the sizes are one, ten and a hundred times the smallest."""

    def at(size_ratio: float, time_ratio: float) -> str:
        x, y = STEP * 1.4 * math.log10(size_ratio), STEP * math.log10(max(time_ratio, 0.5))
        return f"{LEFT + x:.1f},{TOP + 260 - y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif"',
        ' font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for ratio in (1, 10, 100):
        (x, y), (_, end) = (at(ratio, ratio).split(","), at(100, ratio).split(","))
        right = at(100, ratio).split(",")[0]
        parts.append(f'<path d="M{LEFT},{end}H{right}" stroke="#ddd"/><text x="8" y="{end}">×{ratio}</text>')
        parts.append(f'<path d="M{x},{TOP}V{TOP + 265}" stroke="#ddd"/><text x="{x}" y="{TOP + 285}">×{ratio}</text>')
    parts.append(f'<path d="M{at(1, 1)}L{at(100, 100)}" stroke="#888" stroke-dasharray="3 4"/>')
    for number, (name, curve) in enumerate(curves.items()):
        size, took = curve[0]
        points = " ".join(at(each / size, time / took) for each, time in curve)
        colour, y = COLOURS[number], TOP + 20 + 22 * number
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<path d="M400,{y - 4}h20" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="428" y="{y}">{name}: {took:.2g} to {curve[-1][1]:.2g} ms</text>')
    told = "across: the size, beside the smallest; upwards: one step's time, beside that at the smallest"
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 8}">{told}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    main()
