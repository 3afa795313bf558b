"""Several workspace folders in one editor: each has its own policy, audit log, sessions and documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from messages import SAYS
from random_model import kept_model

from remit_server.runtime.own_files.places import workspace_key

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

NO_READING = """
version: 1
capabilities:
  - name: no-reading
    match: { syscall: fs.read }
    action: deny
    reason: "nothing of this folder is read"
"""


@pytest.fixture
def second(tmp_path: Path) -> Path:
    folder = tmp_path / "second"
    folder.mkdir()
    return folder


def folders(*roots: Path) -> list[dict[str, str]]:
    return [{"uri": root.as_uri(), "name": root.name} for root in roots]


def read(folder: Path | None, turn: str) -> dict[str, Any]:
    """Returns a request of the person's own to read `a.txt`, which needs no model."""
    call = {"type": "call", "tool": "read_file", "arguments": {"path": "a.txt"}, "intent": "READ_FILE"}
    context = {"context": {"workspace_folder": str(folder)}} if folder else {}
    return {"session_id": "s", "turn_id": turn, "input": call, **context}


async def test_each_folder_has_its_own_policy_and_audit_log(start_real, second, tmp_path):
    client = await start_real()
    for root in (client.root, second):
        (root / "a.txt").write_text(f"of {root.name}\n")
    (second / ".remit").mkdir()
    (second / ".remit" / "policy.yaml").write_text(NO_READING)
    await client.initialize(workspaceFolders=folders(client.root, second))
    outcomes = {}
    for root in (client.root, second):
        token = f"T-{root.name}"
        await client.result("remit/run", {**read(root, root.name), "partialResultToken": token})
        (outcomes[root.name],) = [e for e in client.events(token) if e["kind"] == "tool_result"]
    assert "of work" in outcomes["work"]["output"]
    assert not outcomes["second"]["ok"]
    assert outcomes["second"]["rules"] == ["no-reading"]
    logs = [tmp_path / "state" / workspace_key(root.resolve()) for root in (client.root, second)]
    assert all(any(log.iterdir()) for log in logs)
    said = await client.result("workspace/executeCommand", {"command": "remit.audit.verify"})
    assert said["ok"]
    assert str(client.root.resolve()) in said["message"]
    assert str(second.resolve()) in said["message"]
    assert await client.shutdown() == 0


async def test_a_request_that_names_no_folder_is_refused_where_there_are_several(start, second):
    """An edit in the wrong folder is worse than a question."""
    client = await start()
    await client.initialize(workspaceFolders=folders(client.root, second))
    _, answer = client.run("say hello")
    error = (await answer)["error"]["data"]
    assert error["what"] == SAYS.it_is_not_known_which
    assert str(second.resolve()) in error["why"]
    asked = await client.error("workspace/executeCommand", {"command": "remit.ask", "arguments": ["say hello"]})
    assert "workspace_folder" in asked["data"]["fix"]


async def test_a_folder_that_is_not_open_is_refused_by_name(start, second, tmp_path):
    client = await start()
    await client.initialize(workspaceFolders=folders(client.root, second))
    for folder in (str(tmp_path), "/nowhere", "a\0b", "untitled:1", second.as_uri() + "/below"):
        _, answer = client.run("say hello", context={"workspace_folder": folder})
        assert SAYS.is_not_open_here in (await answer)["error"]["data"]["what"]


@pytest.mark.parametrize("spelled", ["path", "uri", "link", "document", "file"])
async def test_a_folder_is_named_by_path_uri_link_or_document(start, second, tmp_path, spelled):
    client = await start()
    (tmp_path / "link").symlink_to(second)
    await client.initialize(workspaceFolders=folders(client.root, second))
    uri = (second / "x.py").as_uri()
    client.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "x", "version": 1, "text": "x"}})
    named = {
        "path": {"workspace_folder": str(second)},
        "uri": {"workspace_folder": second.as_uri()},
        "link": {"workspace_folder": str(tmp_path / "link")},
        "document": {"uri": uri},
        "file": {"uri": (second / "not" / "open.py").as_uri()},
    }[spelled]
    arguments = ["where", named]
    result = await client.result("workspace/executeCommand", {"command": "remit.ask", "arguments": arguments})
    assert result["final_output"] == str(second.resolve())


