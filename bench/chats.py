"""A ten-turn chat with one model on one server with a small window: what is read twice, and what condensing costs.

`python bench/chats.py --url http://127.0.0.1:8080/v1 --model NAME` asks ten questions in one session about a package of
PyPI. Start the server with the window that you want to measure. The program counts turns with an answer, steps, reads
that were cut although more than half of the window was free, repeated reads, and the time of a step after condensing,
compared with the others: in a small window condensing asks the model nothing, but the model reads the shorter prompt.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from judge import unpack

REMIT = Path(sys.executable).with_name("remit")
PACKAGE = "colorama==0.4.6"
QUESTIONS = (
    "What is in colorama/ansi.py?",
    "What does the class AnsiToWin32 do?",
    "Where is winterm used?",
    "Read colorama/winterm.py and say what it holds.",
    "Which functions does colorama/initialise.py define?",
    "What does init() do?",
    "What is in colorama/ansitowin32.py?",
    "Set the version in colorama/__init__.py to '0.5.0'.",
    "Which file holds the version?",
    "What did I ask you to change?",
)
CUT = "; more with offset"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="the server, with /v1")
    parser.add_argument("--model", required=True)
    parser.add_argument("--log", type=Path, help="a file that gets every event, a JSON object a line")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "colorama"
        unpack(PACKAGE, workspace, Path(tempfile.gettempdir()) / "remit-bench-packages")
        turns = [
            ask(question, workspace, Path(folder) / "state", f"openai:{told.model}@{told.url}")
            for question in QUESTIONS
        ]
    if told.log:
        told.log.write_text("".join(json.dumps(event) + "\n" for turn in turns for event in turn))
    print(json.dumps(figures(turns)))


def ask(question: str, workspace: Path, state: Path, model: str) -> list[dict[str, Any]]:
    own = {"REMIT_STATE_DIR": str(state), "REMIT_CONFIG_DIR": str(state / "config"), "REMIT_TEMPERATURE": "0"}
    goes_on = ["--continue"] if state.exists() else []
    command = [str(REMIT), "ask", "--json", "--approve", "session", *goes_on, "--model", model, question]
    done = subprocess.run(
        command, check=False, cwd=workspace, env={**os.environ, **own}, capture_output=True, text=True, timeout=1_800
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def figures(turns: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    events = [event for turn in turns for event in turn]
    usage = [event for event in events if event["kind"] == "usage"]
    ends = [event["result"] for event in events if event["kind"] == "run_completed"]
    reads = Counter(
        (event["arguments"]["path"], event["arguments"].get("offset", 1))
        for event in events
        if event["kind"] == "tool_call" and event["tool"] == "read_file" and event["arguments"]
    )
    condensed = [event for event in events if event["kind"] == "context_condensed"]
    return {
        "window": usage[-1]["window"] if usage else None,
        "answered": sum(end["status"] == "completed" and bool(end["final_output"]) for end in ends),
        "steps": len(usage),
        "reads": reads.total(),
        "reads_again": reads.total() - len(reads),
        "cut_with_half_the_window_free": cut_with_room(events),
        "condensed": len(condensed),
        "step_s": step_seconds(events, after=("run_started", "tool_result")),
        "step_after_condensing_s": step_seconds(events, after=("context_condensed",)),
    }


def step_seconds(events: Sequence[Mapping[str, Any]], after: tuple[str, ...]) -> float | None:
    """Returns the median seconds of the steps that began after one of these events, up to the model's `usage` event."""
    begins = ("run_started", "tool_result", "context_condensed")
    found, begun = list[float](), None
    for event in events:
        if event["kind"] in begins:
            begun = event
        elif event["kind"] == "usage" and begun is not None:
            if begun["kind"] in after:
                found.append(_seconds(begun, event))
            begun = None
    return round(median(found), 1) if found else None


def _seconds(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    return (datetime.fromisoformat(other["time"]) - datetime.fromisoformat(one["time"])).total_seconds()


def cut_with_room(events: Sequence[Mapping[str, Any]]) -> int:
    """Counts the reads that showed less than was requested while more than half of the window was free."""
    found, free = 0, True
    for event in events:
        if event["kind"] == "usage" and event["window"]:
            free = event["context"] < event["window"] / 2
        if event["kind"] == "tool_result" and event["tool"] == "read_file":
            found += free and CUT in event["output"].partition("\n")[0]
    return found


if __name__ == "__main__":
    main()
