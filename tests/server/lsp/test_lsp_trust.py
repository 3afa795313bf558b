"""The user of an editor is asked once whether a folder's own settings count (CFG-06)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from remit_server.runtime.own_files.folder_record import read_trust, write_trust
from remit_server.transports.lsp.client_requests.folder_requests import NO, YES

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

ASKED = "window/showMessageRequest"


def bring(folder: Path) -> None:
    (folder / "AGENTS.md").write_text("Indent by four.")


def trust(client: Any, tmp_path: Path) -> bool | None:
    return read_trust(client.root.resolve(), {"REMIT_STATE_DIR": str(tmp_path / "state")})


async def say(client: Any, turn: str) -> None:
    _, answer = client.run("say hello", turn=turn)
    assert "result" in await answer


@pytest.mark.parametrize(
    ("answer", "trusted", "times"),
    [({"title": YES}, True, 1), ({"title": NO}, False, 1), (None, None, 1), ({"title": "Yes!"}, None, 1)],
)
async def test_CFG_06_the_question_comes_once_and_its_answer_is_kept(start_real, tmp_path, answer, trusted, times):
    client = await start_real()
    bring(client.root)
    client.handlers[ASKED] = lambda _: answer
    await client.initialize()
    await say(client, "1")
    await say(client, "2")
    asked = [each for each in client.asked if each["method"] == ASKED]
    assert len(asked) == times
    assert "`AGENTS.md`" in asked[0]["params"]["message"]
    assert trust(client, tmp_path) is trusted
    assert await client.shutdown() == 0


async def test_CFG_06_an_editor_that_asks_by_itself_says_so(start_real, tmp_path):
    client = await start_real()
    bring(client.root)
    await client.initialize(remit={"trusted": True})
    await say(client, "1")
    assert [each for each in client.asked if each["method"] == ASKED] == []
    assert trust(client, tmp_path) is True
    assert await client.shutdown() == 0


async def test_CFG_06_where_a_folder_brings_nothing_nobody_is_asked(start_real, tmp_path):
    client = await start_real()
    await client.initialize()
    await say(client, "1")
    assert client.asked == []
    assert trust(client, tmp_path) is None
    assert await client.shutdown() == 0


async def test_CFG_06_what_arrived_since_the_answer_is_asked_about_by_name(start_real, tmp_path):
    client = await start_real()
    state = {"REMIT_STATE_DIR": str(tmp_path / "state")}
    write_trust(client.root.resolve(), trusted=True, environment=state)
    bring(client.root)
    client.handlers[ASKED] = lambda _: {"title": YES}
    await client.initialize()
    await say(client, "1")
    (asked,) = [each for each in client.asked if each["method"] == ASKED]
    assert "`AGENTS.md`" in asked["params"]["message"]
    assert trust(client, tmp_path) is True
    assert await client.shutdown() == 0
