"""Everyday work takes as many calls as `bench/watch.json` says, within a tenth; a change beyond that updates the
table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bwrap: apt-get install bubblewrap")
def test_everyday_work_costs_what_the_table_says() -> None:
    """No clock is used, so other work on the machine does not matter."""
    command = [sys.executable, str(ROOT / "bench/watch.py"), "--check"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=False
    )
    if "nothing to compare" in done.stdout:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
