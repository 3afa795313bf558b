"""The intent matrix and work items in a real `remit serve` while their files change (INT-08; INT-10; INT-11)."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from messages import SAYS

from remit_server.cli.main import main

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

RULES = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }
  - { name: writes, match: { syscall: fs.write }, action: allow }
"""
OPENED = RULES + "intents: { READ_FILE: { tools: [read_file, write_file] } }\n"
NARROWED = "version: 1\nintents: { CODE: { tools: [edit_file] } }\n"
ITEMS = "active_intents: [{ id: A-1, owned_scope: ['src/**'] }]\n"
turns = count(1)


async def ended(client: Any, token: str) -> list[dict[str, Any]]:
    await client.until(lambda: [e for e in client.events(token) if e["kind"] == "run_completed"])
    return [each for each in client.events(token) if each["kind"] == "tool_result"]


async def call(client: Any, intent: str, path: str = "a.txt") -> str:
    """Runs a write of the person's own; returns `ok`, or the code of its error."""
    token = f"T{next(turns)}"
    part = {"type": "call", "tool": "write_file", "arguments": {"path": path, "content": token}, "intent": intent}
    client.start("remit/run", {"session_id": "s", "turn_id": token, "input": part, "partialResultToken": token})
    (result,) = await ended(client, token)
    return "ok" if result["ok"] else result["error"]["code"]


def save(file: Path, text: str) -> None:
    """Saves in one step, because a file that is emptied first has no rules for a moment."""
    file.parent.mkdir(exist_ok=True, parents=True)
    beside = file.with_name(f"{file.name}.new")
    beside.write_text(text)
    beside.replace(file)


async def reloaded(client: Any, file: Path, text: str) -> str:
    """Saves the file, waits until it counts, and returns the message about it."""
    before = len([n for n in client.notifications if n["method"] == "window/showMessage"])
    save(file, text)
    await client.until(lambda: len([n for n in client.notifications if n["method"] == "window/showMessage"]) > before)
    shown = [n["params"]["message"] for n in client.notifications if n["method"] == "window/showMessage"]
    return str(shown[-1])


async def test_INT_08_a_person_opens_and_a_project_narrows_while_the_server_runs(
    start_real: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    person, project = tmp_path / "config/policy.yaml", tmp_path / "work/.remit/policy.yaml"
    person.parent.mkdir()
    person.write_text(RULES)
    client = await start_real()
    await client.initialize()
    refused = "tool_not_allowed_for_intent"
    assert [await call(client, "READ_FILE"), await call(client, "CODE")] == [refused, "ok"]
    assert SAYS.is_now_in_force in await reloaded(client, person, OPENED)
    assert [await call(client, "READ_FILE"), await call(client, "CODE")] == ["ok", "ok"]
    assert SAYS.is_now_in_force in await reloaded(client, project, NARROWED)
    assert [await call(client, "READ_FILE"), await call(client, "CODE")] == ["ok", refused]
    wider = NARROWED.replace("edit_file", "run_command")
    assert "CODE would open run_command" in await reloaded(client, project, wider)
    assert [await call(client, "READ_FILE"), await call(client, "CODE")] == ["ok", refused]

    save(project, NARROWED)
    monkeypatch.chdir(tmp_path / "work")
    for name in ("config", "state", "data"):
        monkeypatch.setenv(f"REMIT_{name.upper()}_DIR", str(tmp_path / name))
    assert main(["policy", "show"]) == 0
    shown = capsys.readouterr().out
    assert "READ_FILE: read_file, write_file (changed by a policy file: +write_file)" in shown
    assert "CODE: edit_file, undo_changes (changed by a policy file: " in shown
    assert main(["policy", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["intents"]["READ_FILE"]["tools"] == ["read_file", "write_file"]
    action = {"syscall": "fs.write", "path": "a.txt", "tool": "write_file", "intent": "CODE"}
    assert main(["policy", "explain", "--action", json.dumps(action)]) == 3
    assert "the intent gate: `write_file` does not belong to intent CODE" in capsys.readouterr().out
    assert main(["policy", "explain", "--action", json.dumps(action | {"intent": "READ_FILE"})]) == 0


async def test_INT_10_a_step_of_the_model_is_held_to_its_work_item_and_traced(start_real: Any, tmp_path: Path) -> None:
    def step(*paths: str, item: str = "A-1") -> dict[str, Any]:
        declared = {"name": "select_active_intent", "arguments": {"intent": "CODE", "work_item": item}}
        writes = [{"name": "write_file", "arguments": {"path": path, "content": "x\n"}} for path in paths]
        return {"calls": [declared, *writes]}

    script = tmp_path / "says.json"
    script.write_text(json.dumps([step("src/a.txt"), step("b.txt"), {"text": "done"}, step("b.txt"), {"text": "done"}]))
    (tmp_path / "config").mkdir()
    (tmp_path / "config/policy.yaml").write_text(RULES)
    client = await start_real(REMIT_MODEL=f"script:{script}")
    file = client.root / ".orchestration/active_intents.yaml"
    file.parent.mkdir()
    file.write_text(ITEMS)
    await client.initialize()
    client.start(
        "remit/run",
        {"session_id": "s", "turn_id": "m1", "input": {"type": "text", "text": "go"}, "partialResultToken": "m1"},
    )
    results = await ended(client, "m1")
    assert [(each["ok"], each["rules"]) for each in results] == [(True, ["writes"]), (False, ["work-item.A-1"])]
    (line,) = map(json.loads, (file.parent / "agent_trace.jsonl").read_text().splitlines())
    assert (line["path"], line["work_item"], line["run_id"], line["tool"]) == ("src/a.txt", "A-1", "m1", "write_file")

    broken = await reloaded(client, file, "active_intents: [{ id: A-1 }]\n")
    assert f"{file}:1" in broken
    assert SAYS.is_now_in_force in await reloaded(client, file, ITEMS.replace("src/**", "*.txt"))
    client.start(
        "remit/run",
        {"session_id": "s", "turn_id": "m2", "input": {"type": "text", "text": "go"}, "partialResultToken": "m2"},
    )
    assert [each["ok"] for each in await ended(client, "m2")] == [True]
