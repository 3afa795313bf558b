"""The Neovim configuration of docs/editors.md, taken out of the page and used as it is (LSP-05)."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from command_line import REMIT, CommandLine

ROOT = Path(__file__).parents[2]
DRIVER = """
local asked, shown = {}, {}
vim.lsp.handlers['window/showMessageRequest'] = function(_, question)
  table.insert(asked, question.message)
  return question.actions[1]
end
vim.lsp.handlers['window/showMessage'] = function(_, message) table.insert(shown, message.message) end
vim.ui.input = function(_, done) done('subtotal') end
vim.ui.select = function(items, _, done) done(items[1], 1) end

vim.cmd(vim.env.OPEN)
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n') .. '\\n' end
local function server()
  for _, each in pairs((vim.lsp.get_clients or vim.lsp.get_active_clients)()) do return each end
end
vim.wait(60000, function() local it = server() return it and it.initialized end, 20)
vim.fn.search([[\\<total\\>]])
local function completed(line) return vim.fn.getcompletion(line, 'cmdline') end
local completions = { completed('Remit /sta'), completed('Remit see @src/c') }
vim.cmd(vim.env.HOW)
vim.wait(60000, function() return #shown > 0 end, 20)

local seen = { asked = asked, shown = shown, after = text(), modified = vim.bo.modified, completed = completions }
vim.cmd('silent undo')
seen.undone = text()
vim.fn.writefile({ vim.fn.json_encode(seen) }, vim.env.REPORT)
vim.cmd('qa!')
"""

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def own(remit: CommandLine, tmp_path: Path) -> dict[str, str]:
    """The environment of an editor that reads the guide's configuration from where it says to save it."""
    (block,) = re.findall(r"^```lua\n(.*?)^```$", (ROOT / "docs/editors.md").read_text(), re.MULTILINE | re.DOTALL)
    plugin = tmp_path / "XDG_CONFIG_HOME" / "nvim" / "plugin" / "remit.lua"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(block)
    homes = {n: str(tmp_path / n) for n in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    return {**remit.environment, **homes, "PATH": f"{REMIT.parent}:{remit.environment['PATH']}"}


@pytest.fixture
def seen(nvim: str, own: dict[str, str], remit: CommandLine, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Opens a file in one way or another, asks, and says what the editor saw."""

    def run(model: str, how: str, open_file: str = "edit src/cart.py") -> dict[str, Any]:
        (tmp_path / "driver.lua").write_text(DRIVER)
        report = tmp_path / "seen.json"
        done = subprocess.run(
            [nvim, "--headless", "-n", "-i", "NONE", "-c", f"luafile {tmp_path / 'driver.lua'}"],
            cwd=remit.workspace,
            env={**own, "HOW": how, "OPEN": open_file, "REPORT": str(report), "REMIT_MODEL": model},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert report.exists(), done.stderr
        found: dict[str, Any] = json.loads(report.read_text())
        return found

    return run


@pytest.mark.parametrize(
    "how", ["Remit rename total to subtotal in src/cart.py", "lua vim.lsp.buf.code_action()"], ids=["command", "action"]
)
def test_the_configuration_in_the_guide_works_as_written(
    how: str, seen: Callable[..., dict[str, Any]], remit: CommandLine, script: Callable[..., str]
) -> None:
    before = (remit.workspace / "src/cart.py").read_text()
    found = seen(script(), how)
    assert len(found["asked"]) == 1
    assert "change src/cart.py" in found["asked"][0]
    assert found["shown"] == ["Renamed."]
    assert found["after"] == before.replace("total", "subtotal")
    assert found["modified"]
    assert found["undone"] == before


@pytest.mark.parametrize("open_file", ["edit fresh.txt", "enew | file fresh.txt"], ids=["new file", "named later"])
def test_a_new_file_is_attached_and_written_in_its_buffer(
    open_file: str, seen: Callable[..., dict[str, Any]], remit: CommandLine, script: Callable[..., str]
) -> None:
    step = {"calls": [intent("CODE"), call("write_file", path="fresh.txt", content="hello\nworld\n")]}
    found = seen(script(step, {"text": "Wrote it."}), "Remit write it", open_file)
    assert found["shown"] == ["Wrote it."]
    assert found["after"] == "hello\nworld\n"
    assert found["modified"]
    assert not (remit.workspace / "fresh.txt").exists(), "the person saves it"


def test_CLI_09_the_chats_commands_are_completed_and_answered(seen: Callable[..., dict[str, Any]]) -> None:
    found = seen("embedded", "Remit /status")
    assert found["completed"] == [["/status", "/stats"], ["@src/cart.py"]]
    assert "it stays on this machine" in found["shown"][0]


def test_what_a_command_printed_is_shown(
    bwrap: str, seen: Callable[..., dict[str, Any]], script: Callable[..., str]
) -> None:
    step = {"calls": [intent("EXECUTE"), call("run_command", command="echo first; echo second; exit 3")]}
    found = seen(script(step, {"text": "So it was."}), "Remit run it")
    (message,) = found["shown"]
    assert message.split("\n")[:4] == ["So it was.", "$ echo first; echo second; exit 3", "first", "second"]
    assert "(exit code 3 after " in message


def test_a_long_question_is_one_message_which_neovim_shows_page_by_page(
    seen: Callable[..., dict[str, Any]], remit: CommandLine, script: Callable[..., str]
) -> None:
    lines = [f"line {number:03d} of a new file" for number in range(200)]
    step = {"calls": [intent("CODE"), call("write_file", path="long.txt", content="\n".join(lines) + "\n")]}
    found = seen(script(step, {"text": "Wrote it."}), "Remit write it")
    (question,) = found["asked"]
    assert set(question.split("\n")) >= {f"+{line}" for line in lines}
    assert found["shown"] == ["Wrote it."]
    assert (remit.workspace / "long.txt").read_text().splitlines() == lines


def test_B11_a_second_folder_is_a_workspace_of_its_own(
    seen: Callable[..., dict[str, Any]], remit: CommandLine, script: Callable[..., str], tmp_path: Path
) -> None:
    """A request that names a file of the second folder works there, and leaves the first one alone."""
    second = tmp_path / "second"
    second.mkdir()
    (second / "only.txt").write_text("before\n")
    (remit.workspace / "only.txt").write_text("the first folder's\n")
    step = {"calls": [intent("CODE"), call("write_file", path="only.txt", content="after\n")]}
    add = f"lua vim.lsp.buf.add_workspace_folder('{second}')"
    found = seen(script(step, {"text": "Wrote it."}), f'exe "{add}" | edit {second}/only.txt | Remit write it')
    assert found["shown"] == ["Wrote it."]
    assert (found["after"], found["undone"]) == ("after\n", "before\n"), found["asked"]
    assert (remit.workspace / "only.txt").read_text() == "the first folder's\n"
