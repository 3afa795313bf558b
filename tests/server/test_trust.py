"""Settings and prompts of a folder count after the person trusts the folder (CFG-06)."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from command_line import CommandLine
from messages import SAYS

from remit_governance.work_items import WORK_ITEMS_FILE
from remit_server.errors import SetupError
from remit_server.runtime.own_files.folder_record import arrived, brought, read_trust, trust_file, write_trust
from remit_server.runtime.settings import Settings
from remit_server.runtime.turns.attachments import INSTRUCTIONS

QUESTION = "Do you trust the authors of this folder?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with every kind of file that a folder can bring."""
    made = tmp_path / "shop"
    (made / ".remit" / "prompts").mkdir(parents=True)
    (made / ".remit" / "config.yaml").write_text("model: { temperature: 0.5 }\n")
    (made / ".remit" / "prompts" / "review.md").write_text("Review it.\n")
    (made / INSTRUCTIONS).write_text("Indent by four.")
    return made


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"REMIT_STATE_DIR": str(tmp_path / "state"), "REMIT_CONFIG_DIR": str(tmp_path / "config")}


@pytest.fixture
def remit(folder: Path, tmp_path: Path) -> CommandLine:
    script = tmp_path / "words.json"
    script.write_text(json.dumps([{"text": "hello"}]))
    made = CommandLine.alone(folder, tmp_path)
    return CommandLine(folder, {**made.environment, "REMIT_MODEL": f"script:{script}"})


def temperature(folder: Path, environment: dict[str, str]) -> float | None:
    return Settings.from_environment(folder, environment).generation.temperature


def test_CFG_06_a_configuration_counts_once_its_folder_is_trusted(folder: Path, environment: dict[str, str]) -> None:
    assert temperature(folder, environment) is None
    write_trust(folder, trusted=True, environment=environment)
    assert temperature(folder, environment) == 0.5
    write_trust(folder, trusted=False, environment=environment)
    assert temperature(folder, environment) is None


def test_CFG_06_another_folder_at_its_path_is_not_trusted(folder: Path, environment: dict[str, str]) -> None:
    write_trust(folder, trusted=True, environment=environment)
    folder.rename(folder.with_name("moved"))
    shutil.copytree(folder.with_name("moved"), folder)
    assert read_trust(folder, environment) is None
    assert temperature(folder, environment) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"trusted": true}', '{"folder": 1, "trusted": true}', "\x00"])
def test_CFG_06_a_broken_answer_is_none(folder: Path, environment: dict[str, str], text: str) -> None:
    write_trust(folder, trusted=True, environment=environment)
    trust_file(folder, environment).write_text(text)
    assert read_trust(folder, environment) is None


@pytest.mark.parametrize("said", ["true", "yes", 1, None])
def test_CFG_06_only_true_is_yes(folder: Path, environment: dict[str, str], said: Any) -> None:
    write_trust(folder, trusted=True, environment=environment)
    file = trust_file(folder, environment)
    file.write_text(json.dumps({**json.loads(file.read_text()), "trusted": said}))
    assert read_trust(folder, environment) is None


def test_CFG_06_an_answer_that_cannot_be_written_is_told(folder: Path, environment: dict[str, str]) -> None:
    Path(environment["REMIT_STATE_DIR"]).write_text("in the way")
    with pytest.raises(SetupError, match="the answer was not recorded"):
        write_trust(folder, trusted=True, environment=environment)


@pytest.mark.parametrize("config", ["model: [", "modle: {}", "model: { name: 'script:/tmp/evil.json' }"])
def test_CFG_06_a_configuration_that_does_not_count_stops_nothing(
    folder: Path, environment: dict[str, str], config: str
) -> None:
    (folder / ".remit" / "config.yaml").write_text(config)
    assert temperature(folder, environment) is None
    write_trust(folder, trusted=True, environment=environment)
    with pytest.raises(SetupError):
        temperature(folder, environment)


