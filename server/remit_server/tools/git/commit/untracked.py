"""Files that git does not know yet, as far as a commit may take them along (GIT-02)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.tools.git.commit.refusal import commit_refusal
from remit_server.tools.git.commit.repository import Repository
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
from remit_server.workspace.trees.exclude import unread_list
from remit_server.workspace.trees.ignore import MAX_IGNORE_BYTES
from remit_server.workspace.trees.walk import Limits, find_ignored, is_asked_for, walk


def find_untracked(workspace: Workspace, folder: WorkspacePath, repository: Repository) -> Iterator[str]:
    """Untracked files below a folder, without ignored ones and those of repositories in it. Links are left out.

    Raises ToolError where there are more than can be gone through.
    """
    _must_know_what_is_ignored(workspace)
    nested = _nested_repositories(workspace)
    limits = Limits()
    found: Iterable[str] = walk(workspace, folder, limits)
    if is_asked_for(workspace, folder):
        # A look goes into an ignored folder that is named; git adds nothing of it that is ignored.
        below = tuple(found)
        ignored = find_ignored(workspace, below)
        found = (path for path in below if path not in ignored)
    for path in found:
        if path.encode() not in repository.index.entries and not nested(path):
            yield path
    if limits.spent():
        raise commit_refusal("there are more files than can be gone through", "name the files", ErrorCode.LIMIT_REACHED)


def find_addable(workspace: Workspace, paths: Sequence[str], repository: Repository) -> list[str]:
    """Returns those of the paths that are untracked files which a commit may take along."""
    known = repository.index.entries
    new = [path for path in paths if os.fsencode(path) not in known and _is_file(workspace, path)]
    if not new:
        return []
    _must_know_what_is_ignored(workspace)
    ignored, nested = find_ignored(workspace, new), _nested_repositories(workspace)
    return [path for path in new if path not in ignored and not nested(path)]


def _is_file(workspace: Workspace, path: str) -> bool:
    absolute = workspace.root / path
    return absolute.is_file() and not absolute.is_symlink()


def must_be_addable(workspace: Workspace, path: str) -> None:
    """Raises ToolError where an untracked file that was named is ignored, or is another repository's."""
    _must_know_what_is_ignored(workspace)
    if path in find_ignored(workspace, [path]):
        raise commit_refusal(f"`{path}` is ignored (.gitignore)", "leave it out; a person can add it with `git add -f`")
    if _nested_repositories(workspace)(path):
        raise commit_refusal(f"`{path}` is in a repository of its own", "commit it there")


def _must_know_what_is_ignored(workspace: Workspace) -> None:
    if (unread := unread_list(workspace)) is not None:
        raise commit_refusal(
            f"its `core.excludesFile` is `{unread}`, not read outside the workspace: a new file may be ignored",
            "commit tracked files only, or have a person add the new ones with git itself",
        )


def read_persons(path: Path | None) -> bytes:
    """A file of the person's, cut where it is unreasonably long; empty where there is none."""
    if path is None or not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(MAX_IGNORE_BYTES)


def _nested_repositories(workspace: Workspace) -> Callable[[str], bool]:
    known: dict[str, bool] = {"": False}

    def nested(path: str) -> bool:
        folder = path.rpartition("/")[0]
        if folder not in known:
            known[folder] = os.path.lexists(workspace.root / folder / ".git") or nested(folder)
        return known[folder]

    return nested
