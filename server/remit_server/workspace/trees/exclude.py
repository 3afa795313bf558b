"""Reads the ignore lists outside the tree: `.git/info/exclude`, the person's own, and the ignore files of a repository
above (FILE-05).

The person's own list is the file that `core.excludesFile` in their own settings names, and may be any file. A file that
the repository's settings name is read only if it is in the workspace, because the names that are ignored would reveal
the file's contents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from remit_server.workspace.git_absent import IGNORE_FILE, absent_lists
from remit_server.workspace.git_config import MAX_CONFIG_BYTES, expand_path, git_folder_of, is_on, settings_of
from remit_server.workspace.git_file import read_git_file
from remit_server.workspace.git_linked import Folders, find_folders
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.trees.ignore import MAX_IGNORE_BYTES

EXCLUDES_FILE = "core.excludesfile"
ATTRIBUTES_FILE = "core.attributesfile"
IGNORE_CASE = "core.ignorecase"


@dataclass(frozen=True, slots=True)
class ExcludeList:
    """A list of patterns as it is now. `prefix` is the workspace's path below the folder that the patterns are relative
    to."""

    path: Path
    data: bytes
    prefix: str = ""


def exclude_lists(workspace: Workspace) -> tuple[ExcludeList, ...]:
    """Returns the lists of the workspace's repository in ascending precedence; none if there is no repository."""
    folders = find_folders(workspace.root)
    if folders is None:
        return ()
    persons = persons_list(workspace, folders)
    # Do not read through a link, because a repository may bring one.
    own = None if (folders.common / "info").is_symlink() else _list_at(folders.common / "info" / "exclude")
    outer = (replace(each, prefix=folders.prefix) for each in (persons, own) if each is not None)
    return (*outer, *_lists_above(workspace, folders))


def _lists_above(workspace: Workspace, folders: Folders) -> Iterator[ExcludeList]:
    """Yields the ignore files of the folders above the workspace, also those that are not checked out."""
    for folder, rest in folders.way():
        path = folder / IGNORE_FILE
        if path.is_file() and not path.is_symlink():
            found = _list_at(path)
        else:
            data = absent_lists(folders).read(workspace, folders, folders.prefix.removesuffix(rest))
            found = ExcludeList(path, data) if data else None
        if found is not None:
            yield replace(found, prefix=rest)


def folds_case(workspace: Workspace) -> bool:
    """Returns whether ignore files ignore case, by the setting that git makes on a case-insensitive disk."""
    folders = find_folders(workspace.root)
    return folders is not None and is_on(settings_of(folders.own, _config_of(folders), os.environ), IGNORE_CASE)


def persons_list(workspace: Workspace, folders: Folders) -> ExcludeList | None:
    """Returns the list that `core.excludesFile` names, else the one that git looks for beside a person's settings."""
    path = persons_file(workspace, folders, EXCLUDES_FILE, "ignore")
    return None if path is None else _list_at(path)


def persons_file(workspace: Workspace, folders: Folders, setting: str, name: str) -> Path | None:
    """Returns the file that a setting names, else the one called `name` beside a person's settings; None if the
    repository's own settings name one outside the workspace."""
    said = dict(_config_of(folders)).get(setting)
    if said is not None:
        path = expand_path(said, workspace.root, os.environ)
        return path if _is_inside(path, workspace) else None
    theirs = settings_of(folders.own, (), os.environ).get(setting)
    folder = git_folder_of(os.environ)
    if theirs is None and folder is None:
        return None
    path = expand_path(theirs, workspace.root, os.environ) if theirs is not None else Path(folder or ".", name)
    try:
        # Follow a link of the person's own, as git does.
        return path.resolve(strict=True)
    except (OSError, RuntimeError):
        return None


def unread_list(workspace: Workspace) -> str | None:
    """Returns the list that the repository's own settings name, if it is not read because it is outside the
    workspace."""
    folders = find_folders(workspace.root)
    said = dict(_config_of(folders)).get(EXCLUDES_FILE) if folders else None
    return said if said and not _is_inside(expand_path(said, workspace.root, os.environ), workspace) else None


def _is_inside(path: Path, workspace: Workspace) -> bool:
    try:
        return path.resolve().is_relative_to(workspace.root)
    except (OSError, RuntimeError):
        return False


def _config_of(folders: Folders) -> tuple[tuple[str, str], ...]:
    try:
        return folders.config()
    except OSError:
        return ()


def _list_at(path: Path) -> ExcludeList | None:
    try:
        data = read_git_file(path.parent, path.name, MAX_CONFIG_BYTES)
    except OSError:
        return None
    return ExcludeList(path, data[: MAX_IGNORE_BYTES + 1]) if data else None
