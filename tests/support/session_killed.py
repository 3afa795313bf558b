"""Writes a session's file in processes that are killed: `python session_killed.py FOLDER ROUNDS`.

In each round a forked process continues the session, and reports each record once it is written. It is killed after a
random time, and the file is compared with the reports. Prints `{"rounds", "written", "lost"}`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from remit_server.contract import ModelConfig
from remit_server.models.ports import UserMessage
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.session_file import SessionFile, read_session

MODEL = ModelConfig(provider="script", model="script")


def recorder(path: Path) -> Recorder:
    return Recorder(SessionFile(path), "s", "/w", "0", lambda text: text)


def write_until_killed(path: Path, first: int, told: int) -> None:
    choose = random.Random(first)
    writer = recorder(path)
    writer.begin(f"t{first}", MODEL)
    for number in range(first, first + 100_000):
        text = "x" * choose.choice((1, 200, 4_000, 100_000))
        writer.keep(UserMessage(f"{number} {text}"), f"{number} {text}")
        os.write(told, f"{number}\n".encode())


def numbers(path: Path) -> list[int]:
    """Returns the numbers of the messages that the file holds, in order, as a continued session would read them."""
    looking = recorder(path)
    said = looking.begin("look", MODEL)
    looking.file.close()
    assert said is not None
    return [int(message.text.split()[0]) for message in said.messages]


def main(folder: Path, rounds: int) -> None:
    path, choose = folder / "session.jsonl", random.Random(7)
    known: list[int] = []
    lost = 0
    for _ in range(rounds):
        path.unlink(missing_ok=True) if len(known) > 300 else None
        known = known if path.exists() else []
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            write_until_killed(path, known[-1] + 1 if known else 0, theirs)
            os._exit(1)
        os.close(theirs)
        first = os.read(ours, 8)
        time.sleep(choose.random() * 0.004)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        rest = b""
        while part := os.read(ours, 65536):
            rest += part
        os.close(ours)
        read_session(path)
        acknowledged = [*known, *map(int, (first + rest).split())]
        known = numbers(path)
        # The file may have one record more than was reported, but none less.
        lost += known[: len(acknowledged)] != acknowledged or len(known) > len(acknowledged) + 1
    print(json.dumps({"rounds": rounds, "written": known[-1], "lost": lost}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
