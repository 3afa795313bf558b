"""A governed `read_file` beside the marginal cost of one more tool call in langgraph, by turns in one run.

Governed: see governed_read.py, which this takes it from. langgraph: a graph of a fake model and a `ToolNode` with one
tool that reads the same file, run once with few and once with many calls in sequence, as an agent makes them; what one
more call costs is the difference. Nothing is governed, recorded or checkpointed there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

os.environ["LANGSMITH_TRACING"] = "false"

from governed_read import NAME, governed, prepared
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
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
    run = graph(settings.workspace)
    ours: list[float] = []
    theirs: list[float] = []
    try:
        await governed(runtime, "warm-up")
        marginal(run)
        for number in range(rounds):
            ours += await governed(runtime, f"round-{number}")
            theirs.append(marginal(run))
    finally:
        await runtime.close()
    return {
        "remit_median_us": round(median(ours), 1),
        "remit_min_us": round(min(ours), 1),
        "langgraph_median_us": round(median(theirs), 1),
        "langgraph_min_us": round(min(theirs), 1),
        "ratio_median": round(median(ours) / median(theirs), 2),
        "ratio_min": round(min(ours) / min(theirs), 2),
    }


def graph(folder: Path) -> Callable[[int], None]:
    """Runs an agent that makes so many calls, one after the other."""

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
    compiled = built.compile()

    def run(count: int) -> None:
        nonlocal calls
        calls = count
        end = compiled.invoke({"messages": [HumanMessage("read")]}, {"recursion_limit": 2 * count + 10})
        assert len(end["messages"]) == 2 * count + 2

    return run


def marginal(run: Callable[[int], None]) -> float:
    """Microseconds of one more call."""
    times = []
    for count in (FEW, MANY):
        begun = time.perf_counter()
        run(count)
        times.append(time.perf_counter() - begun)
    return (times[1] - times[0]) / (MANY - FEW) * 1e6


def table(report: dict[str, float]) -> str:
    met = {True: "met", False: "missed"}
    return "\n".join(
        [
            f"{'microseconds':30}{'median':>10}{'min':>10}",
            *(
                f"{title:30}{report[f'{name}_median_us']:10}{report[f'{name}_min_us']:10}"
                for title, name in (("langgraph, one more call", "langgraph"), ("governed read_file", "remit"))
            ),
            f"{'ratio':30}{report['ratio_median']:10}{report['ratio_min']:10}",
            f"goal, at most {GOAL} by the median: {met[report['ratio_median'] <= GOAL]}",
        ]
    )


if __name__ == "__main__":
    main()
