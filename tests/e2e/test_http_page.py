"""The page of `remit http` in a real browser (TRN-06)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import REMIT
from doors import HttpDoor, opened
from npm_packages import install_packages

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "tests" / "e2e" / "vscode"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def bash(command: str) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_use_id": command, "tool_input": {"command": command}}


def hook(door: HttpDoor, agent: str, event: dict[str, Any]) -> None:
    """Runs `remit hook` for an event of another agent in the same folder."""
    text = json.dumps({"session_id": "s1", "cwd": str(door.workspace), **event})
    environment = {**os.environ, **door.environment, "REMIT_HOOK_RESIDENT": "off"}
    subprocess.run([REMIT, "hook", agent], cwd=door.workspace, env=environment, input=text, text=True, check=False)


def test_TRN_40_TRN_41_TRN_42_the_page_asks_shows_and_takes_answers_in_a_browser(tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    node = shutil.which("npm") and shutil.which("node")
    if chromium is None or node is None:
        pytest.skip("there is no chromium, or no Node.js with npm")
    install_packages(MODULES)
    with opened("http", tmp_path, options=("--model", "built-in")) as door:
        environment = os.environ | {
            "REMIT_URL": f"http://{door.host}/#{door.token}",
            "REMIT_WORKSPACE": str(door.workspace),
            "REMIT_CHROMIUM": chromium,
            "REMIT_SHOTS": str(ROOT / ".cache" / "shots"),
        }
        hook(door, "claude-code", {"hook_event_name": "UserPromptSubmit", "prompt": "<img src=x onerror=alert(2)>"})
        for command in ("ls", "make", "echo x > .env"):
            hook(door, "claude-code", {"hook_event_name": "PreToolUse", **bash(command)})
        hook(door, "codex", {"hook_event_name": "PreToolUse", **bash("make")})
        driver = ROOT / "tests" / "e2e" / "http" / "run_page.mjs"
        done = subprocess.run(
            [node, str(driver)], env=environment, capture_output=True, text=True, check=False, timeout=400
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
