"""Decisions and rules, as an editor's views show them (LSP-11)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

POLICY = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: fs.read }, action: allow }
  - { name: secrets, match: { syscall: fs.read, path_glob: ["secret/**"] }, action: deny, reason: "keep out" }
  - { name: never, match: { syscall: fs.read, path_glob: ["secret/a"] }, action: allow }
"""


READ = {"type": "call", "tool": "read_file", "intent": "READ_FILE"}


async def used(start_real: Any, tmp_path: Path, policy: str = POLICY) -> Any:
    """Returns a client after two calls, of which one was allowed and one denied."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(policy)
    client = await start_real()
    (client.root / "secret").mkdir()
    for name in ("a.txt", "secret/b.txt"):
        (client.root / name).write_text("text\n")
    await client.initialize()
    for number, path in enumerate(("a.txt", "secret/b.txt")):
        request = {"session_id": "s", "turn_id": f"t{number}", "input": READ | {"arguments": {"path": path}}}
        await client.result("remit/run", request)
    return client


async def command(client: Any, name: str, **given: Any) -> Any:
    return await client.result("workspace/executeCommand", {"command": name, "arguments": [given]})


async def test_LSP_11_calls_are_listed_newest_first_and_filtered(start_real: Any, tmp_path: Path) -> None:
    client = await used(start_real, tmp_path)
    found = await command(client, "remit.audit.query")
    assert [(each["tool_name"], each["policy_decision"]) for each in found] == [
        ("read_file", "denied"),
        ("read_file", "allowed"),
    ]
    assert found[0]["policy_rule_name"] == "secrets"
    assert found[0]["policy_rule_at"].endswith("policy.yaml:4")
    assert len(await command(client, "remit.audit.query", decision="denied")) == 1
    assert len(await command(client, "remit.audit.query", limit=1)) == 1
    assert await command(client, "remit.audit.query", tool="write_file") == []
    assert await command(client, "remit.audit.query", session="other") == []


async def test_LSP_11_a_call_says_how_it_ended(start_real: Any, tmp_path: Path) -> None:
    client = await used(start_real, tmp_path)
    await client.result(
        "remit/run", {"session_id": "s", "turn_id": "gone", "input": READ | {"arguments": {"path": "no"}}}
    )
    found = await command(client, "remit.audit.query")
    assert [each["failed"] for each in found] == [True, True, False]
    assert found[0]["came_to"] == "cannot open `no`: there is no such file"
    assert found[2]["came_to"].startswith("read a.txt")


async def test_LSP_11_rules_are_listed_with_what_they_did_and_why_one_never_can(
    start_real: Any, tmp_path: Path
) -> None:
    client = await used(start_real, tmp_path)
    found = await command(client, "remit.policy.rules")
    rules = {each["rule"]: each for each in found["rules"]}
    assert found["calls"] == 2
    assert rules["secrets"]["hits"] == {"denied": 1}
    assert (rules["reads"]["action"], rules["reads"]["line"]) == ("allow", 3)
    assert rules["never"]["shadowed_by"] == "secrets"


async def test_LSP_11_before_the_first_call_there_is_nothing(start_real: Any) -> None:
    client = await start_real()
    await client.initialize()
    assert await command(client, "remit.audit.query") == []
    assert (await command(client, "remit.policy.rules"))["calls"] == 0


@pytest.mark.parametrize("given", [{"limit": 0}, {"limit": 10**6}, {"limit": "3"}, {"decision": 3}, {"who": "me"}])
async def test_LSP_11_what_cannot_be_asked_is_said(start_real: Any, given: dict[str, Any]) -> None:
    client = await start_real()
    await client.initialize()
    params = {"command": "remit.audit.query", "arguments": [given]}
    assert next(iter(given)) in json.dumps(await client.error("workspace/executeCommand", params))


async def open_policy(client: Any, tmp_path: Path, text: str) -> str:
    """Opens the person's policy in the editor with `text` as its unsaved content; returns its URI."""
    uri = (tmp_path / "config" / "policy.yaml").as_uri()
    document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    return uri


async def test_EDI_12_what_a_policy_would_change_is_told_before_it_is_saved(start_real: Any, tmp_path: Path) -> None:
    client = await used(start_real, tmp_path)
    uri = await open_policy(client, tmp_path, POLICY.replace("fs.read }, action: allow", "fs.read }, action: deny"))
    found = await command(client, "remit.policy.preview", uri=uri)
    assert (found["judged"], found["breaking"]) == (2, 1)
    (changed,) = found["changed"]
    assert (changed["about"], changed["was"], changed["now"]) == (["a.txt"], "allow", "deny")
    assert changed["now_rules"] == ["reads"]
    assert "fs.read }, action: allow" in (tmp_path / "config" / "policy.yaml").read_text(), "nothing is written"
    assert (await command(client, "remit.policy.preview", uri=uri, last=1))["changed"] == []


async def test_EDI_12_a_text_that_is_no_policy_and_a_file_that_is_none_are_said(
    start_real: Any, tmp_path: Path
) -> None:
    client = await used(start_real, tmp_path)
    uri = await open_policy(client, tmp_path, "version: 1\ncapabilities:\n  - nam: x\n")
    for named, said in (
        (uri, "policy.yaml:3"),
        ((client.root / "a.txt").as_uri(), "no open policy file"),
        (None, "`uri` is missing"),
    ):
        given = {"command": "remit.policy.preview", "arguments": [{"uri": named} if named else {}]}
        assert said in json.dumps(await client.error("workspace/executeCommand", given))


async def test_POL_19_a_running_server_gives_the_tags_and_no_client_does(start_real: Any, tmp_path: Path) -> None:
    rule = "  - { name: not-others, match: { caller_tag: [third_party] }, action: deny }\n"
    client = await used(start_real, tmp_path, POLICY + rule)
    call = {"type": "call", "tool": "read_file", "arguments": {"path": "a.txt"}, "intent": "READ_FILE"}
    asked = {"session_id": "tagged", "turn_id": "0", "input": {**call, "by": "model", "caller_tags": ["human"]}}
    assert "caller_tags" in json.dumps(await client.error("remit/run", asked))
    denied: list[bool] = []
    for turn, by in (("1", "model"), ("2", "person")):
        await client.result("remit/run", {"session_id": "tagged", "turn_id": turn, "input": {**call, "by": by}})
        (record, *_) = await command(client, "remit.audit.query", session="tagged")
        denied.append(record["policy_decision"] == "denied")
    assert denied == [True, False]


async def test_EDI_11_a_call_of_another_agent_is_judged_as_a_models(start_real: Any, tmp_path: Path) -> None:
    client = await used(start_real, tmp_path)
    for turn, by, tool in (("t8", "model", "read_file"), ("t9", "model", "undo_changes")):
        given = {"path": "a.txt"} if tool == "read_file" else {}
        intent = "READ_FILE" if tool == "read_file" else "CODE"
        call = {"type": "call", "tool": tool, "arguments": given, "intent": intent, "by": by}
        await client.result("remit/run", {"session_id": "tools", "turn_id": turn, "input": call})
    undo, read = await command(client, "remit.audit.query", session="tools")
    assert (read["policy_decision"], read["caller"]) == ("allowed", "agent")
    assert (undo["policy_decision"], undo["caller"]) == ("refused", "agent"), "what is the person's alone, no model may"
