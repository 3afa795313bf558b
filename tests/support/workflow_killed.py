"""Moves a session in its workflow in a process that is killed before its N-th call of the system or of SQLite.

`python workflow_killed.py FOLDER` tries each N. It prints how often the session was in each of the three states when it
was taken up again, and as `wrong` the steps after which it was in no such state, lacked what was proven, or had gone
back.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import BuiltinFunctionType, FrameType
from typing import Any

from remit_governance.audit.store import AuditLog
from remit_governance.workflow.position import Position
from remit_governance.workflow.proof.runs import Red, TestFiles
from remit_governance.workflow.states import Mode, State, Trigger
from remit_server.contract import ModelConfig
from remit_server.harness.ports import NobodyToAsk
from remit_server.harness.turn import SessionMemory, Turn
from remit_server.harness.workflow.moves import move
from remit_server.harness.workflow.take_up import find_last_move, find_position
from remit_server.sessions.history import Contents, SessionHistory
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.session_file import SessionFile

MODEL = ModelConfig(provider="script", model="script")
OLD = TestFiles({"test_a.py": "def test_a(): assert True\n"})
NEW = TestFiles({"test_a.py": "def test_a(): assert False\n", "test_b.py": "\udcff"})
PLANNING = Position(Mode.STRICT, State.PLANNING)
TESTS = Position(Mode.STRICT, State.TEST_WRITING, before=OLD)
RED = Red(frozenset({"test_a"}), frozenset({"test_a"}), NEW, "t/1", frozenset({"test_b"}))
CODE = replace(TESTS, state=State.CODE_WRITING, red=RED)


@contextmanager
def open_turn(folder: Path) -> Iterator[Turn]:
    recorder = Recorder(SessionFile(folder / "session.jsonl"), "s", "/w", "0", lambda text: text)
    recorder.begin("t", MODEL)
    history = SessionHistory(recorder, Contents(folder / "contents"))
    yield Turn("t", SessionMemory("s", position=PLANNING), lambda event: None, NobodyToAsk(), history=history)
    recorder.file.close()


async def go_to_tests(folder: Path) -> None:
    audit = AuditLog(folder / "audit.db")
    with open_turn(folder) as turn:
        await turn.history.keep_tests(OLD)
        move(Trigger.PLAN_COMPLETED, turn, audit, gaining=lambda at: replace(at, before=OLD))
    audit.close()


async def go_to_code(folder: Path, step: int) -> None:
    """Makes the moves that are tested, with what a failing run proves."""
    audit = AuditLog(folder / "audit.db")
    with open_turn(folder) as turn:
        turn.memory.position = TESTS
        killing = Killing(step)
        threading.setprofile(killing)
        sys.setprofile(killing)
        await turn.history.keep_tests(NEW)
        move(Trigger.TESTS_ENDED, turn, audit, red=True, gaining=lambda at: replace(at, red=RED))
        turn.memory.position = replace(turn.memory.position, changed=True)
        turn.history.keep_position(turn.memory.position)
        move(Trigger.TESTS_STARTED, turn, audit)
        sys.setprofile(None)


class Killing:
    """A profiler of all threads that kills their process before the N-th call."""

    def __init__(self, step: int) -> None:
        self._left = step

    def __call__(self, frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or not isinstance(function, BuiltinFunctionType):
            return
        owner = type(function.__self__)
        if function.__module__ in {"posix", "fcntl"} or owner in {sqlite3.Connection, sqlite3.Cursor}:
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)


PLACES = (TESTS, CODE, replace(CODE, state=State.VALIDATING))


async def where(folder: Path) -> Position | None:
    with open_turn(folder) as turn:
        return await find_position(turn.history, await find_last_move(folder / "audit.db", "s"))


def main(folder: Path) -> None:
    counts = [0] * len(PLACES)
    wrong: list[int] = []
    step, killed, last = 0, True, 0
    while killed:
        place = folder / str(step)
        place.mkdir()
        asyncio.run(go_to_tests(place))
        child = os.fork()
        if not child:
            asyncio.run(go_to_code(place, step))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        found = asyncio.run(where(place))
        same = [n for n, each in enumerate(PLACES) if found and replace(found, changed=False) == each]
        if same and same[0] >= last:
            last = same[0]
            counts[last] += 1
        else:
            wrong.append(step)
        step += 1
    print(json.dumps({**dict(zip(("tests", "code", "validating"), counts, strict=True)), "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
