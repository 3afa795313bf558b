"""The agents that tests drive for real, as their vendors publish them on npm: fetched where they are missing."""

from __future__ import annotations

import functools
import platform
import shutil
import sys
from pathlib import Path

import pytest
from npm_packages import install_packages

FOLDER = Path(__file__).parents[1] / "e2e" / "hooks"
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "other")
CLAUDE_CODE = f"@anthropic-ai/claude-code-linux-{MACHINE}/claude"
"""Claude Code's program, below the packages."""


@functools.cache
def installed() -> Path:
    """Returns the folder of the packages. Their scripts, which download more, are not run."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("there is no Node.js with npm")
    if sys.platform != "linux":
        pytest.skip("the agents are driven on Linux alone")
    return install_packages(FOLDER, scripts=False)
