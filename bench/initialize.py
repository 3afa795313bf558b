"""From spawn to the answer of `initialize`: `remit serve`, compared with a pygls hello server, alternately in one run.

Both run on this interpreter, in the same environment, with byte code that was compiled beforehand into a folder of this
run. Processor time is that of the server's process up to its answer; use it on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO

GOAL = 1.3
HELLO = Path(__file__).with_name("hello_server.py")
SERVERS: Mapping[str, Sequence[str]] = {
    "hello": [sys.executable, str(HELLO)],
    "remit": [str(Path(sys.executable).with_name("remit")), "serve"],
}
ASK = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}


@dataclass(frozen=True, slots=True)
class Start:
    """One start, in milliseconds: by the clock, and of processor time."""

    wall_ms: float
    cpu_ms: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21, help="starts of each server")
    parser.add_argument("--instructions", action="store_true", help="also count instructions, with valgrind; slow")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        environment = plain_environment(cache)
        starts: dict[str, list[Start]] = {name: [] for name in SERVERS}
        for name in (*SERVERS, *SERVERS):  # twice unmeasured, for byte code and page cache
            start(SERVERS[name], environment)
        for number in range(arguments.rounds):
            for name in sorted(SERVERS, reverse=bool(number % 2)):
                starts[name].append(start(SERVERS[name], environment))
        summary = {name: summarized(taken) for name, taken in starts.items()}
        instructions = counted(environment, arguments.instructions)
    report = {
        "rounds": arguments.rounds,
        "goal": GOAL,
        "ratio": ratios(summary),
        **summary,
        "instructions": instructions,
    }
    print(json.dumps(report) if arguments.json else table(report))


def plain_environment(cache: str) -> dict[str, str]:
    """Returns this environment without variables that change how Python starts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | {"PYTHONPYCACHEPREFIX": cache}


def start(command: Sequence[str], environment: Mapping[str, str]) -> Start:
    """Starts a server, sends `initialize`, and ends the server when it has answered."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(framed(ASK))
    process.stdin.flush()
    answer = read_frame(process.stdout)
    wall = time.perf_counter() - begun
    assert "capabilities" in answer["result"], answer
    process.kill()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdin.close()
    process.stdout.close()
    return Start(wall * 1000, (used.ru_utime + used.ru_stime) * 1000)


def framed(message: object) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def read_frame(stream: IO[bytes]) -> dict:
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    assert length, "the server ended without an answer"
    return json.loads(stream.read(length))


def counted(environment: Mapping[str, str], asked: bool) -> dict[str, int] | None:
    """Returns the instructions from the start to the end of a server that is ended right after its answer."""
    if not asked:
        return None
    if shutil.which("valgrind") is None:
        sys.exit("--instructions needs valgrind")
    return {name: instructions(command, environment) for name, command in SERVERS.items()}


def instructions(command: Sequence[str], environment: Mapping[str, str]) -> int:
    script = b"".join(
        framed(message)
        for message in (
            ASK,
            {"jsonrpc": "2.0", "id": 2, "method": "shutdown"},
            {"jsonrpc": "2.0", "method": "exit"},
        )
    )
    counting = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    ended = subprocess.run([*counting, *command], input=script, capture_output=True, env=environment, check=False)
    assert b'"capabilities"' in ended.stdout, ended.stderr.decode()
    figure = re.search(r"I\s+refs:\s+([\d,]+)", ended.stderr.decode())
    assert figure is not None, ended.stderr.decode()
    return int(figure[1].replace(",", ""))


def summarized(starts: Sequence[Start]) -> dict[str, float]:
    wall, cpu = [s.wall_ms for s in starts], [s.cpu_ms for s in starts]
    figures = {
        "wall_median_ms": median(wall),
        "wall_min_ms": min(wall),
        "cpu_median_ms": median(cpu),
        "cpu_min_ms": min(cpu),
    }
    return {name: round(value, 1) for name, value in figures.items()}


def ratios(summary: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {name: round(summary["remit"][name] / summary["hello"][name], 3) for name in summary["hello"]}


def table(report: Mapping[str, dict]) -> str:
    lines = [f"spawn to `initialize` answered, {report['rounds']} starts of each, milliseconds", ""]
    lines.append(f"{'':16}{'hello':>10}{'remit':>10}{'ratio':>10}")
    for name, ratio in report["ratio"].items():
        label = name.removesuffix("_ms").replace("_", " ")
        lines.append(f"{label:16}{report['hello'][name]:10.1f}{report['remit'][name]:10.1f}{ratio:10.2f}")
    if counts := report["instructions"]:
        hello, remit = (counts[name] / 1e6 for name in ("hello", "remit"))
        lines.append(f"{'10⁶ instructions':16}{hello:10.1f}{remit:10.1f}{remit / hello:10.2f}")
    met = report["ratio"]["wall_median_ms"] <= GOAL
    lines += ["", f"goal: a ratio of medians of at most {GOAL}: {'met' if met else 'missed'}"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
