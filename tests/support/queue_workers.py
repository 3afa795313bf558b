"""Workers of a queue that can be killed, requests to them, and what the broker kept of each turn."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from command_line import CommandLine, Done, begin_logging
from forked_servers import Begun
from queue_broker import NatsServer, RawNats, allowed, digest_of, kept, lines_of, subject_token

ALLOWS = """version: 1
capabilities:
  - { name: r, match: { syscall: fs.read, path_glob: ['**'] }, action: allow }
  - { name: w, match: { syscall: fs.write, path_glob: ['**'] }, action: allow }
"""
PATIENCE_S = 240.0
Json = Any


@dataclass
class Workers:
    """Processes of `remit worker` in one workspace, whose model plays a script; policy allows every write."""

    folder: Path
    broker: NatsServer
    script: Sequence[Json] = ({"text": "done"},)
    options: tuple[str, ...] = ()
    processes: list[Begun] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.workspace = self.folder / "shop"
        self.workspace.mkdir(exist_ok=True)
        (self.workspace / "a.py").write_text("total = 1\n")
        for name in ("config", "log"):
            (self.folder / name).mkdir(exist_ok=True)
        (self.folder / "config" / "policy.yaml").write_text(ALLOWS)
        (self.folder / "script.json").write_text(json.dumps(self.script))
        named = {name: self.folder / name.lower() for name in ("STATE", "CONFIG", "DATA")}
        self.environment = {
            **os.environ,
            **{f"REMIT_{name}_DIR": str(path) for name, path in named.items()},
            "HOME": str(self.folder),
            "REMIT_MODEL": f"script:{self.folder / 'script.json'}",
            **allowed("worker"),
        }

    def start(self, *options: str, **environment: str) -> Begun:
        words = ("worker", "--queue", self.broker.url, *self.options, *options)
        log = self.folder / "log" / f"{len(self.processes)}"
        process = begin_logging(words, self.workspace, {**self.environment, **environment}, log)
        self.processes.append(process)
        return process

    def remit(self, *words: str, user: str = "client", **environment: str) -> Done:
        """Runs a command as a user who is no worker, with the address of the queue."""
        everything = {**self.environment, **allowed(user), **environment}
        return CommandLine(self.folder, everything)(*words, "--queue", self.broker.url)

    def said(self) -> str:
        """Returns the logs of all workers."""
        return "".join(file.read_text() for file in sorted((self.folder / "log").iterdir()))

    def kill_one(self, chance: random.Random) -> None:
        """Kills a running worker, and starts another."""
        running = [process for process in self.processes if process.poll() is None]
        process = chance.choice(running)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def submit(broker: NatsServer, request: Json) -> str:
    """Sends a request until the broker confirms it; returns its digest."""
    data = json.dumps(request).encode()
    subject = f"remit.run.{subject_token(request['session_id'])}.{subject_token(request['turn_id'])}"
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError), RawNats(broker.port) as raw:
            taken = raw.request(subject, data, {"Nats-Msg-Id": digest_of(data)})
            if taken is not None and "seq" in json.loads(taken.data):
                return digest_of(data)
        time.sleep(0.05)
    raise AssertionError("the broker took nothing")


@dataclass
class KeptTurn:
    """What the broker kept of a turn."""

    messages: list[Any]

    @property
    def events(self) -> list[Json]:
        return list(lines_of(iter(self.messages)))

    @property
    def claims(self) -> int:
        return sum(message.headers["Remit-Part"] == "0" for message in self.messages)

    def check(self) -> None:
        """Checks that the events have no gap, that the turn ended once, and that one writer at a time wrote it."""
        events = self.events
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert [event["kind"] for event in events].count("run_completed") == 1
        assert events[-1]["kind"] == "run_completed"
        writers: list[str] = []
        for message in self.messages:
            claim, part = message.headers["Remit-Claim"], int(message.headers["Remit-Part"])
            if part == 0:
                assert claim not in writers
                writers.append(claim)
                number = 0
            assert (claim, part) == (writers[-1], number), "another writer came in between"
            number += 1

    def check_calls(self) -> None:
        """Checks that no call was made twice without a resumption in between, and that no call but a read has two
        results."""
        made: Counter[str] = Counter()
        done: Counter[str] = Counter()
        for event in self.events:
            if event["kind"] == "run_started" and event["resumed"]:
                made.clear()
            if event["kind"] == "tool_call":
                made[f"{event['tool']} {json.dumps(event['arguments'], sort_keys=True)}"] += 1
            if event["kind"] == "tool_result" and event["tool"] != "read_file":
                done[event["tool_call_id"]] += 1
        assert all(number == 1 for number in (*made.values(), *done.values())), (made, done)


def read_turn(raw: RawNats, session: str, turn: str) -> KeptTurn:
    return KeptTurn(list(kept(raw, f"remit.ev.{subject_token(session)}.{subject_token(turn)}")))


def wait_for_end(broker: NatsServer, session: str, turn: str) -> KeptTurn:
    """Waits until the turn has ended, and returns it."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError), RawNats(broker.port) as raw:
            while time.monotonic() < deadline:
                found = read_turn(raw, session, turn)
                if found.messages and b'"run_completed"' in found.messages[-1].data:
                    return found
                time.sleep(0.05)
        time.sleep(0.1)
    raise AssertionError("the turn did not end")
