"""A governed `read_file`, compared with a bare read and with its two records alone, alternately in one run.

Governed: a scripted model uses the real runtime; a call is timed from its `tool_call` event to its `tool_result`, so it
passes the whole dispatcher and has both audit records in the log. Recorded: two records of the same bytes, each hashed
after the one before and inserted into a plain SQLite table by itself, with the same guarantee on both sides (WAL,
`synchronous = NORMAL`: they outlive the process, and are on the disk half a second later). Bare: open, read, close. The
file is in the page cache on all sides; after the warm-up Remit remembers which rules concern its path.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles

from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.record import AuditKind, Entry
from remit_server.contract import Event, RunRequest, TextInput, ToolCallEvent, ToolResultEvent
from remit_server.harness.ports import NobodyToAsk
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments

READS = 30
NAME = "read.py"
TEXT = "".join(f"value_{number} = {number}\n" for number in range(200))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help=f"rounds of {READS} reads each")
    parser.add_argument("--folder", type=Path, help="where to work; choose the disk with it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        report = asyncio.run(measured(Path(folder), arguments.rounds))
    print(json.dumps(report) if arguments.json else table(report))


async def measured(folder: Path, rounds: int) -> dict:
    settings = prepared(folder)
    runtime = await open_runtime(settings, NoDocuments())
    times: dict[str, list[float]] = {"bare": [], "recorded": [], "governed": []}
    try:
        await governed(runtime, "warm-up")
        records = sizes(settings)
        for number in range(rounds):
            times["governed"] += await governed(runtime, f"round-{number}")
            times["bare"] += repeated((settings.workspace / NAME).read_bytes)
            times["recorded"] += recorded(folder / "plain", records)
    finally:
        await runtime.close()
    summary = {name: summarized(taken) for name, taken in times.items()}
    ratio = {
        f"to_{name}": {key: round(summary["governed"][key] / summary[name][key], 1) for key in ("median_us", "min_us")}
        for name in ("bare", "recorded")
    }
    return {
        "reads": rounds * READS,
        "file_bytes": len(TEXT),
        "record_bytes": records,
        "ratio": ratio,
        **summary,
    }


def prepared(folder: Path) -> Settings:
    """Makes a workspace with one file, and returns the settings of a model that reads it again and again."""
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / NAME).write_text(TEXT)
    select = {"name": "select_active_intent", "arguments": {"intent": "READ_FILE"}}
    read = {"name": "read_file", "arguments": {"path": NAME}}
    script = folder / "script.json"
    script.write_text(json.dumps([{"calls": [select, *[read] * READS]}, {"text": "done"}]))
    return Settings(workspace, folder / "state", folder / "no-policy.yaml").with_config(
        model={"name": f"script:{script}"}
    )


async def governed(runtime: Runtime, session: str) -> list[float]:
    """Returns the microseconds of each read in one turn."""
    times: list[float] = []
    begun = 0.0

    def on_event(event: Event) -> None:
        nonlocal begun
        now = time.perf_counter()
        match event:
            case ToolResultEvent():
                times.append((now - begun) * 1e6)
                assert event.ok, event
            case ToolCallEvent():
                begun = now
            case _:
                pass

    request = RunRequest(session_id=session, turn_id="1", input=TextInput(text="read"))
    result = await runtime.run(request, on_event, NobodyToAsk())
    assert result.status == "completed", result
    assert len(times) == READS
    return times


def sizes(settings: Settings) -> list[int]:
    """Returns the bytes of the two records of a read."""
    records = query_audit(settings.audit_database)
    kinds = (AuditKind.TOOL_INTENT, AuditKind.TOOL_OUTCOME)
    last = [next(r for r in reversed(records) if r.event.kind is kind) for kind in kinds]
    return [len(Entry.of(r.timestamp, r.event).content(r.number)) for r in last]


def recorded(path: Path, records: Sequence[int]) -> list[float]:
    """Returns the microseconds to hash and insert the bytes of two records."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for setting in ("page_size = 2048", "journal_mode = WAL", "synchronous = NORMAL"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("CREATE TABLE IF NOT EXISTS records (number INTEGER PRIMARY KEY, content TEXT, hash TEXT)")
        head = "0" * 64

        def append() -> None:
            nonlocal head
            for size in records:
                content = "x" * size
                head = hashlib.sha256((head + content).encode()).hexdigest()
                connection.execute("INSERT INTO records (content, hash) VALUES (?, ?)", (content, head))

        return repeated(append)


def repeated(work: Callable[[], object]) -> list[float]:
    times = []
    for _ in range(READS):
        begun = time.perf_counter()
        work()
        times.append((time.perf_counter() - begun) * 1e6)
    return times


def summarized(times: Sequence[float]) -> dict[str, float]:
    figures = {"median_us": median(times), "min_us": min(times), "p95_us": quantiles(times, n=20)[-1]}
    return {name: round(value, 1) for name, value in figures.items()}


def table(report: Mapping[str, dict]) -> str:
    first, second = report["record_bytes"]
    lines = [
        f"{report['reads']} reads of {report['file_bytes']} bytes, each leaving records of {first} and {second} bytes",
        "",
        f"{'microseconds':28}{'median':>10}{'min':>10}{'p95':>10}",
    ]
    labels = {"bare": "bare read", "recorded": "two records in SQLite", "governed": "governed read_file"}
    for name, label in labels.items():
        lines.append(f"{label:28}" + "".join(f"{report[name][key]:10.0f}" for key in ("median_us", "min_us", "p95_us")))
    lines.append("")
    for name, label in (("bare", "bare read"), ("recorded", "two records in SQLite")):
        ratio = report["ratio"][f"to_{name}"]
        lines.append(
            f"governed to {label:20}{ratio['median_us']:10.1f} by the median, {ratio['min_us']:.1f} by the minimum"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
