"""Files that git does not know yet, as far as a commit may take them along (GIT-02)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.tools.git.commit.repository import Repository, commit_refusal
from remit_server.tools.git.commit.settings import expand_path, git_folder_of
from remit_server.workspace.git_folder import read_or_none
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
from remit_server.workspace.trees.ignore import MAX_IGNORE_BYTES, ignore_lines, ignore_rules
from remit_server.workspace.trees.walk import Limits, find_ignored, walk


def find_untracked(workspace: Workspace, folder: WorkspacePath, repository: Repository) -> Iterator[str]:
    """Untracked files below a folder, without ignored ones and those of repositories in it. Links are left out.

    Raises ToolError where there are more than can be gone through.
    """
    excluded = excludes(workspace, repository)
    nested = _nested_repositories(workspace)
    limits = Limits()
    for path in walk(workspace, folder, limits):
        if path.encode() not in repository.index.entries and not excluded(path) and not nested(path):
            yield path
    if limits.spent():
        raise commit_refusal("there are more files than can be gone through", "name the files", ErrorCode.LIMIT_REACHED)


def must_be_addable(workspace: Workspace, path: str, repository: Repository) -> None:
    """Raises ToolError where an untracked file that was named is ignored, or is another repository's."""
    if path in find_ignored(workspace, [path]) or excludes(workspace, repository)(path):
        raise commit_refusal(f"`{path}` is ignored (.gitignore)", "leave it out; a person can add it with `git add -f`")
    if _nested_repositories(workspace)(path):
        raise commit_refusal(f"`{path}` is in a repository of its own", "commit it there")


def excludes(workspace: Workspace, repository: Repository) -> Callable[[str], bool]:
    """Whether the repository's or the person's own list of ignored files names a path; a `.gitignore` that takes it
    back does not count here, so sooner too little is committed than too much."""
    own = read_or_none(workspace, "info/exclude", MAX_IGNORE_BYTES) or b""
    rules = ignore_rules([*ignore_lines(own), *ignore_lines(_persons(workspace, repository))])

    def excluded(path: str) -> bool:
        return rules.ignores(path) is True

    return excluded


def _persons(workspace: Workspace, repository: Repository) -> bytes:
    folder = git_folder_of(os.environ)
    said = repository.settings.get("core.excludesfile")
    path = expand_path(said, workspace.root, os.environ) if said else folder / "ignore" if folder else None
    return read_persons(path)


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
