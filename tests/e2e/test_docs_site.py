"""The site of the documentation in a real browser that has no network (DOC-01)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from npm_packages import install_packages

ROOT = Path(__file__).parents[2]
DRIVERS = ROOT / "tests" / "e2e"
SCRIPTS = ROOT / "scripts" / "docs"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_DOC_01_the_search_works_from_the_disk_and_asks_nobody(tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    for folder in (DRIVERS / "vscode", SCRIPTS):
        install_packages(folder)
    subprocess.run([sys.executable, str(SCRIPTS / "build.py"), str(tmp_path)], check=True)
    shots = ROOT / ".cache" / "shots"
    environment = os.environ | {"REMIT_CHROMIUM": chromium, "REMIT_SITE": str(tmp_path), "REMIT_SHOTS": str(shots)}
    command = ["node", str(DRIVERS / "docs" / "read_site.mjs")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
