"""Code actions on the identifier under the cursor, for rich and plain clients (TOOL-07)."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from messages import SAYS
from reviewing import EDITS, Reviewing

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


def knows(**more):
    """Returns the capabilities of a client that knows code actions, not only commands."""
    literals = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["refactor"]}}}
    return {"textDocument": {"codeAction": {**literals, **more}}}


RESOLVES = knows(resolveSupport={"properties": ["edit", "command"]})
TAGS = knows(tagSupport={"valueSet": [1]})
RICH = {"approvals": "stream", "client_commands": ["remit.client.rename", "remit.client.ask"]}
TEXT = "🙂 = total\n"
TASKS = ["Explain with Remit", "Refactor with Remit", "Document with Remit", "Write Tests with Remit"]


async def offered(client, line=0, character=6, end=None, only=None, uri=None):
    uri = uri or client.open("src/cart.py", TEXT)
    start = {"line": line, "character": character}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": start, "end": {"line": line, "character": end or character}},
        "context": {"diagnostics": [], **({"only": only} if only else {})},
    }
    return await client.result("textDocument/codeAction", params)


async def test_a_rich_client_s_own_commands_are_named(start):
    client = await start(STAND_IN_ABILITIES="rename,explain")
    await client.initialize(RESOLVES, RICH)
    rename, explain = await offered(client)
    uri = (client.root / "src/cart.py").as_uri()
    assert rename["title"] == SAYS.rename_with_remit
    assert rename["kind"] == "refactor.rewrite.remit"
    assert rename["command"]["command"] == "remit.client.rename"
    assert rename["command"]["arguments"] == [{"uri": uri, "path": "src/cart.py", "name": "total"}]
    assert explain["command"]["command"] == "remit.client.ask"
    assert explain["command"]["arguments"] == [{"text": "explain total in src/cart.py"}]


@pytest.mark.parametrize("capabilities", [knows(), RESOLVES])
async def test_a_plain_client_gets_the_command_at_once_and_is_offered_no_rename(start, capabilities):
    """Holds for a client that could resolve it too: Helix announces that, but runs the command in the first answer."""
    client = await start(STAND_IN_ABILITIES="rename,explain")
    await client.initialize(capabilities)
    (explain,) = await offered(client)
    assert explain["title"] == SAYS.explain_with_remit
    assert explain["command"] == {
        "title": SAYS.explain_with_remit,
        "command": "remit.ask",
        "arguments": ["explain total in src/cart.py", {"uri": (client.root / "src/cart.py").as_uri()}],
    }


async def test_a_client_with_a_remit_rename_of_its_own(start):
    client = await start(STAND_IN_ABILITIES="rename,explain")
    await client.initialize(knows(), {"client_commands": ["remit.rename"]})
    rename, _ = await offered(client)
    assert rename["command"]["command"] == "remit.rename"


async def test_tagged_as_generated_where_the_client_knows_the_tag(start):
    client = await start(STAND_IN_ABILITIES="rename,explain")
    await client.initialize(TAGS)
    (explain,) = await offered(client)
    assert explain["tags"] == [1]


async def test_only_the_kinds_asked_for(start):
    client = await start(STAND_IN_ABILITIES="rename,explain")
    await client.initialize(knows(), RICH)
    titles = {
        only: [a["title"] for a in await offered(client, only=[only])]
        for only in ("refactor", "refactor.rewrite", "refactor.rew", "quickfix", "refactor.remit")
    }
    assert titles == {
        "refactor": [SAYS.rename_with_remit, SAYS.explain_with_remit],
        "refactor.rewrite": [SAYS.rename_with_remit],
        "refactor.rew": [],
        "quickfix": [],
        "refactor.remit": [SAYS.explain_with_remit],
    }


async def test_nothing_where_there_is_no_identifier_or_no_document(start):
    client = await start(STAND_IN_ABILITIES="rename,explain")
    await client.initialize(knows(), RICH)
    assert await offered(client, character=3) == []
    assert await offered(client, character=5, end=99) != []
    assert [action["title"] for action in await offered(client, character=0, end=9)] == [SAYS.explain_with_remit]
    assert await offered(client, uri="file:///elsewhere.py") == []
    assert await offered(client, uri="untitled:1") == []


@pytest.mark.parametrize(
    "capabilities", [{}, {"textDocument": {"codeAction": {"resolveSupport": {"properties": ["command"]}}}}]
)
async def test_a_client_that_knows_no_code_actions_gets_their_commands(start, capabilities):
    client = await start(STAND_IN_ABILITIES="rename,explain")
    told = await client.initialize(capabilities, {"client_commands": ["remit.rename"]})
    assert told["capabilities"]["codeActionProvider"] is True, "its options came with code actions"
    rename, explain = await offered(client)
    assert (rename["title"], rename["command"]) == (SAYS.rename_with_remit, "remit.rename")
    assert (explain["title"], explain["command"]) == (SAYS.explain_with_remit, "remit.ask")
    assert explain["arguments"] == ["explain total in src/cart.py", {"uri": (client.root / "src/cart.py").as_uri()}]


async def test_B12_what_the_model_cannot_do_is_not_offered(start):
    """If the chosen model cannot do it, neither rich nor plain clients are offered it."""
    client = await start(STAND_IN_ABILITIES="rename")
    await client.initialize(RESOLVES, RICH)
    assert [action["title"] for action in await offered(client)] == [SAYS.rename_with_remit]
    assert (await client.result("remit/status"))["abilities"] == ["rename"]
    plain = await start(STAND_IN_ABILITIES="rename")
    await plain.initialize()
    assert await offered(plain) == []


async def test_B12_nothing_is_offered_where_there_is_no_runtime(start):
    client = await start(STAND_IN_FAILURES="99")
    await client.initialize(RESOLVES, RICH)
    assert await offered(client) == []


@pytest.mark.parametrize(
    ("model", "titles"),
    [("built-in", ["Rename with Remit…"]), (None, ["Rename with Remit…", *TASKS])],
    ids=["built-in", "script"],
)
async def test_B12_the_real_server_offers_what_its_model_can_do(start_real, model, titles):
    client = await start_real(**({"REMIT_MODEL": model} if model else {}))
    await client.initialize(RESOLVES, RICH)
    assert [action["title"] for action in await offered(client)] == titles


def problem(message, line=0):
    at = {"line": line, "character": 0}
    return {"range": {"start": at, "end": at}, "message": message, "source": "pyright"}


async def offered_at(client, start, end, *problems, only=None):
    uri = client.open("src/cart.py", "a = 1\nb = 2\nc = 3\n")
    params = {
        "textDocument": {"uri": uri},
        "range": {name: {"line": at[0], "character": at[1]} for name, at in (("start", start), ("end", end))},
        "context": {"diagnostics": list(problems), **({"only": only} if only else {})},
    }
    return await client.result("textDocument/codeAction", params)


async def test_LSP_10_a_problem_can_be_fixed_and_explained_a_selection_all_the_rest(start):
    client = await start()
    await client.initialize(RESOLVES)
    found = await offered_at(client, (1, 0), (2, 3), problem("x", line=1), problem("y", line=2))
    assert [action["title"] for action in found] == [SAYS.fix_with_remit, SAYS.explain_with_remit, *TASKS]
    assert found[0]["kind"] == "quickfix.remit"
    assert [each["message"] for each in found[0]["diagnostics"]] == ["x", "y"]
    commands = [action["command"] for action in found]
    given = [{"uri": (client.root / "src/cart.py").as_uri(), "first_line": 2, "last_line": 3, "problem": True}]
    assert [each["command"] for each in commands] == ["remit.fix", "remit.explain", *["remit.ask"] * 4]
    assert [each["arguments"] for each in commands[:2]] == [given, given]
    assert [each["arguments"][0] for each in commands[2:]] == [
        "explain lines 2-3 of src/cart.py",
        "refactor lines 2-3 of src/cart.py: make it simpler, and keep everything that it does",
        "write the documentation of lines 2-3 of src/cart.py, in the form that the rest of the file uses",
        "write tests for lines 2-3 of src/cart.py, beside the tests that there are",
    ]


async def test_LSP_10_a_client_that_draws_the_chat_gets_a_message_with_what_goes_along(start):
    client = await start()
    await client.initialize(RESOLVES, RICH)
    fix, _ = await offered_at(client, (0, 0), (0, 0), problem("x"), only=["quickfix"])
    assert fix["command"]["command"] == "remit.client.ask"
    text = "fix what the editor shows at line 1 of src/cart.py @diagnostics:src/cart.py"
    assert fix["command"]["arguments"] == [{"text": text}]


async def test_LSP_10_an_answer_does_not_grow_with_the_problems_that_are_sent(start):
    client = await start()
    await client.initialize(knows())
    found = await offered_at(client, (0, 0), (0, 0), *map(problem, map(str, range(300))), only=["quickfix"])
    assert [len(action["diagnostics"]) for action in found] == [20, 20]


async def test_LSP_10_whole_lines_end_before_the_next_one_and_nothing_selected_offers_nothing(start):
    client = await start()
    await client.initialize(knows())
    whole = await offered_at(client, (0, 0), (2, 0), only=["refactor.remit.explain"])
    assert whole[0]["command"]["arguments"][0] == "explain lines 1-2 of src/cart.py"
    assert await offered_at(client, (3, 0), (3, 0)) == []


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({}, "src/cart.py"),
        ({"first_line": 2}, "line 2 of src/cart.py"),
        ({"first_line": 1, "last_line": 3}, "lines 1-3 of src/cart.py"),
        ({"first_line": 3, "problem": True}, "what the editor shows at line 3 of src/cart.py"),
        ({"problem": True}, "what the editor shows in src/cart.py"),
    ],
)
async def test_LSP_10_tasks_are_commands_too(start_real, tmp_path, given, asked):
    (tmp_path / "script.json").write_text('[{"text": "done"}]')
    client = await start_real(REMIT_RECORD=str(tmp_path / "traffic"))
    await client.initialize()
    uri = client.open("src/cart.py", TEXT)
    params = {"command": "remit.document", "arguments": [{"uri": uri, **given}]}
    assert (await client.result("workspace/executeCommand", params))["final_output"] == "done"
    assert json.dumps(f"write the documentation of {asked}, in the form")[1:-1] in (tmp_path / "traffic").read_text()


async def test_LSP_10_a_plain_client_has_fixed_what_a_real_language_server_finds(start_real, tmp_path):
    """ruff's server reports a problem; the client passes it on, runs the action's command, and allows the edit."""
    before, after = "import os\n\nprice = 1\n", "price = 1\n"
    write = {"name": "write_file", "arguments": {"path": "src/cart.py", "content": after}}
    declare = {"name": "select_active_intent", "arguments": {"intent": "CODE"}}
    (tmp_path / "script.json").write_text(json.dumps([{"calls": [declare, write]}, {"text": "done"}]))
    client = await start_real(REMIT_RECORD=str(tmp_path / "traffic"))
    person = Reviewing(client, lambda params: params["actions"][0])
    person.text = before
    await client.initialize({**knows(), "workspace": EDITS})
    (client.root / "src").mkdir(exist_ok=True)
    (client.root / "src" / "cart.py").write_text(before)
    person.uri = client.open("src/cart.py", before)
    found = await diagnosed_by_ruff(type(client), client.root, person.uri, before)
    assert [each["code"] for each in found] == ["F401"]
    context = {"diagnostics": found, "only": ["quickfix"]}
    where = {"textDocument": {"uri": person.uri}, "range": found[0]["range"], "context": context}
    fix, _ = await client.result("textDocument/codeAction", where)
    assert [each["message"] for each in fix["diagnostics"]] == [each["message"] for each in found]
    command = {key: fix["command"][key] for key in ("command", "arguments")}
    assert (await client.result("workspace/executeCommand", command))["status"] == "completed"
    assert person.text == after


async def diagnosed_by_ruff(client_of, root, uri, text):
    """Returns the diagnostics of ruff's language server for a document, over the same wire."""
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    program = Path(sys.executable).with_name("ruff")
    ruff = client_of(await asyncio.create_subprocess_exec(program, "server", **pipes), root)
    try:
        await ruff.initialize({"textDocument": {"publishDiagnostics": {}}})
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        ruff.notify("textDocument/didOpen", {"textDocument": document})
        (told,) = await ruff.until(
            lambda: [each for each in ruff.notifications if each["method"] == "textDocument/publishDiagnostics"][:1]
        )
        return told["params"]["diagnostics"]
    finally:
        await ruff.close()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"uri": "file:///elsewhere.py"}, "names no open document"),
        ({"first_line": 0}, "lines count from 1"),
        ({"first_line": 3, "last_line": 2}, "lines count from 1"),
        ({"first_line": "3"}, "`first_line` is not a whole number"),
        ({"problem": 3}, "`problem` is not true or false"),
        ({"line": 3}, "`line` is not known"),
    ],
)
async def test_LSP_10_what_a_task_cannot_be_about_is_said(start, given, why):
    client = await start()
    await client.initialize()
    uri = client.open("src/cart.py", TEXT)
    params = {"command": "remit.fix", "arguments": [{"uri": uri, **given}]}
    assert why in str(await client.error("workspace/executeCommand", params))


async def test_LSP_13_a_selection_can_be_edited_where_the_client_can_ask_how(start):
    client = await start()
    await client.initialize(RESOLVES, {"client_commands": ["remit.client.edit"]})
    (action,) = await offered_at(client, (1, 0), (2, 0), only=["refactor.rewrite.remit.edit"])
    uri = (client.root / "src/cart.py").as_uri()
    assert action["title"] == SAYS.edit_with_remit
    assert action["command"]["command"] == "remit.client.edit"
    assert action["command"]["arguments"] == [{"uri": uri, "first_line": 2, "last_line": 2}]
    assert await offered_at(client, (1, 0), (1, 0), only=["refactor.rewrite.remit.edit"]) == []
    plain = await start()
    await plain.initialize(RESOLVES)
    assert await offered_at(plain, (1, 0), (2, 0), only=["refactor.rewrite.remit.edit"]) == []
    unable = await start(STAND_IN_ABILITIES="rename,explain")
    await unable.initialize(RESOLVES, {"client_commands": ["remit.client.edit"]})
    assert await offered_at(unable, (1, 0), (2, 0), only=["refactor.rewrite.remit.edit"]) == []
