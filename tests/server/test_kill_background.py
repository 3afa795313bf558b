"""kill -9 at random moments while a background process runs: of its server, its client, its model or itself; nothing is
left (BG-05)."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from examples import rounds
from forked_servers import Servers
from lsp_pipe import TOKEN, Json, PipeClient
from random_model import random_model
from rule_programs import need_sandbox

from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.reading.verify import Verified, verify
from remit_governance.audit.record import AuditKind
from remit_server.runtime.settings import Settings

RUNS = rounds(200, 10)
MARK = b"48151"
PATIENCE_S = 30.0
COMMAND = "python3 stays.py 48151"
STAYS = """
import signal, subprocess, sys, time
for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT:
    signal.signal(number, signal.SIG_IGN)
for own_session in False, True:
    subprocess.Popen(["sleep", sys.argv[1]], start_new_session=own_session)
print("begun", flush=True)
time.sleep(int(sys.argv[1]))
"""
ALLOWS = """
version: 1
capabilities:
  - { name: run, match: { syscall: process.exec }, action: allow, reason: "all may run" }
  - { name: files, match: { syscall: [fs.read, fs.list, fs.write] }, action: allow, reason: "all files" }
"""


def call(name: str, **arguments: Any) -> Json:
    return {"name": name, "arguments": arguments}


STAYS_ON = (
    call("start_process", command=COMMAND, scratch=["cache"], until="begun"),
    call("read_process", process="p1", seconds=0),
)


def marked() -> Iterator[tuple[int, bytes]]:
    """Yields the processes of this machine with the mark in their command line, and the first word of it."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if any(MARK in word for word in words):
                yield int(entry.name), words[0]


def running() -> list[int]:
    """Returns the processes that run the command. A bwrap that still waits runs nothing; the next start ends it."""
    return [pid for pid, word in marked() if not word.endswith(b"bwrap")]


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, list(marked())
        time.sleep(0.02)


class Scene:
    """A workspace, and servers whose model makes these calls, one step per item."""

    def __init__(self, folder: Path, servers: Servers, *steps: Sequence[Json]) -> None:
        self.servers, self.turns = servers, 0
        self.workspace = folder / "work"
        (self.workspace / "cache").mkdir(parents=True)
        (self.workspace / "stays.py").write_text(STAYS)
        (folder / "config").mkdir()
        (folder / "config" / "policy.yaml").write_text(ALLOWS)
        script = folder / "script.json"
        played = [{"calls": [call("select_active_intent", intent="EXECUTE"), *calls]} for calls in steps]
        script.write_text(json.dumps([*played, {"text": "done"}]))
        self.environment = {
            **os.environ,
            "REMIT_STATE_DIR": str(folder / "state"),
            "REMIT_CONFIG_DIR": str(folder / "config"),
            "REMIT_MODEL": f"script:{script}",
        }
        self.audit = Settings.from_environment(self.workspace, self.environment).audit_database

    def started(self, **more: str) -> tuple[PipeClient, int]:
        """Returns a server that has begun a turn, and the number of that request."""
        self.turns += 1
        server = self.servers.fork({**self.environment, **more})
        server.initialize(self.workspace)
        return server, server.run("t", {"type": "text", "text": "go"}, session=f"s{self.turns}")


def kill_some(luck: random.Random) -> None:
    found = [pid for pid, _ in marked()]
    if found:
        with suppress(ProcessLookupError):
            os.kill(luck.choice(found), signal.SIGKILL)


