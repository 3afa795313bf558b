"""The first token of the next turn after a restart of the model process: with caches on disk, compared with none.

A conversation of 2,000 tokens is answered, the process is closed, another one is started and gets the next turn. The
time runs from the request to the first piece of the answer, in a process that has loaded its model: with the folder the
cache file is read, without it the whole prompt. Each round has a text of its own, the same for both sides, which
alternate. The files are in the page cache, as for a person who goes on at once.
"""
# mypy: ignore-errors

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from model import asked, history, random_llama

from remit_server.models.local import wire
from remit_server.models.local.process import HostProcess

GOAL = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(compare(random_llama(Path(folder) / "llama-60m"), Path(folder), arguments.rounds))
    print(json.dumps(report) if arguments.json else table(report))


async def compare(model: Path, folder: Path, rounds: int) -> dict[str, float]:
    """Returns the seconds of both sides."""
    taken: dict[bool, list[float]] = {True: [], False: []}
    tokens = 0
    for number in range(rounds):
        said = (wire.ChatMessage(role="user", content=f"{number} {history(model)}"),)
        for kept in (True, False) if number % 2 else (False, True):
            load = wire.Load(folder=str(model), cache_folder=str(folder / "caches") if kept else None)
            before = await HostProcess.start(load)
            await asked(before, f"s{number}", "go on", 2, said)
            await before.close()
            after = await HostProcess.start(load)
            answer = wire.ChatMessage(role="user", content="go on"), wire.ChatMessage(role="assistant", content="yes")
            stream = await asked(after, f"s{number}", "and more?", 2, (*said, *answer))
            await after.close()
            taken[kept].append(stream.first_s)
            tokens = stream.prompt
    cold, warm = median(taken[False]), median(taken[True])
    return {
        "tokens": tokens,
        "cold_s": round(cold, 3),
        "after_restart_s": round(warm, 3),
        "ratio": round(warm / cold, 3),
    }


def table(report: dict[str, float]) -> str:
    met = "met" if report["ratio"] <= GOAL else "missed"
    return (
        "| tokens | cold, s | after a restart, s | ratio | goal |\n|---|---|---|---|---|\n"
        f"| {' | '.join(str(value) for value in report.values())} | {GOAL}: {met} |"
    )


if __name__ == "__main__":
    main()
