"""Finds ignore files that are in a repository's index but not in its working tree, because they are marked as not
checked out, as in a sparse checkout. Git reads such ignore files from the index, and so does a walk (FILE-05)."""

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
    """The ids of the ignore files that are not checked out, by their folders (`lists`), and of the folders that are not
    checked out as a whole (`trees`). Folders are paths in the repository with a final `/`, or empty. `damaged` tells
    that the index is damaged."""

    lists: Mapping[str, str] = field(default_factory=dict[str, str])
    trees: Mapping[str, str] = field(default_factory=dict[str, str])
    damaged: bool = False
    _read: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])

    def __bool__(self) -> bool:
        return bool(self.lists or self.trees or self.damaged)

    def folders(self) -> Iterator[str]:
        """Yields, in no order, the folders in or below which one of the ignore files may apply."""
        yield from self.lists
        yield from self.trees

    def read(self, workspace: Workspace, folders: Folders, folder: str) -> bytes | None:
        """Returns the ignore file of a folder if it is not checked out; b"" if there is none, None if it cannot be
        read."""
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
            except Exception:  # dulwich may raise anything for a broken file
                self._read[folder] = None
        return self._read[folder]


def _read_blob(workspace: Workspace, folders: Folders, start: str, names: Sequence[str]) -> bytes:
    """Returns a file's contents: of the object `start`, or of the path `names` below the tree `start`; b"" if there is
    none. Raises whatever dulwich raises for a broken repository."""
    # Imported here, because every walk imports this module but few repositories have such files.
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