@pytest.mark.slow
def test_BG_05_nothing_is_left_whoever_is_killed_at_random_moments(tmp_path: Path) -> None:
    """THR-background-killed-at-random-moments."""
    need_sandbox()
    luck, seen = random.Random(5), Counter[str]()
    with Servers() as servers:
        scene = Scene(tmp_path, servers, STAYS_ON)
        server, turn = scene.started()
        begun = time.monotonic()
        assert server.result(turn)["status"] == "completed"
        span = time.monotonic() - begun
        server.exit()
        until(lambda: not running())
        for number in range(RUNS):
            server, _ = scene.started()
            time.sleep(luck.random() * span * 1.1)
            seen["running"] += bool(running())
            match number % 3:
                case 0:
                    server.kill()
                case 1:
                    server.hang_up()
                case _:
                    kill_some(luck)
                    server.kill() if luck.random() < 0.5 else server.hang_up()
            until(lambda: not running())
        settle(scene)
    print(dict(seen), "of", RUNS)


STEPS = (
    {"start_process": "EXECUTE", **STAYS_ON[0]["arguments"]},
    {"read_process": "EXECUTE", **STAYS_ON[1]["arguments"]},
)
MODEL = Path(__file__).parents[1] / "support" / "model_process.py"


@contextmanager
def served() -> Iterator[tuple[str, Callable[[], object]]]:
    """Starts a model server as a process of its own; yields the model's reference, and a function that kills the
    server."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, str(MODEL)], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write("\n".join(map(json.dumps, STEPS)))
            process.stdin.close()
            yield process.stdout.readline().strip(), process.kill
        finally:
            process.kill()


def leave(server: PipeClient, number: int) -> None:
    (server.exit, server.hang_up, server.kill)[number % 3]()


def end_of(events: Sequence[Json]) -> str:
    """Returns how a turn ended whose model may have been killed; an error must have the server's own words."""
    last = events[-1]
    assert last["kind"] == "run_completed"
    if last["result"]["status"] == "completed":
        return "too late"
    assert (last["result"]["status"], events[-2]["kind"]) == ("failed", "error")
    assert events[-2]["error"]["code"] in {"model_unavailable", "model_failed"}
    assert all(events[-2]["error"][part] for part in ("what", "why", "fix"))
    return str(events[-2]["error"]["code"])


@pytest.mark.slow
@pytest.mark.timeout(3_000)  # two hundred runs
def test_BG_05_nothing_is_left_when_the_model_is_killed_at_random_moments(tmp_path: Path) -> None:
    """THR-background-its-model-is-killed."""
    need_sandbox()
    luck, seen = random.Random(7), Counter[str]()
    with Servers() as servers:
        scene = Scene(tmp_path, servers)
        with served() as (name, _):
            server, turn = scene.started(REMIT_MODEL=name)
            begun = time.monotonic()
            assert end_of(server.turn("t", turn, "allow")) == "too late"
            span = time.monotonic() - begun
            assert running()
            server.exit()
        for number in range(RUNS):
            with served() as (name, kill):
                server, turn = scene.started(REMIT_MODEL=name)
                if number % 2:
                    server.event("process_changed")
                time.sleep(luck.random() * span)
                kill()
                seen[end_of(server.turn("t", turn, "allow"))] += 1
                seen["running"] += bool(running())
                leave(server, number)
            until(lambda: not running())
        settle(scene)
    assert seen["too late"] < RUNS
    print(dict(seen), "of", RUNS)


