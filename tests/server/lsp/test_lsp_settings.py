"""The settings of an editor: the server asks for them if the editor offers that, and some of them count (LSP-15)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

ASKED = {"workspace": {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}}}
READ = {"name": "read_file", "arguments": {"path": "a.py"}}
STEP = {"calls": [{"name": "select_active_intent", "arguments": {"intent": "READ_FILE"}}, READ]}


class Settings:
    """A client with settings, in a folder whose model needs three steps."""

    def __init__(self, client: Any, tmp_path: Path) -> None:
        self.client, self.given = client, None
        client.handlers["workspace/configuration"] = lambda params: [self.given for _ in params["items"]]
        client.handlers["client/registerCapability"] = lambda _: None
        (tmp_path / "script.json").write_text(json.dumps([STEP, STEP, {"text": "done"}] * 4))
        (client.root / "a.py").write_text("x = 1\n")
        self.turns = 0

    async def status(self) -> str:
        self.turns += 1
        result = await self.client.run("go", turn=f"t{self.turns}")[1]
        return result["result"]["status"]

    def messages(self) -> list[str]:
        return [n["params"]["message"] for n in self.client.notifications if n["method"] == "window/showMessage"]

    async def change(self, given: Any) -> None:
        self.given, before = given, len(self.messages())
        self.client.notify("workspace/didChangeConfiguration", {"settings": None})
        await self.client.until(lambda: len(self.messages()) > before)


async def test_LSP_15_settings_are_asked_for_and_count_from_the_next_turn_on(start_real, tmp_path) -> None:
    here = Settings(await start_real(), tmp_path)
    await here.client.initialize(ASKED)
    await here.client.until(
        lambda: [each for each in here.client.asked if each["method"] == "client/registerCapability"]
    )
    assert await here.status() == "completed"
    (asked,) = (each["params"]["items"] for each in here.client.asked if each["method"] == "workspace/configuration")
    assert asked == [{"scopeUri": here.client.root.as_uri(), "section": "remit"}]
    await here.change({"limits": {"max_steps": 1}})
    assert here.messages() == ["The configuration changed; from the next turn on, these apply: `limits.max_steps`"]
    assert await here.status() != "completed"
    await here.change({})
    assert await here.status() == "completed"


async def test_LSP_15_what_may_not_come_from_an_editor_is_said_once(start_real, tmp_path) -> None:
    """THR-configuration-editor: a workspace's settings cannot choose a model or a file, nor raise limits."""
    here = Settings(await start_real(), tmp_path)
    await here.client.initialize(ASKED)
    here.given = {
        "model": {"name": "openai:x@http://evil.example/v1", "record": "/tmp/x", "seed": "many", "temprature": 1},
        "limits": {"max_steps": 90, "turn_timeout_s": 5},
        "serverPath": "/tmp/remit",
    }
    assert await here.status() == "completed"
    assert (await here.client.result("remit/status"))["model"] == "script:script.json"
    said = here.messages()
    assert [message.split(": ", 2)[1] for message in said] == [
        "the editor's setting `remit.model.name` does not count",
        "the editor's setting `remit.model.record` does not count",
        "the editor's setting `remit.model.seed` does not count",
        "the editor's setting `remit.model.temprature` does not count",
        "the editor's setting `remit.limits.max_steps` does not count",
        "the editor's setting `remit.serverPath` does not count",
    ]
    assert "can come from a workspace; set it in your own `config.yaml`, or as REMIT_MODEL" in said[0]
    assert "an editor can only make it stricter, so `25` counts" in said[4]
    await here.change({**here.given, "limits": {"max_steps": 24}})
    assert here.messages()[len(said) :] == [
        "The configuration changed; from the next turn on, these apply: `limits.max_steps`, `limits.turn_timeout_s`"
    ]


async def test_LSP_15_a_mode_is_a_word_and_fails_no_request(start_real, tmp_path) -> None:
    """THR-configuration-editor: the mode can be made stricter, but not looser."""
    here = Settings(await start_real(), tmp_path)
    await here.client.initialize(ASKED)
    here.given = {"workflow": {"mode": "strict"}}
    assert await here.status() == "completed"
    assert (await here.client.result("remit/status"))["mode"] == "strict"
    await here.change({"workflow": {"mode": "fast"}})  # the watcher also reports which value counts again
    await here.client.until(
        lambda: [said for said in here.messages() if "`remit.workflow.mode` does not count" in said]
    )


async def test_LSP_15_a_client_that_is_not_asked_may_send_them(start_real, tmp_path) -> None:
    here = Settings(await start_real(), tmp_path)
    await here.client.initialize({})
    here.client.notify("workspace/didChangeConfiguration", {"settings": {"remit": {"limits": {"max_steps": 1}}}})
    assert await here.status() != "completed"
    assert here.client.asked == []
