"""What a transport costs: how soon an event is read after the runtime made it, and how fast 100,000 events are.

`python bench/doors.py` prints a table. Each transport is a real process on this machine, read by one client. For the
rate it is compared with a bare process that writes the same bytes to a pipe. An event's time is in milliseconds, so a
delay below one is shown as 0 or 1. Nothing is kept between runs; the best of three counts for the rate, the median for
the delay.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from doors import DOORS, opened, request

EVENTS = 100_000
ROUNDS = 3
TURNS = 30
WRITES = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    told = parser.parse_args()
    found = {kind: measure(kind) for kind in DOORS}
    if told.json:
        print(json.dumps(found))
        return
    print("door         first event, ms   100,000 events, s   MB   bare write, s   ratio")
    for kind, row in found.items():
        seconds, plain = row["seconds"], row["bare"]
        rate = f"{seconds:>10.2f}{row['megabytes']:>15.1f}{plain:>10.2f}{seconds / plain:>12.0f}"
        print(f"{kind:12}{row['first']:>12.1f}{rate}")


def measure(kind: str) -> dict[str, float]:
    """Returns the median delay of a turn's first event, and the seconds of a turn of many events and of bare bytes."""
    rounds = [many(kind) for _ in range(ROUNDS)]
    seconds, size = min(rounds)
    return {"first": first(kind), "seconds": seconds, "megabytes": size / 1e6, "bare": bare(size)}


def first(kind: str) -> float:
    """Returns the milliseconds from the time of the first event until it is read."""
    delays = []
    with tempfile.TemporaryDirectory() as folder, opened(kind, Path(folder), {"text": "done"}) as door:
        for number in range(TURNS):
            name = door.run(request(f"t{number}", session=f"s{number}"))
            event = door.until(lambda name=name: next(iter(door.events(name)), None))
            delays.append((time.time() - datetime.fromisoformat(event["time"]).timestamp()) * 1000)
            door.result(name)
    return statistics.median(delays)


def many(kind: str) -> tuple[float, int]:
    """Returns the seconds of a turn that says this many words, and the bytes of its events."""
    text = "w " * EVENTS
    with tempfile.TemporaryDirectory() as folder, opened(kind, Path(folder), {"text": text}) as door:
        begun = time.perf_counter()
        name = door.run(request("t"))
        while door.answer(name) is None:
            time.sleep(0.2)  # `answer` reads everything that has arrived
        seconds = time.perf_counter() - begun
        events: list[Any] = door.events(name)
        assert len(events) > EVENTS, "every word is an event"
        return seconds, sum(len(json.dumps(event)) for event in events)


def bare(size: int) -> float:
    """Returns the seconds of a process that reads and writes this many bytes."""
    data = b"x" * size
    best = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", WRITES], input=data, capture_output=True, check=True)
        best.append(time.perf_counter() - begun)
        assert len(done.stdout) == size
    return min(best)


if __name__ == "__main__":
    main()
