"""The Neovim configuration of docs/editors.md, taken out of the page and used as it is (editor.md, any other LSP client)."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
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

vim.cmd('edit src/cart.py')
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n') .. '\\n' end
local function server()
  for _, each in pairs((vim.lsp.get_clients or vim.lsp.get_active_clients)()) do return each end
end
vim.wait(60000, function() local it = server() return it and it.initialized end, 20)
vim.fn.search([[\\<total\\>]])
vim.cmd(vim.env.HOW)
vim.wait(60000, function() return #shown > 0 end, 20)

local seen = { asked = asked, shown = shown, after = text(), modified = vim.bo.modified }
vim.cmd('silent undo')
seen.undone = text()
vim.fn.writefile({ vim.fn.json_encode(seen) }, vim.env.REPORT)
vim.cmd('qa!')
"""

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.mark.parametrize(
    "how", ["Remit rename total to subtotal in src/cart.py", "lua vim.lsp.buf.code_action()"], ids=["command", "action"]
)
def test_the_configuration_in_the_guide_works_as_written(
    how: str, nvim: str, remit: CommandLine, script: Callable[..., str], tmp_path: Path
) -> None:
    (block,) = re.findall(r"^```lua\n(.*?)^```$", (ROOT / "docs/editors.md").read_text(), re.MULTILINE | re.DOTALL)
    # The editor reads it from where the guide says that it should be saved.
    plugin = tmp_path / "XDG_CONFIG_HOME" / "nvim" / "plugin" / "remit.lua"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(block)
    (tmp_path / "driver.lua").write_text(DRIVER)
    before, report = (remit.workspace / "src/cart.py").read_text(), tmp_path / "seen.json"
    own = {n: str(tmp_path / n) for n in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    told = {"HOW": how, "REPORT": str(report), "REMIT_MODEL": script()}
    path = {"PATH": f"{REMIT.parent}:{remit.environment['PATH']}"}

    done = subprocess.run(
        [nvim, "--headless", "-n", "-i", "NONE", "-c", f"luafile {tmp_path / 'driver.lua'}"],
        cwd=remit.workspace,
        env={**remit.environment, **own, **told, **path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert report.exists(), done.stderr
    seen = json.loads(report.read_text())
    assert len(seen["asked"]) == 1
    assert "change src/cart.py" in seen["asked"][0]
    assert seen["shown"] == ["Renamed."]
    assert seen["after"] == before.replace("total", "subtotal")
    assert seen["modified"]
    assert seen["undone"] == before
