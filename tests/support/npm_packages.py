"""The packages of a folder with a `package.json`, for tests that drive programs of Node.js."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Sequence
from pathlib import Path

CLEAN = ("ci", "--no-audit", "--no-fund", "--loglevel=error")


def install_packages(folder: Path, command: Sequence[str] = CLEAN, *, scripts: bool = True) -> Path:
    """Returns `node_modules` of a folder, filled by npm where it is missing; without `scripts` none of a package runs.

    Several files of tests run at a time: two that filled one folder would break each other's.
    """
    modules = folder / "node_modules"
    with (folder / "package.json").open() as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        if not (modules / ".package-lock.json").is_file():
            words = ["npm", *command, *([] if scripts else ["--ignore-scripts"])]
            subprocess.run(words, cwd=folder, check=True)
    return modules
