"""Files that a repository's index has and its working tree has not, because they are marked as not checked out, as in a
sparse checkout. Git takes ignore files among them from the index, and so does a look at a tree (FILE-05)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache

from remit_server.errors import ToolError
from remit_server.workspace.git_file import read_git_beginning
from remit_server.workspace.git_folder import MAX_INDEX_BYTES, open_git
from remit_server.workspace.git_index import EXTENDED
from remit_server.workspace.git_linked import Folders
from remit_server.workspace.paths.workspace_path import Workspace

IGNORE_FILE = ".gitignore"
_HEAD_BYTES = 8
_FOLDER = 0o040000
_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""The id of an empty file, which git knows without having it."""


@dataclass(frozen=True, slots=True, eq=False)
class AbsentLists:
    """The ignore files that are not checked out, by the folders that they are for, and the folders that are not checked
    out as a whole: each by its path in the repository, with a final `/`, or empty. `damaged`: the index is."""

    lists: Mapping[str, str] = field(default_factory=dict[str, str])
    trees: Mapping[str, str] = field(default_factory=dict[str, str])
    damaged: bool = False
    _read: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])

    def __bool__(self) -> bool:
        return bool(self.lists or self.trees or self.damaged)

    def folders(self) -> Iterator[str]:
        """Yields the folders, in no order, in or below which one of them may count."""
        yield from self.lists
        yield from self.trees

    def read(self, workspace: Workspace, folders: Folders, folder: str) -> bytes | None:
        """Returns what the ignore file for a folder holds, b"" where there is none; None where that cannot be told."""
        if self.damaged:
            return None
        above = next((name for name in self.trees if folder.startswith(name)), None)
        if folder not in self.lists and above is None:
            return b""
        if folder not in self._read:
            name = self.lists.get(folder)
            rest = (f"{folder.removeprefix(above or '')}{IGNORE_FILE}").split("/")
            start, names = (name, []) if name or above is None else (self.trees[above], rest)
            try:
                self._read[folder] = _read_blob(workspace, folders, start or "", names)
            except Exception:  # whatever a broken file makes of the library
                self._read[folder] = None
        return self._read[folder]


def _read_blob(workspace: Workspace, folders: Folders, start: str, names: Sequence[str]) -> bytes:
    """Returns what a file holds: the object `start`, or what has that path below the tree `start`; b"" where there is
    none. Raises what a broken repository makes of the library."""
    # Few repositories have such files, and everybody walks.
    from dulwich.objects import Blob, ObjectID, Tree

    from remit_server.workspace.git_objects import objects_of

    if start == _EMPTY:
        return b""
    with open_git(workspace, folders) as git, closing(objects_of(git)) as objects:
        held = objects[ObjectID(start.encode())]
        for name in map(os.fsencode, names):
            if not isinstance(held, Tree) or name not in held:
                return b""
            held = objects[ObjectID(held[name][1])]
        return held.data if isinstance(held, Blob) else b""


def absent_lists(folders: Folders) -> AbsentLists:
    """Returns the ignore files of the repository that are not checked out."""
    try:
        status = (folders.own / "index").stat()
    except OSError:
        return AbsentLists()
    return _absent_lists(folders, (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=8)
def _absent_lists(folders: Folders, state: tuple[int, int, int]) -> AbsentLists:
    """Returns what the index says, read once for each `state` of the file."""
    del state
    try:
        head = read_git_beginning(folders.own, "index", _HEAD_BYTES)
        if int.from_bytes(head[4:]) < EXTENDED and not folders.shared_indexes():
            return AbsentLists()  # nothing is marked in this version of the format
        entries = folders.staged(MAX_INDEX_BYTES)
    except (OSError, ValueError, ToolError):
        return AbsentLists(damaged=True)
    end = f"/{IGNORE_FILE}".encode()
    absent = [(name, each) for name, each in entries if each.is_absent and not each.stage]
    lists = {os.fsdecode(name[: -len(IGNORE_FILE)]): each.id for name, each in absent if (b"/" + name).endswith(end)}
    return AbsentLists(lists, {os.fsdecode(name): each.id for name, each in absent if each.mode == _FOLDER})
