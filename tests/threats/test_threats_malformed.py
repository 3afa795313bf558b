"""Thousands of malformed messages, sent to real processes: each is answered or ignored, and costs little
(LSP-02).

`REMIT_MALFORMED` sets how many each server gets; a smaller number takes the first ones of the same sequence.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hammer import Costs, GatewayHammer, LspHammer
from malformed import gateway_cases, lsp_cases, lsp_methods
from sent_cases import Case

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7_200)]

COUNT = int(os.environ.get("REMIT_MALFORMED", "2000"))
SEED = int(os.environ.get("REMIT_MALFORMED_SEED", "12"))
MOST_PROCESSOR_S = 2.0
MOST_MEMORY_MB = 100.0
BEGIN_AND_END = frozenset({"initialize", "exit", "shutdown"})


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "script.json").write_text("[]")
    homes = {f"REMIT_{name.upper()}_DIR": str(tmp_path / name) for name in ("config", "state", "data")}
    return {**os.environ, **homes, "REMIT_MODEL": f"script:{tmp_path / 'script.json'}"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


REMIT = (sys.executable, "-m", "remit_server.cli.main")


def report(costs: Costs) -> None:
    print(
        f"\n{costs.cases} cases: at most {costs.clock_s:.2f} s of the clock ({costs.slowest}), "
        f"{costs.processor_s:.2f} s of the processor, {costs.memory_mb:.0f} MB above the start"
    )
    assert costs.problems == []
    assert costs.processor_s <= MOST_PROCESSOR_S
    assert costs.memory_mb <= MOST_MEMORY_MB


def test_THR_protocol_malformed_messages_of_every_method(
    environment: dict[str, str], root: Path, tmp_path: Path
) -> None:
    with LspHammer([*REMIT, "serve"], environment, tmp_path / "log") as server:
        server.initialize(root)
        before = server.memory_mb()
        for case in lsp_cases(COUNT, SEED, lsp_methods().keys() - BEGIN_AND_END):
            server.play(case)
            if server.ended:
                break
        server.note_memory(before)
        report(server.costs)
        assert server.request("remit/status", {})["result"]["running_turns"] == 0


def test_THR_protocol_malformed_messages_before_initialize(
    environment: dict[str, str], root: Path, tmp_path: Path
) -> None:
    """The test starts a new server when one has accepted a message or has ended because of it."""
    costs = Costs()
    cases = _first_or_last(COUNT)
    case = next(cases, None)
    while case is not None:
        with LspHammer([*REMIT, "serve"], environment, tmp_path / "log") as server:
            server.ask(*server.probe(0))
            before = server.memory_mb()
            over = False
            while case is not None and not over:
                found = server.play(case, may_end=case.method == "exit")
                over = server.ended or any("result" in message for message in found)
                case = next(cases, None)
            if not server.ended:
                server.note_memory(before)
            costs.worse(server.costs)
    report(costs)


def _first_or_last(count: int) -> Iterator[Case]:
    """Yields messages with methods that begin or end a connection, one for every forty of `count`, with at most ten
    `exit`s."""
    exits = 0
    for case in lsp_cases(count // 40, SEED, BEGIN_AND_END):
        exits += case.method == "exit"
        if case.method != "exit" or exits <= 10:
            yield case


def test_THR_protocol_malformed_lines_of_every_command(environment: dict[str, str], tmp_path: Path) -> None:
    with GatewayHammer([*REMIT, "gateway"], environment, tmp_path / "log") as gateway:
        session = gateway.ask(b'{"command": "open-session", "request_id": "own"}\n', "own")["session_id"]
        before = gateway.memory_mb()
        for case in gateway_cases(COUNT, SEED, session):
            gateway.play(case)
            if gateway.ended:
                break
        gateway.note_memory(before)
        report(gateway.costs)
        assert gateway.ask(b'{"command": "check-availability", "request_id": "last"}\n', "last")["ok"]
