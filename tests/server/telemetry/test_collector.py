"""A real collector receives the spans of real turns (OBS-02)."""

from __future__ import annotations

import importlib.util
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from command_line import CommandLine

from remit_server.errors import SetupError
from remit_server.telemetry.live import Telemetry

PATIENCE_S = 30
STEPS = [{"calls": [intent("ANALYZE"), call("read_file", path="sesame.py")]}, {"text": "it says sesame"}]


def free_port() -> int:
    with closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


class Collector:
    """A collector that prints everything that it receives."""

    def __init__(self, folder: Path) -> None:
        found = importlib.util.find_spec("rotel")
        assert found is not None
        assert found.submodule_search_locations is not None
        program = Path(found.submodule_search_locations[0], "rotel-agent")
        self.printed, self.port = folder / "printed.txt", free_port()
        words = ["--otlp-http-endpoint", f"127.0.0.1:{self.port}", "--otlp-grpc-endpoint", f"127.0.0.1:{free_port()}"]
        shows = ["--debug-log", "traces", "--debug-log", "metrics", "--debug-log-verbosity", "detailed"]
        with self.printed.open("wb") as out:
            self.process = subprocess.Popen(
                [program, "start", *words, "--exporter", "blackhole", *shows], stdout=out, stderr=out, cwd=folder
            )
        self.until("Starting")

    def until(self, text: str) -> str:
        ends = time.monotonic() + PATIENCE_S
        while text not in (said := self.printed.read_text(errors="replace")):
            assert time.monotonic() < ends, said
            time.sleep(0.05)
        return said


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    pytest.importorskip("rotel", reason="the collector of these tests has no wheel for this machine")
    started = Collector(tmp_path)
    yield started
    started.process.kill()
    started.process.wait()


@pytest.fixture
def remit(tmp_path: Path) -> CommandLine:
    workspace = tmp_path / "shop"
    workspace.mkdir()
    (workspace / "sesame.py").write_text("treasure = 1\n")
    script = tmp_path / "words.json"
    script.write_text(json.dumps(STEPS))
    made = CommandLine.alone(workspace, tmp_path)
    return CommandLine(workspace, {**made.environment, "REMIT_MODEL": f"script:{script}"})


@pytest.mark.slow
def test_OBS_02_a_turn_arrives_with_what_was_decided_and_without_contents(
    collector: Collector, remit: CommandLine
) -> None:
    endpoint = f"http://127.0.0.1:{collector.port}"
    done = remit("ask", "--json", "what is in sesame.py?", REMIT_OTLP_ENDPOINT=endpoint)
    assert done.code == 0, done.err
    said = collector.until("Name           : invoke_agent remit")
    for name in ("chat script", "execute_tool read_file"):
        assert re.search(rf"Name +: {name}", said), said
    ids = re.findall(r"Trace ID +: (\w+)", said)
    assert len(set(ids)) == 1
    for attribute in ("remit.intent: Str(ANALYZE)", "remit.verdict: Str(allow)", "remit.status: Str(completed)"):
        assert attribute in said
    said = collector.until("Name: remit.tool.duration")
    assert "service.name: Str(remit)" in said
    assert all(hidden not in said for hidden in ("sesame", "treasure", str(remit.workspace)))


@pytest.mark.slow
def test_OBS_02_a_collector_that_is_gone_fails_no_turn_and_the_log_says_so(remit: CommandLine) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    done = remit("ask", "--json", "what is in sesame.py?", REMIT_OTLP_ENDPOINT=endpoint)
    assert (done.code, done.err) == (0, "")
    (log,) = remit.state.glob("*/logs/remit.log")
    assert log.read_text().count(f"turns could not be sent to the collector at {endpoint}") == 1


@pytest.mark.slow
def test_OBS_02_off_unless_configured() -> None:
    assert Telemetry(None).begin_turn("s", "t") == ()
    code = "import sys; from remit_server.runtime import opening; sys.exit('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_OBS_02_without_its_library_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "remit_server.telemetry.exporter", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(SetupError, match="not installed: opentelemetry"):
        Telemetry("http://127.0.0.1:4318")


def test_OBS_02_another_collector_is_told_from_the_next_turn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    class Told:
        def __init__(self, endpoint: str) -> None:
            self.endpoint = endpoint

        def begin_turn(self, session_id: str, turn_id: str) -> Any:
            return self.endpoint

        def close(self) -> None:
            closed.append(self.endpoint)

    monkeypatch.setattr("remit_server.telemetry.exporter.open_exporter", Told)
    telemetry = Telemetry("http://one")
    telemetry.change("http://one")
    assert telemetry.begin_turn("s", "t") == ("http://one",)
    telemetry.change("http://two")
    assert telemetry.begin_turn("s", "t") == ("http://two",)
    telemetry.change(None)
    assert telemetry.begin_turn("s", "t") == ()
    ends = time.monotonic() + PATIENCE_S
    while sorted(closed) != ["http://one", "http://two"]:
        assert time.monotonic() < ends
        time.sleep(0.01)
