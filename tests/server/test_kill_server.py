"""kill -9 of the server at random points of a write: the file is the old or the new one, the audit chain verifies, and
the next start works (FILE-04)."""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from examples import rounds
from forked_servers import Servers
from lsp_pipe import PipeClient

from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.reading.verify import Verified, verify
from remit_governance.audit.record import AuditKind
from remit_server.models.recorded.scripted import ScriptedCall, ScriptedStep
from remit_server.runtime.settings import Settings
from remit_server.workspace.content.files import TEMPORARY_PREFIX

RUNS = rounds(50, 21)
MEASURED = 4
SPAWNED_EVERY = 10
MODE = 0o640
NAME = "file.txt"
PATIENCE_S = 30.0
LINE = "x" * 3999 + "\n"


@dataclass(frozen=True)
class Write:
    """The old and the new content of a file, and the calls with which a model changes it."""

    old: str
    new: str
    calls: tuple[ScriptedCall, ...]


def overwritten() -> Write:
    """A whole new content through `write_file`."""
    old, new = ("old " * 250 + "\n") * 100, ("new " * 250 + "\n") * 200
    return Write(old, new, (chosen("WRITE_FILE"), call("write_file", path=NAME, content=new)))


def edited() -> Write:
    """A change of some megabytes at the start, in the middle and at the end, through `edit_file`."""
    old = "\n".join(["total", LINE * 400, "total", LINE * 400, "total"])
    edit = call("edit_file", path=NAME, old_text="total", new_text="subtotal", replace_all=True)
    return Write(old, old.replace("total", "subtotal"), (chosen("CODE"), edit))


def chosen(intent: str) -> ScriptedCall:
    return call("select_active_intent", intent=intent)


