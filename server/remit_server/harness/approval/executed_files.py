"""Finds files a command may execute and pins their digests, so that none is rewritten while its approval is pending
(APP-01).
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from remit_governance.approvals import PathBinding
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.spec import CommandPlan
from remit_server.workspace.content.files import read_image
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath

UNNAMED = (
    *("Makefile", "makefile", "GNUmakefile", "justfile", "package.json", "Cargo.toml", "build.rs"),
    *("pyproject.toml", "setup.py", "tox.ini", "noxfile.py", "conftest.py"),
)
"""Files that programs run without being told their names."""

MAX_FOLDERS = 32
_SYNTAX = re.compile(r"""[\s;|&<>()`"'=,:]+""")


def find_executed_files(command: CommandPlan, workspace: Workspace) -> tuple[PathBinding, ...]:
    """Returns the files that the command names, in the folder where it runs or in one it names, with their digests.

    A name is looked for in the words as a shell splits them, and in what stands between any of its signs: one too many
    costs nothing.
    """
    words = _split_words(command.display)
    here = str(command.spec.cwd)
    folders = [here, *(f"{here}/{word}" for word in words if _is_folder(command.spec.cwd / word))][:MAX_FOLDERS]
    names = tuple(dict.fromkeys((*words, *_module_paths(words), *UNNAMED)))
    bound: dict[str, PathBinding] = {}
    for folder in folders:
        for name in names:
            binding = _bind(name if name.startswith("/") else f"{folder}/{name}", workspace)
            if binding is not None:
                bound[binding.path] = binding
    return tuple(bound.values())


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # too long a name, or not ours to look at
        return False


def _split_words(text: str) -> tuple[str, ...]:
    try:
        split = shlex.split(text)
    except ValueError:
        split = text.split()
    return tuple(dict.fromkeys(word for word in (*split, *_SYNTAX.split(text)) if word and "\0" not in word))


def _module_paths(words: Iterable[str]) -> Iterator[str]:
    """Yields the files of Python modules that the words name, as in `python -m tools.build`."""
    for word in words:
        if word.replace(".", "").isidentifier():
            path = word.replace(".", "/")
            yield from (f"{path}.py", f"{path}/__main__.py")


def _bind(name: str, workspace: Workspace) -> PathBinding | None:
    """Binds a file to its content; None for what is no file of the workspace: an option, a program, a word."""
    try:
        path = workspace.resolve(name)
        return PathBinding(path.relative, before=_pin(path, workspace))
    except ToolError:
        return None


def _pin(path: WorkspacePath, workspace: Workspace) -> str:
    try:
        return read_image(workspace, path).digest
    except ToolError as error:
        if error.code is not ErrorCode.TOO_LARGE:
            raise
    fd = workspace.open_read(path)
    try:
        status = os.fstat(fd)
    finally:
        os.close(fd)
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
