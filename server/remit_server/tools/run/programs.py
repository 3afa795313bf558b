"""Where a sandbox finds programs: the system's folders, the person's toolchains, the project's own (BOX-02)."""

from __future__ import annotations

import os
from pathlib import Path

from remit_server.sandbox.visible.environment import command_environment, places_of
from remit_server.sandbox.visible.toolchains import VENVS

_CACHES = {"COVERAGE_FILE": "/tmp/.coverage", "CARGO_TARGET_DIR": "/tmp/target"}  # noqa: S108  inside the sandbox


def own_folders(root: Path) -> tuple[Path, ...]:
    """The folders of the project's own programs that work inside a sandbox."""
    places = places_of(os.environ)
    own = [root / name / "bin" for name in VENVS if places.is_seen(root / name / "bin" / "python3", root)]
    return tuple(folder for folder in (*own, root / "node_modules" / ".bin") if folder.is_dir())


def project_environment(root: Path, *, own: bool) -> dict[str, str]:
    """A command's environment: with `own`, the project's programs first, as a person has them who works on it."""
    environment = command_environment(os.environ)
    folders = [*map(str, own_folders(root)), environment["PATH"]] if own else [environment["PATH"]]
    return {**environment, **_CACHES, "PATH": ":".join(folders)}