async def test_a_folder_that_comes_later_knows_what_was_open_before(start, second):
    client = await start()
    client.handlers["workspace/applyEdit"] = lambda params: applied(client, params)
    edits = {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
    await client.initialize({"workspace": edits}, workspaceFolders=folders(client.root))
    uri = (second / "cart.py").as_uri()
    document = {"uri": uri, "languageId": "x", "version": 1, "text": "total = 1\n"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    change = {"event": {"added": folders(second), "removed": []}}
    client.notify("workspace/didChangeWorkspaceFolders", change)
    _, answer = client.run("edit cart.py", context={"workspace_folder": str(second)})
    assert (await answer)["result"]["status"] == "completed"


def children(pid: int) -> list[str]:
    """Returns the command lines of a process's children."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    pids = [child for listed in found for child in listed.read_text().split()]
    return [Path(f"/proc/{child}/cmdline").read_text() for child in pids]


def applied(client: Any, params: Any) -> dict[str, bool]:
    """Applies the edit as an editor does, and sends the new text."""
    (change,) = params["edit"]["documentChanges"]
    document = change["textDocument"]
    client.change(document["uri"], document["version"] + 1, {"text": "subtotal = 1\n"})
    return {"applied": True}


async def test_a_folder_that_goes_takes_its_turns_with_it(start, second, runtime_log):
    client = await start()
    await client.initialize(workspaceFolders=folders(client.root, second))
    _, waiting = client.run("wait", token="T", context={"workspace_folder": str(second)})
    await client.until(lambda: client.events("T"))
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": folders(second)}})
    assert (await waiting)["result"]["status"] == "cancelled"
    assert (await client.result("remit/status"))["folders"] == [str(client.root.resolve())]
    assert await client.shutdown() == 0
    assert "closed" in runtime_log()


async def test_an_answer_reaches_the_folder_that_asked(start, second):
    client = await start()
    await client.initialize(remit={"approvals": "stream"}, workspaceFolders=folders(client.root, second))
    assert (await client.result("remit/status"))["workspace"] == str(client.root.resolve())
    _, answer = client.run("ask", token="T", context={"workspace_folder": str(second)})
    await client.until(lambda: [e for e in client.events("T") if e["kind"] == "approval_required"])
    receipt = await client.result("remit/approval/respond", {"approval_id": "a1", "decision": "allow"})
    assert receipt["accepted"]
    assert (await answer)["result"]["status"] == "completed"
    assert (second / "target.txt").exists()
    assert not (client.root / "target.txt").exists()


async def test_status_tells_of_the_folder_that_is_named_and_lists_all(start, second):
    client = await start()
    told = await client.initialize(workspaceFolders=folders(client.root, second, client.root))
    assert told["capabilities"]["workspace"]["workspaceFolders"] == {"supported": True, "changeNotifications": True}
    status = await client.result("remit/status", {"workspace_folder": str(second)})
    assert status["workspace"] == str(second.resolve())
    assert status["folders"] == [str(client.root.resolve()), str(second.resolve())]


async def test_a_document_belongs_to_the_innermost_folder(start):
    client = await start()
    inner = client.root / "packages" / "inner"
    inner.mkdir(parents=True)
    await client.initialize(workspaceFolders=folders(client.root, inner))
    uri = client.open("packages/inner/cart.py", "total = 1\n")
    span = {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 1}}
    params = {"textDocument": {"uri": uri}, "range": span, "context": {"diagnostics": []}}
    action, *_ = await client.result("textDocument/codeAction", params)
    command = {"command": action["command"], "arguments": ["where", {"uri": uri}]}
    asked = await client.result("workspace/executeCommand", command)
    assert action["arguments"] == ["explain total in cart.py", {"uri": uri}]
    assert asked["final_output"] == str(inner.resolve())


async def test_one_model_serves_all_folders(start_real, second):
    client = await start_real(REMIT_MODEL=kept_model(), REMIT_MAX_TOKENS="16")
    (client.root / "a.py").write_text("total = 1\n")
    (second / "b.py").write_text("total = 1\n")
    await client.initialize(workspaceFolders=folders(client.root, second))
    for root in (client.root, second):
        _, answer = client.run(
            "look up the definition of total_sum", turn=root.name, context={"workspace_folder": str(root)}
        )
        assert (await answer)["result"]["status"] == "completed"
    assert len([line for line in children(client.process.pid) if "remit_server.models.local.host" in line]) == 1
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": folders(client.root)}})
    _, answer = client.run(
        "look up the definition of total_sum", turn="again", context={"workspace_folder": str(second)}
    )
    assert (await answer)["result"]["status"] == "completed"
    assert await client.shutdown() == 0


async def test_LSP_06_a_folder_that_was_opened_through_a_link_has_paths_through_it(start_real, second, tmp_path):
    client = await start_real()
    alias, other = tmp_path / "alias", tmp_path / "other"
    alias.symlink_to(client.root)
    other.symlink_to(second)
    (client.root / "a.txt").write_text("here\n")
    (second / "a.txt").write_text("there\n")
    await client.initialize(workspaceFolders=folders(alias))

    async def outcome(path: Path, turn: str) -> tuple[bool, str | None]:
        call = {"type": "call", "tool": "read_file", "arguments": {"path": str(path)}, "intent": "READ_FILE"}
        await client.result(
            "remit/run", {"session_id": "s", "turn_id": turn, "input": call, "partialResultToken": turn}
        )
        (ended,) = [event for event in client.events(turn) if event["kind"] == "tool_result"]
        return ended["ok"], ended["error"] and ended["error"]["code"]

    assert await outcome(alias / "a.txt", "t1") == (True, None)
    assert await outcome(client.root / "a.txt", "t2") == (True, None)
    assert await outcome(other / "a.txt", "t3") == (False, "outside_workspace")
    assert await outcome(second / "a.txt", "t4") == (False, "outside_workspace")
