"""What a queue costs: turns per second through `remit worker`, compared with the same turns in one process without a
queue.

`python bench/queued.py` prints a table. In each turn a scripted model answers with one line, in a session of its own;
the turn is audited and kept like any other. The peer is `remit stdio`, one process on a pipe, which runs as many turns
at once as all workers together. The broker is a real one on this machine, with its streams on the disk. Nothing is kept
between runs; the best of three counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from command_line import REMIT
from doors import request
from queue_broker import NatsServer, RawNats, wait_for_queue
from queue_workers import Workers, submit

TURNS = 200
AT_ONCE = 12
ROUNDS = 3
DONE = ({"text": "done"},)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    found = {"stdio": max(plain() for _ in range(ROUNDS))}
    for count in (1, 3):
        found[f"workers {count}"] = max(queued(count) for _ in range(ROUNDS))
    first = sorted(submitted() for _ in range(ROUNDS))[1]
    if parser.parse_args().json:
        print(json.dumps({"turns_per_s": found, "first_event_ms": first}))
        return
    for name, rate in found.items():
        print(f"{name:12}{rate:8.1f} turns/s{rate / found['stdio']:8.2f} of one process without a queue")
    print(f"from a request sent to its first event kept by the broker: {first:.1f} ms")


def plain() -> float:
    """Returns the turns per second of one process, this many at once."""
    with (
        tempfile.TemporaryDirectory() as made,
        NatsServer(Path(made) / "broker") as broker,
        Workers(Path(made), broker, DONE) as workers,
    ):
        pipe = subprocess.PIPE
        command = [str(REMIT), "stdio"]
        with subprocess.Popen(
            command, cwd=workers.workspace, env=workers.environment, stdin=pipe, stdout=pipe
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None

            def run(session: str) -> None:
                process.stdin.write(json.dumps({"run": request("t", session=session)}).encode() + b"\n")
                process.stdin.flush()

            def wait() -> None:
                while "result" not in json.loads(process.stdout.readline()):
                    pass

            for number in range(4):
                run(f"warm{number}")
            for _ in range(4):
                wait()
            begun = time.perf_counter()
            for number in range(TURNS + AT_ONCE):
                if number < TURNS:
                    run(f"s{number}")
                if number >= AT_ONCE:
                    wait()
            seconds = time.perf_counter() - begun
            process.stdin.close()
        return TURNS / seconds


def queued(count: int) -> float:
    """Returns the turns per second of `count` workers, from when the first turn may begin."""
    with tempfile.TemporaryDirectory() as made, NatsServer(Path(made) / "broker") as broker:
        options = ("--turns", str(AT_ONCE // count))
        with Workers(Path(made), broker, DONE, options) as workers, RawNats(broker.port) as raw:
            for _ in range(count):
                workers.start()
            wait_for_queue(raw)
            ended: list[str] = []
            raw.subscribe(
                "remit.ev.>",
                lambda message: ended.append(message.subject) if b"run_completed" in message.data else None,
            )
            for number in range(count * 4):
                submit(broker, request("warm", session=f"warm{number}"))
            wait_for(ended, count * 4)
            begun = time.perf_counter()
            for number in range(TURNS):
                raw.publish(f"remit.run.s{number}.t", json.dumps(request("t", session=f"s{number}")).encode())
            wait_for(ended, count * 4 + TURNS)
            return TURNS / (time.perf_counter() - begun)


def submitted() -> float:
    """Returns the milliseconds from a request to its first event."""
    with (
        tempfile.TemporaryDirectory() as made,
        NatsServer(Path(made) / "broker") as broker,
        Workers(Path(made), broker, DONE) as workers,
        RawNats(broker.port) as raw,
    ):
        workers.start()
        wait_for_queue(raw)
        submit(broker, request("warm", session="warm"))
        told: list[float] = []
        raw.subscribe("remit.ev.s.t", lambda message: told.append(time.perf_counter()) if message.data else None)
        time.sleep(1)
        begun = time.perf_counter()
        raw.publish("remit.run.s.t", json.dumps(request("t")).encode())
        while not told:
            time.sleep(0.001)
        return (told[0] - begun) * 1000


def wait_for(ended: list[str], count: int) -> None:
    while len(ended) < count:
        time.sleep(0.002)


if __name__ == "__main__":
    main()
