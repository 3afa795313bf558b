"""The page of `remit http` in a real browser (TRN-06)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from doors import opened

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "tests" / "e2e" / "vscode"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_TRN_06_the_page_asks_shows_and_takes_answers_in_a_browser(tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    node = shutil.which("npm") and shutil.which("node")
    if chromium is None or node is None:
        pytest.skip("there is no chromium, or no Node.js with npm")
    if not (MODULES / "node_modules").is_dir():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=MODULES, check=True)
    with opened("http", tmp_path, options=("--model", "built-in")) as door:
        environment = os.environ | {
            "REMIT_URL": f"http://{door.host}/#{door.token}",
            "REMIT_WORKSPACE": str(door.workspace),
            "REMIT_CHROMIUM": chromium,
            "REMIT_SHOTS": str(ROOT / ".cache" / "shots"),
        }
        driver = ROOT / "tests" / "e2e" / "http" / "run_page.mjs"
        done = subprocess.run(
            [node, str(driver)], env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