def call(name: str, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(name=name, arguments=arguments)


@dataclass
class Scene:
    """A workspace with one file, and servers on it whose model makes one write."""

    tmp_path: Path
    write: Write
    servers: Servers
    started: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.workspace = self.tmp_path / "work"
        self.workspace.mkdir()
        self.file = self.workspace / NAME
        script = self.tmp_path / "script.json"
        steps = (ScriptedStep(calls=self.write.calls), ScriptedStep(text="done"))
        script.write_text(json.dumps([step.model_dump() for step in steps]))
        self.environment = {
            **os.environ,
            "REMIT_STATE_DIR": str(self.tmp_path / "state"),
            "REMIT_CONFIG_DIR": str(self.tmp_path / "config"),
            "REMIT_MODEL": f"script:{script}",
        }
        self.audit = Settings.from_environment(self.workspace, self.environment).audit_database

    def reset(self) -> None:
        """Restores the file's old content; everything else stays as the last server left it."""
        self.file.write_text(self.write.old)
        self.file.chmod(MODE)
        self.inode = self.file.stat().st_ino

    def asked(self) -> tuple[PipeClient, int, dict[str, Any]]:
        """Starts a server that has prepared the write and waits for the person; returns the server, its turn and its
        question."""
        number = next(self.started)
        start = self.servers.fork if number % SPAWNED_EVERY else self.servers.spawn
        server = start(self.environment)
        server.initialize(self.workspace)
        turn = server.run(str(number), {"type": "text", "text": "go on"})
        question = server.event("approval_required")
        assert not self.leftovers(), "a server that starts collects what the one before it left"
        return server, turn, question

    def leftovers(self) -> list[str]:
        return [path.name for path in self.workspace.glob(TEMPORARY_PREFIX + "*")]

    def replaced(self) -> bool:
        """Returns whether there is a new file; cheap enough to be called all the time."""
        return self.file.stat().st_ino != self.inode

    def state(self) -> str:
        """Returns whether the file is the old or the new one, and asserts that it is one of them."""
        assert self.file.stat().st_mode & 0o7777 == MODE
        data = self.file.read_text()
        assert data in {self.write.old, self.write.new}, f"a mixture of {len(data)} characters"
        return "old" if data == self.write.old else "new"


def allow(server: PipeClient, question: dict[str, Any]) -> None:
    answer = {"approval_id": question["approval_id"], "digest": question["digest"], "decision": "allow"}
    server.request("remit/approval/respond", answer)


def until(condition: Callable[[], object]) -> None:
    """Waits without sleeping, because the awaited state lasts only milliseconds."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it never came to the write"


def completed(scene: Scene) -> tuple[float, float]:
    """Lets a write finish; returns the seconds from the answer to the result, and the seconds of the write itself."""
    scene.reset()
    server, turn, question = scene.asked()
    begun = time.monotonic()
    allow(server, question)
    until(lambda: scene.leftovers() or scene.replaced())
    opened = time.monotonic()
    until(scene.replaced)
    replaced = time.monotonic()
    assert server.event("tool_result")["ok"]
    ended = time.monotonic()
    assert server.result(turn)["status"] == "completed"
    server.exit()
    assert scene.state() == "new"
    return ended - begun, replaced - opened


def killed(scene: Scene, moment: Callable[[], object], delay: float) -> tuple[str, bool]:
    """Kills a server `delay` seconds after `moment`; returns the file's state, and whether the write was half done."""
    scene.reset()
    server, _, question = scene.asked()
    allow(server, question)
    until(moment)
    begun = time.monotonic()
    until(lambda: time.monotonic() - begun >= delay)
    said = server.kill()
    state, half_done = scene.state(), bool(scene.leftovers())
    assert state == "new" or b'"kind":"tool_result"' not in said, "what was said to be done was not"
    return state, half_done


def check_audit(scene: Scene, turn: int, state: str) -> None:
    """Asserts that the chain verifies, and that a done write was announced in it beforehand."""
    verified = verify(scene.audit)
    assert isinstance(verified, Verified), verified
    records = [r.event for r in query_audit(scene.audit) if r.event.turn_id == str(turn)]
    kinds = [event.kind for event in records]
    assert AuditKind.APPROVAL_REQUIRED in kinds
    assert state == "old" or AuditKind.TOOL_INTENT in kinds


def calls(scene: Scene, kind: AuditKind) -> list[str]:
    return sorted(r.event.turn_id or "" for r in query_audit(scene.audit, AuditFilter(kind=kind)))


@pytest.mark.slow
@pytest.mark.parametrize("write", [overwritten, edited])
def test_thr_storage_kill_server_at_random_points_of_a_write(write: Callable[[], Write], tmp_path: Path) -> None:
    """THR-storage-kill-server: 50 kills each, from the answer to the result, in the write itself, and just after it."""
    luck = random.Random(11)
    outcomes: Counter[str] = Counter()
    with Servers() as servers:
        scene = Scene(tmp_path, write(), servers)
        spans = [completed(scene) for _ in range(MEASURED)]
        whole, writing = (statistics.median(times) for times in zip(*spans, strict=True))
        moments = (
            (lambda: True, whole),
            (lambda: scene.leftovers() or scene.replaced(), writing),
            (scene.replaced, writing),
        )
        for run in range(RUNS):
            moment, span = moments[run % len(moments)]
            share = (run + luck.random()) / RUNS  # all parts of the span are equally likely
            state, half_done = killed(scene, moment, share * span * 1.1)
            check_audit(scene, MEASURED + run + 1, state)
            outcomes[state] += 1
            outcomes["half done"] += half_done
        print(f"{writing * 1000:.1f} of {whole * 1000:.1f} ms are the write: {dict(outcomes)}")
        completed(scene)  # the request after the last kill works, like each one before it
        begun, ended = (calls(scene, kind) for kind in (AuditKind.TOOL_INTENT, AuditKind.TOOL_OUTCOME))
        assert begun == ended, "a call has one record only"
    assert min(outcomes["old"], outcomes["new"], outcomes["half done"]) > 0, outcomes
