"""Messages that once stopped a server or filled its memory, sent to a real one (LSP-02)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hammer import LspHammer
from messages import SAYS
from sent_cases import MEBI, Case, frame

MOST_PROCESSOR_S = 2.0
MOST_MEMORY_MB = 100.0
HERE = "file:///nowhere/a.py"
ODD = {"range": "odd", "message": 7}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LspHammer]:
    """One server for all tests, because each message must leave it as it was."""
    tmp_path = tmp_path_factory.mktemp("server")
    (tmp_path / "script.json").write_text("[]")
    (tmp_path / "work").mkdir()
    homes = {f"REMIT_{name.upper()}_DIR": str(tmp_path / name) for name in ("config", "state", "data")}
    environment = {**os.environ, **homes, "REMIT_MODEL": f"script:{tmp_path / 'script.json'}"}
    command = (sys.executable, "-m", "remit_server.cli.main", "serve")
    with LspHammer(command, environment, tmp_path / "log") as hammer:
        hammer.initialize(tmp_path / "work")
        yield hammer


def message(method: str, params: Any, msg_id: Any = None) -> bytes:
    given = {} if msg_id is None else {"id": msg_id}
    return frame(json.dumps({"jsonrpc": "2.0", **given, "method": method, "params": params}).encode())


def case(method: str, params: Any, msg_id: Any = None) -> Case:
    return Case(method, method, message(method, params, msg_id), msg_id is not None, msg_id)


def run_of(**more: Any) -> dict[str, Any]:
    return {"session_id": "s", "turn_id": "t", "input": {"type": "text", "text": "x"}, **more}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "params"),
    [
        pytest.param("$/cancelRequest", {"id": [1]}, id="THR-protocol-cancels-of-a-list"),
        pytest.param("$/cancelRequest", {"id": {}}, id="THR-protocol-cancels-of-an-object"),
        pytest.param("$/cancelRequest", [], id="THR-protocol-cancels-of-nothing"),
        pytest.param("window/workDoneProgress/cancel", {"token": [1]}, id="THR-protocol-progress-cancels-of-a-list"),
        pytest.param("textDocument/didClose", {"textDocument": {"uri": [1]}}, id="THR-protocol-closes-of-a-list"),
        pytest.param(
            "textDocument/didOpen", {"textDocument": {"uri": "\ud800"}}, id="THR-protocol-opens-of-half-a-letter"
        ),
        pytest.param("$/setTrace", {"value": []}, id="THR-protocol-traces-of-a-list"),
    ],
)
def test_no_malformed_notification_costs_a_slot(server, method, params):
    server.send(message(method, params) * 300)
    assert "result" in server.request("remit/status", {})


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",  # a function that makes the message when it is sent, because it has megabytes
    [
        pytest.param(partial(case, "workspace/didChangeWatchedFiles", {"changes": "A" * 100_000}), id="THR-protocol-text-for-a-list"),
        pytest.param(
            partial(case, "textDocument/didChange", {"textDocument": {"uri": HERE, "version": 1}, "contentChanges": "A" * MEBI}),
            id="THR-protocol-text-for-changes",
        ),
        pytest.param(
            partial(case, "textDocument/didChange",
                {"textDocument": {"uri": HERE, "version": 1}, "contentChanges": ["A"] * 200_000},
            ),
            id="THR-protocol-texts-for-changes",
        ),
        pytest.param(
            partial(case, "textDocument/codeAction",
                {
                    "textDocument": {"uri": HERE},
                    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
                    "context": {"diagnostics": [ODD] * 100_000},
                },
                "asked",
            ),
            id="THR-protocol-odd-diagnostics",
        ),
        pytest.param(partial(case, "workspace/executeCommand", {"command": "x", "arguments": "A" * MEBI}, "asked"), id="THR-protocol-text-for-arguments"),
        pytest.param(
            partial(case, "remit/run", run_of(input={"type": "text", "text": "x", "attachments": [1] * 400_000}), "asked"),
            id="THR-protocol-odd-attachments",
        ),
        pytest.param(partial(case, "remit/run", run_of(input=[1] * 400_000), "asked"), id="THR-protocol-odd-parts"),
        pytest.param(partial(case, "remit/run", run_of(metadata=dict.fromkeys(map(str, range(90_000)), 1)), "asked"), id="THR-protocol-odd-metadata"),
        pytest.param(partial(case, "remit/generate", dict.fromkeys(map(str, range(90_000)), 1), "asked"), id="THR-protocol-unknown-fields"),
        pytest.param(lambda: Case("too many", "", message("x", [[]] * 4 * MEBI), answered=True), id="THR-protocol-millions-of-values"),
        pytest.param(partial(case, "A" * MEBI, {}, "asked"), id="THR-protocol-an-endless-method"),
    ],
)  # fmt: skip
def test_what_has_the_wrong_kind_costs_little(server, make):
    sent = make()
    before = server.begin()
    server.play(sent)
    server.note_memory(before)
    assert server.costs.problems == []
    assert server.costs.processor_s <= MOST_PROCESSOR_S
    assert server.costs.memory_mb <= MOST_MEMORY_MB
    assert sum(len(json.dumps(one)) for one in server.messages) < 10_000


@pytest.mark.slow
def test_THR_protocol_thousands_of_changes_of_a_long_text(server):
    server.begin()
    uri = (server.root / "long.py").as_uri()
    text = "some = line(of, code)\n" * 40_000
    server.send(
        message("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "x", "version": 1, "text": text}})
    )
    changes = [
        {"range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 4}}, "text": "any"}
        for line in range(30_000, 37_000)
    ]
    server.play(case("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": changes}))
    assert server.costs.processor_s <= MOST_PROCESSOR_S
    assert server.costs.problems == []


@pytest.mark.slow
def test_large_messages_that_are_right_are_answered(server):
    uri = (server.root / "a.py").as_uri()
    where = {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 1}}
    text = "name = 1\n" * 500_000
    server.send(
        message("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "x", "version": 1, "text": text}})
    )
    problems = [
        {"range": where, "message": "a problem", "severity": 2, "code": 7, "tags": [1], "data": {"any": [1]}}
    ] * 5_000
    asked = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": problems, "triggerKind": 1}}
    offered = server.request("textDocument/codeAction", asked)["result"]
    assert [action["title"] for action in offered][:3] == [
        SAYS.fix_with_remit,
        SAYS.explain_with_remit,
        SAYS.explain_with_remit,
    ]
    assert len(json.dumps(offered)) < 10_000, "an answer does not grow with what was sent"


@pytest.mark.slow
@pytest.mark.parametrize("more", [-3, -1, 1, 3])
def test_THR_protocol_a_wrong_length_is_answered_at_once_and_the_next_message_too(server, more):
    body = json.dumps({"jsonrpc": "2.0", "id": "wrong", "method": "remit/status", "params": {}}).encode()
    server.begin()
    answer = server.ask(b"Content-Length: %d\r\n\r\n%b" % (len(body) + more, body), "wrong")
    assert "result" in answer, "and nothing more was sent"
    assert "result" in server.request("remit/status", {})


@pytest.mark.slow
def test_THR_protocol_a_body_cut_off_is_answered_when_the_next_message_comes(server):
    body = json.dumps({"jsonrpc": "2.0", "id": "wrong", "method": "remit/status", "params": {}}).encode()
    server.begin()
    server.send(b"Content-Length: %d\r\n\r\n%b" % (len(body), body[:-9]))
    assert "result" in server.request("remit/status", {})
    assert [one["error"]["code"] for one in server.messages if one.get("id") is None] == [-32700]


@pytest.mark.slow
def test_THR_protocol_a_log_that_nobody_reads(tmp_path):
    """The pipe of the log fills up after some hundred malformed notifications; the server still ignores the rest."""
    reading, writing = os.pipe()
    environment = {**os.environ, "REMIT_STATE_DIR": str(tmp_path / "state")}
    (tmp_path / "work").mkdir()
    command = (sys.executable, "-m", "remit_server.cli.main", "serve")
    with LspHammer(command, environment, Path(f"/proc/self/fd/{writing}")) as server:
        server.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        server.send(message("textDocument/didChange", {"textDocument": 7}) * 5_000)
        assert "error" in server.request("remit/unknown", {})
    os.close(reading)
    os.close(writing)
