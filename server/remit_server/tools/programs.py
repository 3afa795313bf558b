"""Where a sandbox finds programs: the system's folders, and what the project brings along (agent.md §2)."""

from __future__ import annotations

import os
from pathlib import Path

from remit_server.sandbox.environment import SYSTEM_FOLDERS, command_environment

_CACHES = {"COVERAGE_FILE": "/tmp/.coverage", "CARGO_TARGET_DIR": "/tmp/target"}  # noqa: S108  inside the sandbox


def own_folders(root: Path) -> tuple[Path, ...]:
    """The folders of the project's own programs that work inside a sandbox."""
    own = [root / name / "bin" for name in (".venv", "venv") if _usable(root, root / name / "bin" / "python3")]
    return tuple(folder for folder in (*own, root / "node_modules" / ".bin") if folder.is_dir())


def project_environment(root: Path, *, own: bool) -> dict[str, str]:
    """A command's environment: with `own`, the project's programs first, as a person has them who works on it."""
    environment = command_environment(os.environ)
    folders = [*map(str, own_folders(root)), environment["PATH"]] if own else [environment["PATH"]]
    return {**environment, **_CACHES, "PATH": ":".join(folders)}


def _usable(root: Path, python: Path) -> bool:
    """Whether a virtual environment's interpreter is there inside the sandbox, too."""
    real = python.resolve()
    return real.exists() and any(real.is_relative_to(folder) for folder in (root, *SYSTEM_FOLDERS))
