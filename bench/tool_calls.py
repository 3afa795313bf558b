"""What one more tool call costs a whole turn, in Remit and in langgraph, alternately in one run: both read another file
of the same size with each call; once each call has a model step of its own, and once one step has all calls.

Remit: a scripted model, which declares an intent in each step, and the whole dispatcher: policy, permit, redaction and
two audit records. langgraph: a graph of a fake model and a `ToolNode` with one tool that reads the file. It runs once
plain, with nothing governed, recorded or checkpointed, and once with its SQLite checkpointer, with every step on the
disk before the next one (`durability="sync"`), so that it leaves records too. No turn reads a file twice, sessions are
new, and the operating system has all files cached. The cost of a call is the extra time of a turn of many calls over
one of few, divided by the number of extra calls.
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
from contextlib import AsyncExitStack, closing
from pathlib import Path
from statistics import median

os.environ["LANGSMITH_TRACING"] = "false"

from governed_read import TEXT, prepared
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from remit_server.contract import RunRequest, TextInput
from remit_server.harness.ports import NobodyToAsk
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments

FEW, MANY = 5, 30  # a step may have at most 32
GOAL = 0.4
Times = tuple[float, float]
"""Microseconds of a turn by the clock, and of processor time in all threads."""

KINDS: dict[str, Callable[[list[Times]], float]] = {
    "median": lambda turns: median(wall for wall, _ in turns),
    "min": lambda turns: min(wall for wall, _ in turns),
    "processor": lambda turns: median(used for _, used in turns),
}
WAYS = {"step": "a step each", "together": "all in one step"}
SIDES = {"remit": "remit", "plain": "langgraph", "durable": "langgraph, checkpointed"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="where to work; choose the disk with it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        report = asyncio.run(measured(Path(folder), arguments.rounds))
    print(json.dumps(report) if arguments.json else table(report))


async def measured(folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Returns by way and side the microseconds of one more call."""
    times: dict[tuple[str, str, int], list[Times]] = {}
    async with AsyncExitStack() as stack:
        opened = {}
        for way, count in itertools.product(WAYS, (FEW, MANY)):
            runtime = await turns(folder / f"{way}-{count}", way, count)
            stack.push_async_callback(runtime.close)
            opened[way, count] = runtime
        connection = stack.enter_context(closing(sqlite3.connect(folder / "c.sqlite", check_same_thread=False)))
        # A commit returns only after it is on the disk.
        connection.execute("PRAGMA synchronous = FULL")
        workspace = folder / f"step-{MANY}" / "workspace"
        graphs = {"plain": graph(workspace), "durable": graph(workspace, SqliteSaver(connection))}
        for number in range(-1, rounds):
            for way, count in itertools.product(WAYS, (FEW, MANY)):
                taken = {side: timed(run, count, way) for side, run in graphs.items()}
                taken["remit"] = await governed(opened[way, count], f"round-{number}", count)
                for side, each in taken.items():
                    times.setdefault((way, side, count), []).extend([each] if number >= 0 else [])
    return {
        way: {
            # Compare the statistics of the runs and not single differences, which may even be negative.
            f"{side}_{kind}_us": round((of(times[way, side, MANY]) - of(times[way, side, FEW])) / (MANY - FEW), 1)
            for side in SIDES
            for kind, of in KINDS.items()
        }
        for way in WAYS
    }


async def turns(folder: Path, way: str, count: int) -> Runtime:
    """Opens a runtime whose model makes this many calls in each turn."""
    settings = prepared_files(folder, count)
    select = {"name": "select_active_intent", "arguments": {"intent": "READ_FILE"}}
    reads = [{"name": "read_file", "arguments": {"path": name(number)}} for number in range(count)]
    steps = [[read] for read in reads] if way == "step" else [reads]
    script = folder / "calls.json"
    script.write_text(json.dumps([*({"calls": [select, *calls]} for calls in steps), {"text": "done"}]))
    return await open_runtime(
        settings.with_config(model={"name": f"script:{script}"}, limits={"max_steps": MANY + 1}), NoDocuments()
    )


def prepared_files(folder: Path, count: int) -> Settings:
    folder.mkdir()
    settings = prepared(folder)
    for number in range(count):
        (settings.workspace / name(number)).write_text(TEXT)
    return settings


def name(number: int) -> str:
    return f"read-{number}.py"


async def governed(runtime: Runtime, session: str, count: int) -> Times:
    request = RunRequest(session_id=session, turn_id="1", input=TextInput(text="read"))
    begun = clocks()
    result = await runtime.run(request, lambda event: None, NobodyToAsk())
    taken = since(begun)
    assert (result.status, len(result.tool_trace)) == ("completed", count), result.error
    return taken


def graph(folder: Path, checkpointer: SqliteSaver | None = None) -> Callable[[int, str], None]:
    """Returns a function that runs an agent with this many calls, one per step or all in one, in a thread of its
    own."""

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        return (folder / path).read_text()

    calls, each = 0, 1

    def model(state: MessagesState) -> dict[str, list[AIMessage]]:
        done = sum(message.type == "tool" for message in state["messages"])
        wanted = range(done, min(done + each, calls))
        asked = [
            {"name": "read_file", "args": {"path": name(n)}, "id": f"call-{n}", "type": "tool_call"} for n in wanted
        ]
        return {"messages": [AIMessage("", tool_calls=asked)]}

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

    def run(count: int, way: str) -> None:
        nonlocal calls, each
        calls, each = count, 1 if way == "step" else count
        config = {"recursion_limit": 2 * count + 10, "configurable": {"thread_id": str(next(threads))}}
        end = compiled.invoke({"messages": [HumanMessage("read")]}, config, **durability)
        assert sum(message.type == "tool" for message in end["messages"]) == count

    return run


def timed(run: Callable[[int, str], None], count: int, way: str) -> Times:
    begun = clocks()
    run(count, way)
    return since(begun)


def clocks() -> Times:
    return time.perf_counter(), time.process_time()


def since(begun: Times) -> Times:
    wall, used = clocks()
    return (wall - begun[0]) * 1e6, (used - begun[1]) * 1e6


def table(report: dict[str, dict[str, float]]) -> str:
    lines = [f"{'one more call, microseconds':40}" + "".join(f"{kind:>10}{'ratio':>7}" for kind in KINDS)]
    for way, title in WAYS.items():
        for side, named in SIDES.items():
            cells = [(report[way][f"{side}_{kind}_us"], report[way][f"remit_{kind}_us"]) for kind in KINDS]
            figures = "".join(f"{theirs:10.0f}{ours / theirs:7.2f}" for theirs, ours in cells)
            lines.append(f"{named + ', ' + title:40}{figures}")
    ratio = report["step"]["remit_median_us"] / report["step"]["plain_median_us"]
    lines.append(f"goal, a step each, at most {GOAL} of langgraph: {ratio:.2f}, {'met' if ratio <= GOAL else 'missed'}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
