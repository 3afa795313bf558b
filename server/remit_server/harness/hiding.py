"""What a command must not come across in the workspace: files that policy denies reading, and ways to the outside
(threats.md, Shell and Sandbox).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.walk import Limits

MAX_HIDDEN = 2_000
MAX_ENTRIES = 1_000_000
MAX_SECONDS = 30.0


def out_of_sight(root: Path, denied: Callable[[str], bool]) -> tuple[Path, ...]:
    """The files and folders below `root` that a command is not to see.

    `denied` says of a relative path whether policy denies reading it. Pipes, sockets and devices are hidden too: they
    can be written to on a read-only mount, and what reads from them is outside.

    Raises ToolError (`limit_reached`) where not all of them can be found: what is not known is not shown.
    """
    hidden: list[Path] = []
    for path in _found(root, denied):
        hidden.append(path)
        if len(hidden) > MAX_HIDDEN:
            raise _refused(
                f"more than {MAX_HIDDEN} files of the workspace would have to be hidden from it",
                "let the policy deny their folder by its own name, such as `vault` and not `vault/**`",
            )
    return tuple(hidden)


def _found(root: Path, denied: Callable[[str], bool]) -> Iterator[Path]:
    limits = Limits(MAX_SECONDS, MAX_ENTRIES)
    pending = [("", root)]
    while pending:
        prefix, folder = pending.pop()
        for entry in _entries(folder):
            limits.entries -= 1
            if limits.spent():
                raise _refused(
                    "the workspace is too large to find what has to be hidden from it",
                    "open a smaller folder as the workspace",
                )
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.is_symlink():
                continue  # what it leads to is judged under its own name
            if not (is_folder or entry.is_file(follow_symlinks=False)) or denied(prefix + entry.name):
                yield folder / entry.name
            elif is_folder:
                pending.append((f"{prefix}{entry.name}/", folder / entry.name))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """None of a folder that is gone, or not ours to read: the command cannot read it either.

    Raises ToolError where it cannot be named as a whole: a command goes there step by step.
    """
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            why = "folders of the workspace are too deep to find what has to be hidden from it"
            raise _refused(why, "remove them, or open another folder as the workspace") from error
        return []


def _refused(why: str, fix: str) -> ToolError:
    return ToolError("cannot run the command", why, fix, code=ErrorCode.LIMIT_REACHED)
