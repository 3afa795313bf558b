"""The chat's commands over plain LSP, with the real runtime: the same table as in the terminal (CLI-09)."""

from __future__ import annotations

import pytest
import pytest_asyncio
from messages import SAYS

from remit_server.chat.commands import COMMANDS

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

POLICY = """version: 1
capabilities:
  - { name: r, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }
  - { name: w, match: { syscall: fs.write, path_glob: ["**"] }, action: allow }
"""


@pytest_asyncio.fixture(loop_scope="module")
async def client(start_real, tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/policy.yaml").write_text(POLICY)
    client = await start_real()
    (client.root / "notes.md").write_text("# Notes\n")
    (client.root / "docs").mkdir()
    await client.initialize()
    return client


async def value(client, name, **given):
    return await client.result("workspace/executeCommand", {"command": name, "arguments": [given]})


async def test_CLI_09_every_command_is_offered_and_explained(client):
    found = await value(client, "remit.chat.complete", text="/")
    here = [name for name in COMMANDS if name != "quit"]
    assert [each["text"] for each in found] == here
    assert all(each["start"] == 1 and each["meaning"] for each in found)
    (pin,) = await value(client, "remit.chat.complete", text="/pi")
    assert (pin["text"], pin["start"]) == ("pin", 1)
    said = (await value(client, "remit.chat.read", text="/help"))["text"]
    assert all(f"`/{name}" in said for name in here)


async def test_CLI_09_files_are_completed_in_utf_16(client):
    (found,) = await value(client, "remit.chat.complete", text="🎉🎉 see @no")
    assert found == {"text": "notes.md", "start": len("🎉🎉 see @".encode("utf-16-le")) // 2, "meaning": ""}
    (folder,) = await value(client, "remit.chat.complete", text="@do")
    assert folder["text"] == "docs/"


async def test_CLI_09_a_message_becomes_what_a_client_runs(client):
    (client.root / "docs").mkdir(exist_ok=True)
    (client.root / "docs" / "style.md").write_text("Short sentences.\n")
    await value(client, "remit.chat.read", text="/pin docs/style.md", session_id="s")
    reply = await value(client, "remit.chat.read", text="read @notes.md", session_id="s")
    (part,) = reply["input"]
    assert [each["path"] for each in part["attachments"]] == ["docs/style.md", "notes.md"]
    again = await value(client, "remit.chat.read", text="and now", session_id="s")
    assert again["input"][0]["attachments"] == []
    own = await value(client, "remit.chat.read", text="!git status", session_id="s")
    assert (own["input"][0]["tool"], own["input"][0]["arguments"]) == (
        "run_command",
        {"command": "git status", "network": []},
    )


async def test_CLI_09_a_plain_editor_sends_lines_and_is_told(client):
    sent = await value(client, "remit.chat.send", text="/model built-in")
    assert "built-in" in sent["reply"]["text"]
    assert sent["result"] is None
    messages = [n["params"]["message"] for n in client.notifications if n["method"] == "window/showMessage"]
    assert messages[-1] == sent["reply"]["text"]
    asked = await value(client, "remit.chat.send", text="hello")
    assert asked["reply"]["model"] == "built-in"
    assert asked["result"]["status"] in {"completed", "declined"}
    new = await value(client, "remit.chat.send", text="/new")
    assert new["reply"]["session_id"] != asked["reply"]["session_id"]
    later = await value(client, "remit.chat.send", text="hello")
    assert later["reply"]["session_id"] == new["reply"]["session_id"]
    loaded = await value(client, "remit.chat.send", text=f"/load {asked['reply']['session_id']}")
    assert (loaded["reply"]["loads"], loaded["reply"]["session_id"]) == (True, asked["reply"]["session_id"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("/stat", "/stats"),
        ("/nothing-like-it", "`/help` lists them"),
        ("!", "try `!git log -3`"),
        ("/load", "/load 2"),
    ],
)
async def test_CLI_09_what_cannot_be_followed_is_an_error_with_words(client, text, says):
    answer = await client.error(
        "workspace/executeCommand", {"command": "remit.chat.send", "arguments": [{"text": text}]}
    )
    assert says in answer["data"]["fix"]


@pytest.mark.parametrize("name", ["remit.chat.read", "remit.chat.complete", "remit.chat.send"])
async def test_CLI_09_wrong_arguments_say_how_they_should_look(client, name):
    for arguments in ([], [{}], [{"text": 5}], [{"text": "x", "session": "y"}]):
        answer = await client.error("workspace/executeCommand", {"command": name, "arguments": arguments})
        assert answer["code"] == -32602
        assert "session_id?" in answer["data"]["fix"]


async def test_EDI_06_the_models_to_choose_from_are_listed_with_the_configured_one(client):
    listed = await value(client, "remit.model.list")
    (configured,) = [each for each in listed if each["configured"]]
    assert configured["reference"].startswith("script:")
    assert "built-in" in [each["reference"] for each in listed]
    assert all(each["about"] and isinstance(each["usable"], bool) for each in listed)


async def test_FLW_08_the_budget_is_told_and_a_locked_explore_mode_says_what_opens_it(client):
    said = (await value(client, "remit.chat.read", text="/budget"))["text"]
    assert SAYS.there_is_no_budget_yet in said
    (audit,) = client.root.parent.rglob("audit.sqlite3")
    account = audit.with_name("coverage.json")
    account.write_text('{"by": "pytest", "baseline": 90, "now": 80}')
    try:
        said = (await value(client, "remit.chat.read", text="/budget"))["text"]
        assert SAYS.explore_mode_is_locked in said
        sent = await value(client, "remit.chat.send", text="/debug")
        assert sent["result"]["status"] == "denied"
        assert any(SAYS.write_tests_in_strict_mode in str(told) for told in client.notifications)
        status = (await value(client, "remit.chat.read", text="/status"))["text"]
        assert "explore mode" in status
    finally:
        account.unlink()


async def test_FLW_10_without_work_under_review_there_is_nothing_to_approve(client):
    for command in ("/approve", "/reject"):
        asked = {"command": "remit.chat.read", "arguments": [{"text": command}]}
        refused = await client.error("workspace/executeCommand", asked)
        assert SAYS.there_is_nothing_to_review in refused["message"]


async def test_FLW_07_a_chat_tells_of_its_own_mode_and_not_of_the_session_used_last(client):
    first = (await value(client, "remit.chat.send", text="/new"))["reply"]["session_id"]
    await value(client, "remit.chat.send", text="/strict", session_id=first)
    other = (await value(client, "remit.chat.send", text="/new"))["reply"]["session_id"]
    await value(client, "remit.chat.send", text="hello", session_id=other)
    said = (await value(client, "remit.chat.read", text="/status", session_id=first))["text"]
    assert "workflow: strict mode" in said
    said = (await value(client, "remit.chat.read", text="/status", session_id=other))["text"]
    assert "workflow: explore mode" in said
    asked = await value(client, "remit.chat.send", text="hello", session_id=first)
    assert asked["result"]["session_id"] == first, "it is not the one that the chat went to"