@pytest.mark.slow
@pytest.mark.timeout(3_000)
@pytest.mark.model
@pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra")
def test_BG_05_nothing_is_left_when_the_model_process_is_killed_at_random_moments(tmp_path: Path) -> None:
    need_sandbox()
    luck, seen = random.Random(9), Counter[str]()
    model = str(random_model(tmp_path / "model", 32_768))
    with Servers() as servers:
        scene = Scene(tmp_path, servers, STAYS_ON)
        for number in range(max(2, RUNS // 5)):
            server, turn = scene.started(REMIT_MAX_TOKENS="20000")
            assert server.result(turn)["status"] == "completed"
            of = server.pid
            asked = {"session_id": f"s{scene.turns}", "turn_id": "u", "input": {"type": "text", "text": "go"}}
            asked |= {"model": model, "policy": {"allow_tools": []}, "partialResultToken": TOKEN}
            turn = server.request("remit/run", asked)
            until(lambda of=of: model_processes(of))
            if number % 2:
                server.event("token_delta")
            time.sleep(luck.random() * (0.01 if number % 2 else 1))
            for pid in model_processes(of):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            seen[end_of(server.turn("u", turn, "deny"))] += 1
            assert running()
            leave(server, number)
            until(lambda: not running())
            until(lambda of=of: not model_processes(of))
        settle(scene)
    print(dict(seen), "of", max(2, RUNS // 5))


def model_processes(parent: int) -> list[int]:
    """Returns the model processes of a server."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_model = b"remit_server.models.local.host" in (entry / "cmdline").read_bytes()
            if is_model and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry.name))
    return found


def settle(scene: Scene) -> None:
    """Starts one more server, which settles what the killed ones left; then nothing may be left."""
    with served() as (name, _):
        server, turn = scene.started(REMIT_MODEL=name)
        assert server.result(turn)["status"] == "completed"
        server.exit()
    until(lambda: not list(marked()))
    assert isinstance(verify(scene.audit), Verified)
    kinds = Counter(record.event.kind for record in query_audit(scene.audit))
    assert kinds[AuditKind.PROCESS_STARTED] == kinds[AuditKind.PROCESS_ENDED] > 0
    assert not list((scene.workspace / "cache").iterdir())


@pytest.mark.slow
def test_BG_06_a_language_server_shows_it_and_ends_it_with_its_client(tmp_path: Path) -> None:
    need_sandbox()
    serves = call("start_process", command="python3 -m http.server 8123", port=8123)
    asks = call("run_command", command="curl -s http://127.0.0.1:8123/note.txt", near="p1")
    edits = (call("select_active_intent", intent="CODE"), call("write_file", path="note.txt", content="two\n"))
    again = (call("stop_process", process="p1"), serves, call("start_process", command=COMMAND, until="begun"))
    with Servers() as servers:
        scene = Scene(tmp_path, servers, (serves, asks), edits, (asks,), again)
        (scene.workspace / "note.txt").write_text("one\n")
        server, turn = scene.started()
        events = server.turn("t", turn, "allow")
        printed = [e["output"] for e in events if e["kind"] == "tool_result" and e["tool"] == "run_command"]
        assert not [e["error"] for e in events if e["kind"] == "tool_result" and e["error"]]
        assert ["one" in printed[0], "two" in printed[1]] == [True, True]
        changed = [(e["process"], e["state"]) for e in events if e["kind"] == "process_changed"]
        assert changed == [
            *(("p1", "started"), ("p1", "ready"), ("p1", "ended")),
            *(("p2", "started"), ("p2", "ready"), ("p3", "started"), ("p3", "ready")),
        ]
        status = server.result(server.request("remit/status", {"session_id": "s1"}))
        told = [(each["process"], each["running"], each["ports"]) for each in status["processes"]]
        assert told == [("p1", False, []), ("p2", True, [8123]), ("p3", True, [])]
        assert running()
        server.hang_up()
        until(lambda: not running())


@pytest.mark.slow
def test_BG_08_a_client_sends_a_command_to_the_background_while_its_turn_runs(tmp_path: Path) -> None:
    need_sandbox()
    with Servers() as servers:
        scene = Scene(tmp_path, servers, (call("run_command", command=COMMAND),), (STAYS_ON[1],))
        server, turn = scene.started()
        server.event("tool_output")
        asked = {"text": "/background", "session_id": f"s{scene.turns}"}
        server.request("workspace/executeCommand", {"command": "remit.chat.read", "arguments": [asked]})
        events = server.turn("t", turn, "allow")
        sent, read = (e for e in events if e["kind"] == "tool_result" and e["tool"] != "select_active_intent")
        assert (sent["ok"], sent["data"]["process"], "begun" in read["output"]) == (True, "p1", True)
        assert running()
        server.kill()
        until(lambda: not running())
        settle(scene)
