"""A governed `read_file` beside the marginal cost of one more tool call in langgraph, by turns in one run.

Governed: see governed_read.py, which this takes it from. langgraph: a graph of a fake model and a `ToolNode` with one
tool that reads the same file, run once with few and once with many calls in sequence, as an agent makes them; what one
more call costs is the difference. Once as it is, with nothing governed, recorded or checkpointed, and once with its
SQLite checkpointer, every step on the disk before the next one (`durability="sync"`): that one leaves records too.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median

os.environ["LANGSMITH_TRACING"] = "false"

from governed_read import NAME, governed, prepared
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from remit_server.runtime.opening import open_runtime
from remit_server.workspace.ports import NoDocuments

FEW, MANY = 5, 35
GOAL = 1 / 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="where to work; choose the disk with it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        report = asyncio.run(measured(Path(folder), arguments.rounds))
    print(json.dumps(report) if arguments.json else table(report))


async def measured(folder: Path, rounds: int) -> dict[str, float]:
    settings = prepared(folder)
    runtime = await open_runtime(settings, NoDocuments())
    connection = sqlite3.connect(folder / "checkpoints.sqlite", check_same_thread=False)
    # As the audit log has it: a commit is on the disk when it returns.
    connection.execute("PRAGMA synchronous = FULL")
    runs = {"plain": graph(settings.workspace), "durable": graph(settings.workspace, SqliteSaver(connection))}
    ours: list[float] = []
    turns: list[float] = []
    theirs: dict[str, dict[int, list[float]]] = {name: {FEW: [], MANY: []} for name in runs}
    try:
        await governed(runtime, "warm-up")
        for number in range(-1, rounds):
            for name, run in runs.items():
                for count in (FEW, MANY):
                    taken = timed(run, count)
                    theirs[name][count] += [taken] if number >= 0 else []
            reads = await governed(runtime, f"round-{number}")
            ours += reads if number >= 0 else []
            # As langgraph's difference of whole runs has it: with what is done only now and then.
            turns += [mean(reads)] if number >= 0 else []
    finally:
        connection.close()
        await runtime.close()
    report: dict[str, float] = {}
    for kind, of in (("median", median), ("min", min)):
        report[f"remit_{kind}_us"] = round(of(ours), 1)
        report[f"remit_turn_{kind}_us"] = round(of(turns), 1)
        for name, times in theirs.items():
            # What one more call takes; the runs are compared and not their differences, which may even be negative.
            report[f"{name}_{kind}_us"] = round((of(times[MANY]) - of(times[FEW])) / (MANY - FEW), 1)
            for what in ("", "turn_"):
                ratio = report[f"remit_{what}{kind}_us"] / report[f"{name}_{kind}_us"]
                report[f"ratio_{what}{name}_{kind}"] = round(ratio, 3)
    return report


def graph(folder: Path, checkpointer: SqliteSaver | None = None) -> Callable[[int], None]:
    """Runs an agent that makes so many calls, one after the other, in a thread of its own."""

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        return (folder / path).read_text()

    calls = 0

    def model(state: MessagesState) -> dict[str, list[AIMessage]]:
        done = len(state["messages"]) // 2
        call = {"name": "read_file", "args": {"path": NAME}, "id": f"call-{done}", "type": "tool_call"}
        return {"messages": [AIMessage("", tool_calls=[call] if done < calls else [])]}

    def after_model(state: MessagesState) -> str:
        return "tools" if state["messages"][-1].tool_calls else END

    built = StateGraph(MessagesState)
    built.add_node("model", model)
    built.add_node("tools", ToolNode([read_file]))
    built.add_edge(START, "model")
    built.add_conditional_edges("model", after_model, ["tools", END])
    built.add_edge("tools", "model")
    compiled = built.compile(checkpointer=checkpointer)
    threads = itertools.count()
    durability = {"durability": "sync"} if checkpointer else {}

    def run(count: int) -> None:
        nonlocal calls
        calls = count
        config = {"recursion_limit": 2 * count + 10, "configurable": {"thread_id": str(next(threads))}}
        end = compiled.invoke({"messages": [HumanMessage("read")]}, config, **durability)
        assert len(end["messages"]) == 2 * count + 2

    return run


def timed(run: Callable[[int], None], count: int) -> float:
    """Microseconds of a run of so many calls."""
    begun = time.perf_counter()
    run(count)
    return (time.perf_counter() - begun) * 1e6


def table(report: dict[str, float]) -> str:
    met = {True: "met", False: "missed"}
    titles = {
        "plain": "langgraph, one more call",
        "durable": "the same, checkpointed",
        "remit": "governed read_file",
        "remit_turn": "the mean of a turn's reads",
    }
    lines = [f"{'microseconds':30}{'median':>10}{'min':>10}"]
    lines += [
        f"{title:30}{report[f'{name}_median_us']:10}{report[f'{name}_min_us']:10}" for name, title in titles.items()
    ]
    for name in ("plain", "durable"):
        ratio = report[f"ratio_{name}_median"]
        lines.append(f"{'ratio to ' + name:30}{ratio:10}{report[f'ratio_{name}_min']:10}")
        turn = report[f"ratio_turn_{name}_median"]
        lines.append(f"{'the same, by the mean':30}{turn:10}{report[f'ratio_turn_{name}_min']:10}")
        lines.append(f"goal, at most {GOAL} by the median: {met[ratio <= GOAL]}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
