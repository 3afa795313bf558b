"""A file is renamed, deleted or made while a change to it waits: the question is withdrawn, and the person is told
(LSP-15)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from messages import SAYS
from reviewing import EDITS, LINES, Reviewing

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

OPERATIONS = ("didCreate", "willRename", "didRename", "willDelete", "didDelete")
KNOWS: dict[str, Any] = {"workspace": {**EDITS, "fileOperations": dict.fromkeys(OPERATIONS, True)}}
WATCHES: dict[str, Any] = {
    "workspace": {**EDITS, "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True}}
}


def act(client: Any, how: str) -> list[tuple[str, dict[str, Any]]]:
    """Returns the notifications and requests that a client sends before and after it has done it."""
    root = client.root.as_uri()
    one = {"files": [{"uri": f"{root}/b.txt"}]}
    renamed = {"files": [{"oldUri": f"{root}/b.txt", "newUri": f"{root}/c.txt"}]}
    over = {"files": [{"oldUri": f"{root}/z.txt", "newUri": f"{root}/b.txt"}]}
    return {
        "renamed": [("workspace/willRenameFiles", renamed), ("workspace/didRenameFiles", renamed)],
        "renamed over it": [("workspace/didRenameFiles", over)],
        "deleted": [("workspace/willDeleteFiles", one), ("workspace/didDeleteFiles", one)],
        "with its folder": [("workspace/didDeleteFiles", {"files": [{"uri": root}]})],
    }[how]


@pytest.mark.parametrize("how", ["renamed", "renamed over it", "deleted", "with its folder"])
async def test_LSP_15_a_question_about_a_file_that_moves_is_taken_back(start_real, tmp_path, no_answer, how) -> None:
    reviewing = Reviewing(await start_real(), lambda _: no_answer)
    client = reviewing.client
    answer = await reviewing.begin(tmp_path, KNOWS)
    assert set(reviewing.announced["workspace"]["fileOperations"]) == set(OPERATIONS)
    await reviewing.asked()
    (asked,) = (each for each in client.asked if each["method"] == "window/showMessageRequest")
    for method, params in act(client, how):
        if method.startswith("workspace/will"):
            assert await client.result(method, params) is None
        else:
            client.notify(method, params)
    await answer
    assert SAYS.while_a_change_to_it in await outcome(client)
    told = [n["params"]["message"] for n in client.notifications if n["method"] == "window/showMessage"]
    did = "deleted" if "d" in how[:1] or how == "with its folder" else "renamed"
    assert f"Remit: `b.txt` was {did} while a change to it waited for an answer: nothing was written" in told[0]
    await client.until(lambda: [n for n in client.notifications if n["method"] == "$/cancelRequest"])
    # A later answer allows nothing.
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "Allow once"}})
    assert await reviewing.command("list") == []
    assert reviewing.text == "".join(LINES)
    assert await asyncio.to_thread((client.root / "b.txt").read_text) == "".join(LINES)


async def test_LSP_15_files_of_a_question_are_watched_while_it_waits(start_real, tmp_path, no_answer) -> None:
    """Another program deletes the file; an editor may also delete it while it saves, and put it back at once."""
    reviewing = Reviewing(await start_real(), lambda _: no_answer)
    client = reviewing.client
    client.handlers["client/registerCapability"] = client.handlers["client/unregisterCapability"] = lambda _: None
    answer = await reviewing.begin(tmp_path, WATCHES)
    assert not reviewing.announced["workspace"].get("fileOperations")
    await client.until(lambda: sent(client, "client/registerCapability"))
    (registered,) = sent(client, "client/registerCapability")[0]["registrations"]
    assert registered["method"] == "workspace/didChangeWatchedFiles"
    (watcher,) = registered["registerOptions"]["watchers"]
    assert watcher["globPattern"] == {"baseUri": client.root.as_uri(), "pattern": "b.txt"}
    gone = {"changes": [{"uri": (client.root / "b.txt").as_uri(), "type": 3}]}
    client.notify("workspace/didChangeWatchedFiles", gone)
    assert len(await reviewing.command("list")) == 1
    await asyncio.to_thread((client.root / "b.txt").unlink)
    client.notify("workspace/didChangeWatchedFiles", gone)
    await answer
    assert SAYS.while_a_change_to_it in await outcome(client)
    await client.until(lambda: sent(client, "client/unregisterCapability"))
    (ended,) = sent(client, "client/unregisterCapability")[0]["unregisterations"]
    assert ended["id"] == registered["id"]
    assert not await asyncio.to_thread((client.root / "b.txt").exists)


async def outcome(client: Any) -> str:
    """Returns what the audit log says of the call, including what the model was told."""
    query = {"command": "remit.audit.query", "arguments": [{"tool": "write_file"}]}
    (call,) = await client.result("workspace/executeCommand", query)
    told = await client.result("workspace/textDocumentContent", {"uri": f"remit-audit:/{call['number']}"})
    text: str = told["text"]
    return text


def sent(client: Any, method: str) -> list[Any]:
    return [each["params"] for each in client.asked if each["method"] == method]


async def test_LSP_15_a_file_that_is_made_takes_back_the_proposal_to_make_it(start_real, tmp_path, no_answer) -> None:
    reviewing = Reviewing(await start_real(), lambda _: no_answer)
    client = reviewing.client
    call = {"name": "write_file", "arguments": {"path": "new.txt", "content": "theirs\n"}}
    steps = [{"calls": [{"name": "select_active_intent", "arguments": {"intent": "CODE"}}, call]}, {"text": "done"}]
    await reviewing.prepare(tmp_path, KNOWS)
    (tmp_path / "script.json").write_text(json.dumps(steps))
    params = {"command": "remit.ask", "arguments": ["go"], "workDoneToken": "mine"}
    _, answer = client.start("workspace/executeCommand", params)
    await reviewing.asked()
    (client.root / "new.txt").write_text("mine\n")
    client.notify("workspace/didCreateFiles", {"files": [{"uri": (client.root / "new.txt").as_uri()}]})
    await answer
    assert SAYS.while_a_change_to_it in await outcome(client)
    assert await asyncio.to_thread((client.root / "new.txt").read_text) == "mine\n"


async def test_LSP_15_what_is_pinned_follows_a_file_that_is_renamed(start_real) -> None:
    client = await start_real()
    (client.root / "notes.md").write_text("x\n")
    await client.initialize(KNOWS)
    send = {"command": "remit.chat.read", "arguments": [{"text": "/pin notes.md"}]}
    await client.result("workspace/executeCommand", send)
    await asyncio.to_thread((client.root / "notes.md").rename, client.root / "read.md")
    old, new = ((client.root / name).as_uri() for name in ("notes.md", "read.md"))
    client.notify("workspace/didRenameFiles", {"files": [{"oldUri": old, "newUri": new}]})
    read = {"command": "remit.chat.read", "arguments": [{"text": "explain it"}]}
    (part,) = (await client.result("workspace/executeCommand", read))["input"]
    assert [each["path"] for each in part["attachments"]] == ["read.md"]
