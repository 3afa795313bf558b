"""The main job in a real Neovim, driven by `tests/e2e/neovim/rename.lua` through its own LSP client (LSP-05)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import REMIT, CommandLine
from messages import SAYS

DRIVER = Path(__file__).parent / "neovim" / "rename.lua"
PROMPT = "rename total to subtotal in src/cart.py"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def ask(nvim: str, remit: CommandLine, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Returns a function that opens src/cart.py, asks for the rename, chooses an answer and saves; it returns what the
    editor reported."""

    def run(choice: str, model: str) -> dict[str, Any]:
        seen = tmp_path / "report.json"
        own = {
            name: str(tmp_path / name)
            for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
        }
        told = {"REMIT_SERVER": str(REMIT), "REMIT_PROMPT": PROMPT, "REMIT_CHOICE": choice, "REMIT_REPORT": str(seen)}
        done = subprocess.run(
            [nvim, "--clean", "--headless", "-n", "-i", "NONE", "src/cart.py", "-c", f"luafile {DRIVER}"],
            cwd=remit.workspace,
            env={**remit.environment, **own, **told, "REMIT_MODEL": model},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        report = json.loads(seen.read_text()) if seen.exists() else {}
        log = "".join(path.read_text() for path in tmp_path.glob("XDG_*_HOME/nvim/lsp.log"))
        assert done.returncode == 0, f"{report.get('failure')}\n{done.stdout}\n{done.stderr}\n{log}"
        assert report["server_code"] == 0
        ended = "denied" if choice == "Deny" else "completed"
        assert report["result"]["status"] == ended, f"{report['result']}\n{log}"
        return report

    return run


@pytest.mark.parametrize("model", ["script", "built-in"])
def test_a_rename_is_asked_for_allowed_and_saved(
    model: str, ask: Callable[..., dict[str, Any]], script: Callable[..., str], remit: CommandLine
) -> None:
    cart, prices = remit.workspace / "src/cart.py", remit.workspace / "generated/prices.py"
    before, protected = cart.read_text(), prices.read_bytes()

    report = ask("Allow once", model if model == "built-in" else script())

    (question,) = report["asked"]
    assert "change src/cart.py" in question["message"]
    assert "-    total = 0.0\n+    subtotal = 0.0\n" in question["message"]
    edits = "Allow all edits this session"
    assert question["titles"] == ["Allow once", SAYS.allow_for_this_session, edits, "More…", "Deny"]
    assert report["before_answer"] == before
    looked = [] if model == "built-in" else ["read_file"]  # the built-in model renames without a look at the file
    assert [t["tool"] for t in report["result"]["tool_trace"]] == [*looked, "edit_file"]
    renamed = before.replace("total", "subtotal")
    assert report["buffer"] == renamed
    assert report["modified"], "the edit went to the buffer, and only the person's :w to the disk"
    assert cart.read_text() == renamed
    assert prices.read_bytes() == protected
    assert report["progress"][0] == "begin"
    assert report["progress"][-1] == "end"
    assert report["shown"] == [f"{report['result']['final_output']}\nChanged: src/cart.py +4 −4"]
    assert remit("audit", "verify").code == 0


def test_a_no_changes_neither_the_buffer_nor_the_file(
    ask: Callable[..., dict[str, Any]], script: Callable[..., str], remit: CommandLine
) -> None:
    cart = remit.workspace / "src/cart.py"
    before = cart.read_text()

    report = ask("Deny", script())

    assert len(report["asked"]) == 1
    assert report["buffer"] == before
    assert not report["modified"]
    assert cart.read_text() == before
    (resolved,) = [r for r in remit("audit", "log", "--json").lines if r["kind"] == "approval_resolved"]
    assert resolved["metadata"]["decision"] == "deny"
    assert remit("audit", "verify").code == 0
