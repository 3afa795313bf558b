"""A changed configuration counts from the next turn on, in a chat and in a language server (CFG-05)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from config_values import VALUES
from messages import SAYS

from remit_server.contract import RunRequest, RunResult, TextInput
from remit_server.harness.ports import NobodyToAsk
from remit_server.runtime.config.form import KEYS
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.policy import live_policy
from remit_server.runtime.policy.policies import InForce, load_in_force
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments

READS = "version: 1\ncapabilities:\n  - { name: r, match: { syscall: fs.read, path_glob: ['**'] }, action: allow }\n"
SELECT = {"calls": [{"name": "select_active_intent", "arguments": {"intent": "ANALYZE"}}]}
READ = {"calls": [{"name": "read_file", "arguments": {"path": "a.py"}}]}


class Here:
    """A workspace, the person's configuration, and a runtime that reads it again."""

    runtime: Runtime

    def __init__(self, folder: Path) -> None:
        self.folder, self.turns = folder, 0
        self.config = folder / "config" / "config.yaml"
        self.workspace = folder / "shop"
        self.workspace.mkdir()
        (self.workspace / "a.py").write_text("x = 1\n")
        self.environment = {"HOME": str(folder), "REMIT_STATE_DIR": str(folder / "state")}
        self.environment["REMIT_CONFIG_DIR"] = str(folder / "config")
        self.config.parent.mkdir()
        self.config.with_name("policy.yaml").write_text(READS)

    def script(self, name: str, *steps: dict[str, Any]) -> str:
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(steps))
        return f"script:{path}"

    def set(self, **sections: Any) -> None:
        self.config.write_text(json.dumps(sections))

    def read(self) -> Settings:
        return Settings.from_environment(self.workspace, self.environment)

    async def open(self) -> None:
        self.runtime = await open_runtime(self.read(), NoDocuments(), read_again=self.read)

    async def run(self, events: list[Any] | None = None) -> RunResult:
        self.turns += 1
        request = RunRequest(session_id="s", turn_id=f"t{self.turns}", input=TextInput(text="go"))
        return await self.runtime.run(request, (events if events is not None else []).append, NobodyToAsk())

    async def told(self) -> list[str]:
        return [notice.message for notice in await self.runtime.reload()]


@pytest.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Here]:
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "system"))
    made = Here(tmp_path)
    yield made
    await made.runtime.close()


async def test_CFG_05_limits_count_from_the_next_turn(here: Here) -> None:
    here.set(model={"name": here.script("a", SELECT, READ, {"text": "done"})})
    await here.open()
    assert (await here.run()).status == "completed"
    name = json.loads(here.config.read_text())["model"]["name"]
    here.set(model={"name": name}, limits={"max_steps": 1, "approval_timeout_s": 5})
    (told,) = await here.told()
    assert told.endswith("from the next turn on, these apply: `limits.approval_timeout_s`, `limits.max_steps`")
    assert await here.told() == []
    assert (await here.run()).status != "completed"


async def test_CFG_05_another_model_answers_the_next_turn_and_the_running_one_ends_with_its_own(here: Here) -> None:
    slow = {"text": "of the first", "delay_s": 0.3}
    here.set(model={"name": here.script("a", slow)})
    await here.open()
    running = asyncio.create_task(here.run())
    await asyncio.sleep(0.1)
    here.set(model={"name": here.script("b", {"text": "of the second"})})
    assert len(await here.told()) == 1
    assert (await running).final_output == "of the first"
    assert (await here.run()).final_output == "of the second"


async def test_CFG_05_what_cannot_be_used_leaves_what_was_and_is_said_once(here: Here) -> None:
    name = here.script("a", SELECT, READ, {"text": "done"})
    here.set(model={"name": name})
    await here.open()
    here.set(model={"name": name}, limits={"max_steps": 0})
    (told,) = await here.told()
    assert SAYS.does_not_count_the_one in told
    assert f"{here.config}:1:" in told
    assert await here.told() == []
    assert (await here.run()).status == "completed"
    here.set(model={"name": "script:/nobody/knows.json"})
    assert "/nobody/knows.json" in (await here.told())[0]
    assert here.runtime.status().model.startswith("script")
    here.set(model={"name": name})
    assert await here.told() == [SAYS.the_configuration_is_in_order]


@pytest.mark.parametrize("key", [key for key in KEYS if key != ("model", "name")], ids=".".join)
async def test_CFG_05_each_setting_is_read_again(here: Here, key: tuple[str, str]) -> None:
    name = here.script("a", {"text": "done"})
    here.set(model={"name": name})
    await here.open()
    value = VALUES[key][0] if not str(VALUES[key][0]).startswith("/") else str(here.folder / "elsewhere")
    document: dict[str, dict[str, Any]] = {"model": {"name": name}}
    document.setdefault(key[0], {})[key[1]] = value
    here.set(**document)
    (told,) = await here.told()
    assert "from the next turn on, these apply: `" in told
    assert (await here.run()).final_output == "done"


async def test_POL_11_a_policy_whose_files_say_the_same_is_not_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Here(tmp_path)
    here.set(model={"name": here.script("one", {"text": "done"})})
    await here.open()
    loads: list[Settings] = []

    def load(settings: Settings) -> InForce:
        loads.append(settings)
        return load_in_force(settings)

    monkeypatch.setattr(live_policy, "load_in_force", load)
    policy = here.config.with_name("policy.yaml")
    try:
        await here.runtime.reload()
        for text, expected in ((READS, 1), (READS.replace("name: r", "name: q"), 2), ("version: [", 3), (READS, 4)):
            policy.write_text(text)
            for _ in range(3):
                await here.runtime.reload()
            assert len(loads) == expected
    finally:
        await here.runtime.close()
