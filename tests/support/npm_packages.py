"""The packages of a folder with a `package.json`, for tests that drive programs of Node.js."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Sequence
from pathlib import Path

CLEAN = ("ci", "--no-audit", "--no-fund", "--loglevel=error")


def install_packages(folder: Path, command: Sequence[str] = CLEAN, *, scripts: bool = True) -> Path:
    """Returns `node_modules` of a folder, filled by npm if it is missing; if `scripts` is False, no script of a package
    runs.

    Takes a lock, because several files of tests run at a time, and two would break a folder that both fill.
    """
    modules = folder / "node_modules"
    with (folder / "package.json").open() as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        if not (modules / ".package-lock.json").is_file():
            words = ["npm", *command, *([] if scripts else ["--ignore-scripts"])]
            subprocess.run(words, cwd=folder, check=True)
    return modules
