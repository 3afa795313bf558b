"""Code actions on the identifier under the cursor, for rich and plain clients (TOOL-07)."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


def knows(**more):
    """The capabilities of a client that knows code actions, and not commands alone."""
    literals = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["refactor"]}}}
    return {"textDocument": {"codeAction": {**literals, **more}}}


RESOLVES = knows(resolveSupport={"properties": ["edit", "command"]})
RESOLVES_EDITS = knows(resolveSupport={"properties": ["edit"]})
TAGS = knows(tagSupport={"valueSet": [1]})
RICH = {"approvals": "stream", "client_commands": ["remit.client.rename", "remit.client.ask"]}
TEXT = "🙂 = total\n"


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
    client = await start()
    await client.initialize(RESOLVES, RICH)
    rename, explain = await offered(client)
    uri = (client.root / "src/cart.py").as_uri()
    assert rename["title"] == "Rename with Remit…"
    assert rename["kind"] == "refactor.rewrite.remit"
    assert rename["command"]["command"] == "remit.client.rename"
    assert rename["command"]["arguments"] == [{"uri": uri, "path": "src/cart.py", "name": "total"}]
    assert explain["command"]["command"] == "remit.client.ask"
    assert explain["command"]["arguments"] == [{"text": "explain total in src/cart.py"}]


async def test_a_plain_client_resolves_explain_and_is_offered_no_rename(start):
    client = await start()
    await client.initialize(RESOLVES)
    (explain,) = await offered(client)
    assert explain["title"] == "Explain with Remit"
    assert "command" not in explain
    resolved = await client.result("codeAction/resolve", explain)
    assert resolved["command"] == {
        "title": "Explain with Remit",
        "command": "remit.ask",
        "arguments": ["explain total in src/cart.py", {"uri": (client.root / "src/cart.py").as_uri()}],
    }


@pytest.mark.parametrize("capabilities", [knows(), RESOLVES_EDITS])
async def test_a_client_that_cannot_resolve_gets_the_command_at_once(start, capabilities):
    client = await start()
    await client.initialize(capabilities)
    (explain,) = await offered(client)
    assert explain["command"]["command"] == "remit.ask"


async def test_a_client_with_a_remit_rename_of_its_own(start):
    client = await start()
    await client.initialize(knows(), {"client_commands": ["remit.rename"]})
    rename, _ = await offered(client)
    assert rename["command"]["command"] == "remit.rename"


async def test_tagged_as_generated_where_the_client_knows_the_tag(start):
    client = await start()
    await client.initialize(TAGS)
    (explain,) = await offered(client)
    assert explain["tags"] == [1]


async def test_only_the_kinds_asked_for(start):
    client = await start()
    await client.initialize(knows(), RICH)
    titles = {
        only: [a["title"] for a in await offered(client, only=[only])]
        for only in ("refactor", "refactor.rewrite", "refactor.rew", "quickfix", "refactor.remit")
    }
    assert titles == {
        "refactor": ["Rename with Remit…", "Explain with Remit"],
        "refactor.rewrite": ["Rename with Remit…"],
        "refactor.rew": [],
        "quickfix": [],
        "refactor.remit": ["Explain with Remit"],
    }


async def test_nothing_where_there_is_no_identifier_or_no_document(start):
    client = await start()
    await client.initialize(knows(), RICH)
    assert await offered(client, character=3) == []
    assert await offered(client, character=5, end=99) != []
    assert await offered(client, character=0, end=9) == []
    assert await offered(client, uri="file:///elsewhere.py") == []
    assert await offered(client, uri="untitled:1") == []


async def test_an_action_that_is_not_ours_comes_back_as_it_is(start):
    client = await start()
    await client.initialize(RESOLVES)
    foreign = {"title": "x", "data": {"explain": {"path": 5}}}
    assert await client.result("codeAction/resolve", foreign) == foreign


@pytest.mark.parametrize(
    "capabilities", [{}, {"textDocument": {"codeAction": {"resolveSupport": {"properties": ["command"]}}}}]
)
async def test_a_client_that_knows_no_code_actions_gets_their_commands(start, capabilities):
    client = await start()
    told = await client.initialize(capabilities, {"client_commands": ["remit.rename"]})
    assert told["capabilities"]["codeActionProvider"] is True, "its options came with code actions"
    rename, explain = await offered(client)
    assert (rename["title"], rename["command"]) == ("Rename with Remit…", "remit.rename")
    assert (explain["title"], explain["command"]) == ("Explain with Remit", "remit.ask")
    assert explain["arguments"] == ["explain total in src/cart.py", {"uri": (client.root / "src/cart.py").as_uri()}]


async def test_B12_what_the_model_cannot_do_is_not_offered(start):
    """Of what the chosen model cannot serve nothing is offered, to rich and to plain clients."""
    client = await start(STAND_IN_ABILITIES="rename")
    await client.initialize(RESOLVES, RICH)
    assert [action["title"] for action in await offered(client)] == ["Rename with Remit…"]
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
    [("embedded", ["Rename with Remit…"]), (None, ["Rename with Remit…", "Explain with Remit"])],
    ids=["embedded", "script"],
)
async def test_B12_the_real_server_offers_what_its_model_can_do(start_real, model, titles):
    client = await start_real(**({"REMIT_MODEL": model} if model else {}))
    await client.initialize(RESOLVES, RICH)
    assert [action["title"] for action in await offered(client)] == titles
