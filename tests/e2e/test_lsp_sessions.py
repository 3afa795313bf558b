"""One session that is used in an editor and in the terminal in turn (SES-02, SES-04, SES-05)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from lsp_pipe import PipeClient
from running_server import RunningServer
from threat_bench import own

from remit_server.sessions.session_file import SessionFile

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def server(tmp_path: Path) -> Any:
    with RunningServer(tmp_path) as running:
        yield running


def terminal(server: RunningServer) -> CommandLine:
    return CommandLine(server.workspace, server.environment)


def command(client: PipeClient, name: str, /, **argument: Any) -> Any:
    return client.result(client.request("workspace/executeCommand", {"command": name, "arguments": [argument]}))


def test_SES_02_a_session_goes_from_editor_to_terminal_and_back(server: RunningServer) -> None:
    """The session begins in the editor, is resumed, forked and undone in the terminal, and is seen in the editor
    again."""
    server.call("write_file", path="a.py", content="one\n")
    (listed,) = command(server.client, "remit.session.list")
    remit = terminal(server)
    assert [each["session_id"] for each in remit("session", "list", "--json").lines] == [listed["session_id"]]

    assert remit("--resume", listed["session_id"], "say which file defines x").code in {0, 1}
    assert remit("session", "fork", "--name", "copy").code == 0
    assert remit("session", "undo", listed["session_id"]).code == 0
    assert not (server.workspace / "a.py").exists()

    names = {each["name"] for each in command(server.client, "remit.session.list")}
    assert names == {None, "copy"}
    loaded = command(server.client, "remit.session.load", session=listed["session_id"])
    kinds = [record["type"] for record in loaded["records"]]
    assert kinds.count("turn_start") == 3
    assert [record["reverts"] != [] for record in loaded["records"] if record["type"] == "changes"] == [False, True]
    done = command(server.client, "remit.redo", session=listed["session_id"])
    assert (done["status"], done["changed"]) == ("completed", ["a.py"])
    assert (server.workspace / "a.py").read_text() == "one\n"


def test_SES_02_loading_makes_no_call_again(server: RunningServer) -> None:
    server.call("run_command", command="echo x >> ran.txt; echo ran")
    server.call("write_file", path="a.py", content="one\n")
    remit = terminal(server)
    intents = len(remit("audit", "log", "--json", "-n", "1000").of("tool_intent"))
    before = sorted((path, path.stat().st_mtime_ns) for path in server.workspace.rglob("*"))
    for _ in range(3):
        loaded = command(server.client, "remit.session.load")
        assert "run_command" in {record.get("name") for record in loaded["records"]}
    assert remit("session", "show").code == 0
    assert sorted((path, path.stat().st_mtime_ns) for path in server.workspace.rglob("*")) == before
    assert len(remit("audit", "log", "--json", "-n", "1000").of("tool_intent")) == intents > 0


def test_SES_04_every_command_over_plain_lsp(server: RunningServer) -> None:
    server.call("write_file", path="a.py", content="one\n")
    client = server.client
    named = command(client, "remit.session.rename", name="mine")
    assert named["name"] == "mine"
    copy = command(client, "remit.session.fork", session="mine", name="copy", message=1)
    assert copy["forked_from"] == named["session_id"]
    assert "# mine\n" in command(client, "remit.session.export", session="mine")["text"]
    assert "<!doctype html>" in command(client, "remit.session.export", session="mine", format="html")["text"]
    assert command(client, "remit.session.search", words="A.PY")
    assert command(client, "remit.session.stats", session="mine")["messages"]["tool_calls"] == 1
    assert command(client, "remit.session.delete", session="copy") == {"session_id": copy["session_id"]}
    assert command(client, "remit.undo", session="mine")["changed"] == ["a.py"]
    said = command(client, "remit.undo", session="mine")
    assert (said["status"], "there is nothing to undo" in said["message"]) == ("failed", True)
    fresh = command(client, "remit.session.new")["session_id"]
    assert fresh not in {each["session_id"] for each in command(client, "remit.session.list")}


@pytest.mark.parametrize(
    ("name", "argument", "code"),
    [
        ("remit.session.load", {"session": "nobody"}, "not_found"),
        ("remit.session.load", {"session": 5}, "invalid_request"),
        ("remit.session.load", {"sesion": "x"}, "invalid_request"),
        ("remit.session.fork", {"message": 99}, "invalid_request"),
        ("remit.session.rename", {"name": "7"}, "invalid_request"),
        ("remit.session.rename", {}, "invalid_request"),
        ("remit.session.export", {"format": "exe"}, "invalid_request"),
        ("remit.session.delete", {}, "invalid_request"),
        ("remit.undo", {"session": "nobody"}, "not_found"),
    ],
)
def test_SES_04_what_cannot_be_done_is_said(
    server: RunningServer, name: str, argument: dict[str, Any], code: str
) -> None:
    server.call("write_file", path="a.py", content="one\n")
    request = server.client.request("workspace/executeCommand", {"command": name, "arguments": [argument]})
    error = server.client.answers(request)[request]["error"]
    assert error["data"]["code"] == code
    assert error["data"]["fix"]


def test_SES_03_a_turn_in_a_session_that_the_terminal_uses_is_refused(server: RunningServer) -> None:
    server.call("write_file", path="a.py", content="one\n")
    (session,) = command(server.client, "remit.session.list")
    (path,) = (server.folder / "state").glob(f"*/sessions/{session['file']}")
    other = SessionFile(path)
    other.acquire()
    request = server.client.run("t9", own("read_file", path="a.py"))
    events = server.client.turn("t9", request, "deny")
    assert events[-1]["result"]["error"]["code"] == "busy"
    other.close()
