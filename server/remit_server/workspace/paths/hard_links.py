"""Finds a file's other names in the workspace: hard links are one file, so a rule for one name holds for all (FILE-01).

Names outside the workspace are not searched for: no rule speaks of them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.content.open_files import is_transient
from remit_server.workspace.trees.walk import Limits

MAX_ENTRIES = 1_000_000
MAX_SECONDS = 30.0


@dataclass(slots=True)
class HardLinks:
    """The files below `root` with several names there; the tree is scanned on the first question."""

    root: Path
    _names: dict[int, list[str]] | None = field(default=None, repr=False)

    def other_names(self, relative: str) -> tuple[str, ...]:
        """Returns the file's other names, relative to the root; empty if it has none, or is not a regular file.

        Raises ToolError (`limit_reached`) if the workspace is too large to find them.
        """
        status = self._status(relative)
        if status is None:
            return ()
        if self._names is None:
            self._names = _several_names(self.root)
        return tuple(name for name in self._names.get(status.st_ino, ()) if name != relative)

    def may_have_others(self, relative: str) -> bool:
        """Returns whether the file has several names, inside or outside the workspace."""
        return self._status(relative) is not None

    def _status(self, relative: str) -> os.stat_result | None:
        """Returns the status of a regular file with several names, else None. Raises OSError if the system fails for
        a moment: the file may have names that a rule hides.
        """
        try:
            status = os.lstat(self.root / relative)
        except OSError as error:
            if is_transient(error):
                raise
            return None
        except ValueError:
            return None
        return status if stat.S_ISREG(status.st_mode) and status.st_nlink > 1 else None


def files_of(root: Path, inodes: Container[int] | None = None) -> Iterator[tuple[str, int]]:
    """Yields the regular files below a folder, or those with an inode of `inodes`, with their inodes; follows no link.

    Raises ToolError (`limit_reached`) if there are too many, OSError if the system fails for a moment.
    """
    limits = Limits(MAX_SECONDS, MAX_ENTRIES)
    pending = [("", root)]
    while pending:
        prefix, folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except OSError as error:
            if is_transient(error):
                raise
            continue
        for entry in found:
            limits.entries -= 1
            if limits.spent():
                raise ToolError(
                    "cannot tell which file this is",
                    "it has several names, and the workspace is too large to find them",
                    "open a smaller folder as the workspace",
                    code=ErrorCode.LIMIT_REACHED,
                )
            if entry.is_dir(follow_symlinks=False):
                pending.append((f"{prefix}{entry.name}/", folder / entry.name))
            elif entry.is_file(follow_symlinks=False) and (inodes is None or entry.inode() in inodes):
                yield prefix + entry.name, entry.inode()


def _several_names(root: Path) -> dict[int, list[str]]:
    first: dict[int, str] = {}
    several: dict[int, list[str]] = {}
    for name, inode in files_of(root):
        if inode in first:
            several.setdefault(inode, [first[inode]]).append(name)
        else:
            first[inode] = name
    return several
