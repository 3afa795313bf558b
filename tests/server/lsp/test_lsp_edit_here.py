"""An edit for given lines of an open document, requested by a client that knows nothing of Remit (LSP-13)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from messages import SAYS

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

TEXT = "a = 1\nkey = 'ghp_%s'\nc = 3\n" % ("a" * 36)
EDIT = {"path": "src/a.py", "old_text": "c = 3", "new_text": "c = 4"}


async def edited(client: Any, *arguments: Any) -> Any:
    return await client.reply("workspace/executeCommand", {"command": "remit.edit", "arguments": list(arguments)})


async def test_LSP_13_the_lines_go_along_and_the_change_is_asked_about_as_any_other(
    start_real: Any, tmp_path: Path
) -> None:
    steps = [
        {
            "calls": [
                {"name": "select_active_intent", "arguments": {"intent": "CODE"}},
                {"name": "edit_file", "arguments": EDIT},
            ]
        },
        {"text": "done"},
        {"text": "no"},
    ]
    (tmp_path / "edit.json").write_text(json.dumps(steps))
    traffic = tmp_path / "traffic.jsonl"
    client = await start_real(REMIT_MODEL=f"script:{tmp_path / 'edit.json'}", REMIT_RECORD=str(traffic))
    asked: list[Any] = []

    def allow(params: Any) -> Any:
        asked.append(params)
        return params["actions"][0]

    client.handlers["window/showMessageRequest"] = allow
    client.handlers["workspace/applyEdit"] = lambda params: {"applied": False, "failureReason": "not now"}
    (client.root / "src").mkdir()
    (client.root / "src/a.py").write_text(TEXT)
    await client.initialize()
    uri = client.open("src/a.py", TEXT)
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert SAYS.names_no_open_document in (await edited(client, "x", {"uri": uri}))["error"]["data"]["why"]
    client.open("src/a.py", TEXT)
    client.handlers["workspace/applyEdit"] = lambda params: (
        client.change(uri, 2, {"text": TEXT.replace("c = 3", "c = 4")}),
        {"applied": True},
    )[1]
    result = (await edited(client, "make it four", {"uri": uri, "first_line": 2, "last_line": 9}))["result"]
    assert result["status"] == "completed", result
    assert len(asked) == 1
    assert "c = 4" in asked[0]["message"]
    said = traffic.read_text()
    assert "Selected in src/a.py, lines 2-9 (data, not a request)" in json.loads(json.dumps(said))
    assert "ghp_" not in said
    (client.root / ".env").write_text("KEY=1\n")
    hidden = client.open(".env", "KEY=hidden-value\n")
    await edited(client, "what is it", {"uri": hidden, "first_line": 1})
    assert SAYS.not_attached_policy_does_not in traffic.read_text()
    assert "hidden-value" not in traffic.read_text()


@pytest.mark.parametrize("lines", [{"first_line": 0}, {"first_line": 2, "last_line": 1}, {"first_line": "1"}])
async def test_LSP_13_lines_that_are_none_are_refused(start: Any, lines: Any) -> None:
    client = await start()
    await client.initialize()
    uri = client.open("a.py", "x\n")
    assert (await edited(client, "x", {"uri": uri, **lines}))["error"]["code"] == -32602


async def test_LSP_13_no_more_goes_along_than_a_message_can_hold(start: Any) -> None:
    client = await start()
    await client.initialize()
    uri = client.open("a.py", "x" * 200_000)
    assert (
        "100000 can be selected" in (await edited(client, "x", {"uri": uri, "first_line": 1}))["error"]["data"]["why"]
    )
