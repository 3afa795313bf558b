"""A real server uses only what its client announced, and says where a folder lies that is not on this machine
(LSP-04)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from messages import SAYS

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

WRITES = """\
version: 1
capabilities:
  - { name: any, match: { syscall: [fs.read, fs.write], path_glob: ["**"] }, action: allow }
"""
LITERALS = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["refactor"]}}}
ELSEWHERE = {
    "untitled:Untitled-1": ("has not been saved to a disk", "save it into a folder"),
    "vscode-remote://ssh-remote%2Bbox/home/me": ("other end of the editor's connection", "install Remit on that machine"),
    "vscode-vfs://github/owner/name": ("without a copy on a disk", "clone the repository"),
    "file://fileserver/share/project": ("on another machine, `fileserver`", "mount it"),
}  # fmt: skip


@pytest.mark.parametrize("uri", ELSEWHERE)
async def test_B11_a_folder_elsewhere_gets_a_message_of_its_own(start_real: Any, uri: str) -> None:
    """In an earlier version all had the same message, or one with a path of this machine that the URI does not mean."""
    client = await start_real()
    await client.initialize(rootUri=uri)
    data = (await client.error("remit/status"))["data"]
    why, fix = ELSEWHERE[uri]
    assert uri in data["what"]
    assert why in data["why"]
    assert fix in data["fix"]


@pytest.mark.parametrize("capabilities", [{}, {"textDocument": {"codeAction": {"dynamicRegistration": True}}}])
async def test_B11_a_client_without_code_action_literals_gets_commands(start_real: Any, capabilities: Any) -> None:
    client = await start_real()
    await client.initialize(capabilities)
    for action in await offers(client):
        assert isinstance(action["command"], str), "a `Command`, as LSP has it for such a client"
        assert set(action) <= {"title", "command", "arguments"}
    literal = await start_real()
    await literal.initialize({"textDocument": {"codeAction": LITERALS}})
    assert [action["kind"] for action in await offers(literal)]


async def offers(client: Any) -> list[Any]:
    """Returns the code actions on a name; asserts that there are some."""
    uri = client.open("a.py", "total = 1\n")
    here = {"line": 0, "character": 2}
    params = {"textDocument": {"uri": uri}, "range": {"start": here, "end": here}, "context": {"diagnostics": []}}
    found: list[Any] = await client.result("textDocument/codeAction", params)
    assert found
    return found


@pytest.fixture
def workspace(start_real: Any, tmp_path: Path) -> None:
    """A file to edit, and a policy that lets it be edited without a question."""
    del start_real  # this fixture makes the folder
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(WRITES)
    (tmp_path / "work" / "a.py").write_text("total = 1\n")


async def edit(client: Any, capabilities: Any) -> Any:
    """Runs an edit of the person's own in an open buffer, with an editor that applies it; returns the `tool_result`."""
    await client.initialize(capabilities)
    uri = client.open("a.py", "total = 1\n")

    def apply(_: Any) -> Any:
        client.change(uri, 2, {"text": "total = 2\n"})
        return {"applied": True}

    client.handlers["workspace/applyEdit"] = apply
    arguments = {"path": "a.py", "old_text": "= 1", "new_text": "= 2"}
    part = {"type": "call", "tool": "edit_file", "arguments": arguments, "intent": "CODE"}
    await client.result("remit/run", {"session_id": "s", "turn_id": "t", "input": part, "partialResultToken": "T"})
    (result,) = (event for event in client.events("T") if event["kind"] == "tool_result")
    return result


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    ("announced", "form"),
    [({}, "changes"), ({"documentChanges": False}, "changes"), ({"documentChanges": True}, "documentChanges")],
)
async def test_B11_edits_have_the_form_that_the_client_announced(start_real: Any, announced: Any, form: str) -> None:
    client = await start_real()
    result = await edit(client, {"workspace": {"applyEdit": True, "workspaceEdit": announced}})
    (asked,) = (one["params"] for one in client.asked if one["method"] == "workspace/applyEdit")
    assert list(asked["edit"]) == [form]
    assert result["ok"], result


@pytest.mark.usefixtures("workspace")
async def test_B11_where_no_retry_can_work_none_is_offered(start_real: Any) -> None:
    """An editor without edits will not take one later either, while `stale` suggests to read the file and try again."""
    client = await start_real()
    result = await edit(client, {})
    assert not result["ok"]
    assert (result["error"]["code"], result["error"]["retryable"]) == ("read_only", False)
    assert SAYS.does_not_take_edits in result["error"]["why"]
    assert [one["method"] for one in client.asked if one["method"] == "workspace/applyEdit"] == []


SHIFTED = "🙂 = 1\r\ntotal = 1 # 🙂é"


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    ("offered", "chosen", "end"),
    [
        (None, "utf-16", 15),
        (["utf-8", "utf-16", "utf-32"], "utf-16", 15),
        (["utf-7", "utf-32", "utf-8"], "utf-32", 14),
        (["utf-8"], "utf-8", 18),
        (["utf-7"], "utf-16", 15),
    ],
)
async def test_LSP_07_positions_count_what_was_agreed_on(start_real: Any, offered: Any, chosen: str, end: int) -> None:
    """UTF-16 if the client offers it, because every client and the other servers know it; otherwise the first one it
    offers."""
    client = await start_real()
    general = {} if offered is None else {"general": {"positionEncodings": offered}}
    edits = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
    found = await client.initialize({**edits, **general})
    assert found["capabilities"]["positionEncoding"] == chosen
    uri = client.open("a.py", "x\r\n" + SHIFTED)
    client.change(uri, 2, {"range": place(0, 0, 1, 0), "text": ""}, {"range": place(1, end, 1, end), "text": "!"})
    asked: list[Any] = []

    def apply(params: Any) -> Any:
        asked.append(params["edit"]["documentChanges"][0]["edits"][0])
        client.change(uri, 3, {"text": SHIFTED.replace("= 1 #", "= 2 #") + "!"})
        return {"applied": True}

    client.handlers["workspace/applyEdit"] = apply
    arguments = {"path": "a.py", "old_text": "total = 1 # 🙂é!", "new_text": "total = 2 # 🙂é!"}
    part = {"type": "call", "tool": "edit_file", "arguments": arguments, "intent": "CODE"}
    await client.result("remit/run", {"session_id": "s", "turn_id": "t", "input": part, "partialResultToken": "T"})
    (result,) = (event for event in client.events("T") if event["kind"] == "tool_result")
    assert result["ok"], result
    assert asked[0]["range"] == place(1, 0, 1, end + 1)


def place(line: int, character: int, end_line: int, end: int) -> Any:
    return {"start": {"line": line, "character": character}, "end": {"line": end_line, "character": end}}