def test_CFG_06_what_arrives_after_the_answer_was_not_asked_about(
    folder: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Each file is asked about once: a file that goes and comes back, as with a branch, is known, and so is a changed
    one."""
    held = tmp_path / "held"
    (folder / ".remit" / "config.yaml").rename(held)
    write_trust(folder, trusted=True, environment=environment)
    held.rename(folder / ".remit" / "config.yaml")
    assert read_trust(folder, environment) is None
    assert arrived(folder, environment) == (".remit/config.yaml",)
    assert temperature(folder, environment) is None
    write_trust(folder, trusted=True, environment=environment)
    assert temperature(folder, environment) == 0.5
    (folder / INSTRUCTIONS).unlink()
    write_trust(folder, trusted=True, environment=environment)
    (folder / INSTRUCTIONS).write_text("Indent by two.")
    assert read_trust(folder, environment) is True


def test_CFG_06_an_answer_holds_for_what_remit_writes_and_as_it_was_recorded_before(
    folder: Path, environment: dict[str, str]
) -> None:
    write_trust(folder, trusted=True, environment=environment)
    (folder / WORK_ITEMS_FILE).parent.mkdir(parents=True, exist_ok=True)
    (folder / WORK_ITEMS_FILE).write_text("{}")
    assert read_trust(folder, environment) is True
    (folder / INSTRUCTIONS).unlink()
    write_trust(folder, trusted=False, environment=environment)
    (folder / INSTRUCTIONS).write_text("Indent by two.")
    assert read_trust(folder, environment) is False
    file = trust_file(folder, environment)
    older = {key: value for key, value in json.loads(file.read_text()).items() if key != "brought"}
    file.write_text(json.dumps({**older, "trusted": True}))
    assert read_trust(folder, environment) is True


async def test_CFG_06_instructions_that_arrive_in_a_session_are_told_and_do_not_count(
    make_bench: Any, tmp_path: Path
) -> None:
    traffic = tmp_path / "traffic.jsonl"
    steps = [{"calls": [intent("ANALYZE"), call("read_file", path="a.py")]}, {"text": "ok"}]
    bench: Bench = await make_bench(*steps, record=traffic, trusted=True)
    write_trust(bench.workspace, trusted=True)
    (bench.workspace / INSTRUCTIONS).write_text("Indent by four.")
    await bench.ask("go")
    assert "Indent by four." not in traffic.read_text()
    assert [INSTRUCTIONS in event.message for event in bench.of("warning")] == [True]


def test_CFG_06_what_a_folder_brings_is_named(folder: Path, tmp_path: Path) -> None:
    assert brought(folder) == (".remit/config.yaml", ".remit/prompts", INSTRUCTIONS)
    assert brought(tmp_path) == ()


@pytest.mark.parametrize("trusted", [True, False, None])
async def test_CFG_06_instructions_reach_the_model_of_a_trusted_folder_only(
    make_bench: Any, tmp_path: Path, trusted: bool | None
) -> None:
    traffic = tmp_path / "traffic.jsonl"
    reads = "capabilities:\n  - { name: r, match: { syscall: fs.read, path_glob: ['**'] }, action: allow }\n"
    steps = [{"calls": [intent("ANALYZE"), call("read_file", path="a.py")]}, {"text": "ok"}, {"text": "ok"}]
    bench: Bench = await make_bench(*steps, policy=reads, record=traffic, trusted=trusted)
    (bench.workspace / INSTRUCTIONS).write_text("Indent by four.")
    for _ in range(2):
        await bench.ask({"type": "text", "text": "go"})
    assert ("Indent by four." in traffic.read_text()) == (trusted is True)
    told = f"`{INSTRUCTIONS}` of this folder does not count: run `remit config trust` if you trust it"
    assert [event.message for event in bench.of("warning")] == ([told] if trusted is None else [])


@pytest.mark.slow
def test_CFG_06_a_script_is_told_what_does_not_count(remit: CommandLine) -> None:
    (warning, *_) = remit("ask", "--json", "say hello").of("warning")
    assert warning["message"].startswith("`.remit/config.yaml`, `.remit/prompts` of this folder do not count")
    shown = remit("config", "show")
    assert "`.remit/config.yaml`, `.remit/prompts`, `AGENTS.md` of this folder do not count" in shown.out
    done = remit("config", "trust", "--json")
    assert done.json == {
        "folder": str(remit.workspace),
        "trusted": True,
        "brings": [".remit/config.yaml", ".remit/prompts", INSTRUCTIONS],
    }
    assert remit("ask", "--json", "say hello").of("warning") == []
    assert SAYS.do_not_count not in remit("config", "show").out
    assert "model.temperature = 0.5" in remit("config", "show").out
    assert SAYS.this_is_ignored in remit("config", "trust", "--no").out
    assert "model.temperature = 0.5" not in remit("config", "show").out


@pytest.mark.slow
@pytest.mark.parametrize(("key", "trusted"), [("y", True), ("n", False), ("", False)])
def test_CFG_06_a_person_at_a_terminal_is_asked_once(remit: CommandLine, key: str, trusted: bool) -> None:
    with remit.in_terminal("say hello") as terminal:
        terminal.wait_for(QUESTION)
        terminal.type(f"{key}\r")
        terminal.wait_for("completed")
        assert "do not count:" not in terminal.screen
        assert terminal.wait() == 0
    assert read_trust(remit.workspace, remit.environment) is trusted
    with remit.in_terminal("say hello") as terminal:
        assert terminal.wait() == 0
        assert QUESTION not in terminal.screen


@pytest.mark.slow
def test_CFG_06_who_leaves_without_an_answer_is_asked_again(remit: CommandLine) -> None:
    with remit.in_terminal("say hello") as terminal:
        terminal.wait_for(QUESTION)
        # The question is visible a moment before the terminal is read, and Ctrl-C in between has no effect.
        time.sleep(1)
        terminal.interrupt()
        assert terminal.wait() != 0
    assert read_trust(remit.workspace, remit.environment) is None
