"""Finds untracked files that a commit may include (GIT-02).

Git adds no file outside the patterns of a sparse checkout, except with `--sparse` (GIT-02).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.counted import list_some
from remit_server.tools.git.commit.refusal import commit_refusal
from remit_server.tools.git.commit.repository import RepositoryNow
from remit_server.tools.git.git_repository import quote_path
from remit_server.workspace.git_config import is_on
from remit_server.workspace.paths.workspace_path import UNUSABLE, Workspace, WorkspacePath
from remit_server.workspace.trees.exclude import IGNORE_CASE, unread_list
from remit_server.workspace.trees.ignore import MAX_IGNORE_BYTES, IgnoreRules, parse_ignore_file
from remit_server.workspace.trees.ignore_layers import find_ignored, is_asked_for
from remit_server.workspace.trees.walk import Limits, walk_open

_PATTERNS = "info/sparse-checkout"
_SPARSE = "core.sparsecheckout"
_EXPECTED = "sparse.expectfilesoutsideofpatterns"


def outside_sparse(repository: RepositoryNow) -> Callable[[str], bool]:
    """Returns a predicate that says whether a path of the workspace lies outside the sparse checkout. Raises ToolError
    if there are too many patterns."""
    data = repository.git.read(_PATTERNS, MAX_IGNORE_BYTES) if is_on(repository.settings, _SPARSE) else None
    if data is None:
        return lambda _: False
    rules = parse_ignore_file(data, fold=is_on(repository.settings, IGNORE_CASE))
    if rules.cut:
        raise commit_refusal("its sparse checkout has too many patterns, or too long ones", "use git itself")
    prefix = os.fsdecode(repository.prefix)
    holds = _patterns_hold(rules)
    return lambda path: not holds(prefix + path)


def notices_files_outside(repository: RepositoryNow) -> bool:
    """Returns whether git checks a file that is marked as not checked out but exists anyway."""
    return is_on(repository.settings, _SPARSE) and not is_on(repository.settings, _EXPECTED)


def _patterns_hold(rules: IgnoreRules) -> Callable[[str], bool]:
    """Returns a predicate that says whether the patterns include a path: the last matching pattern decides, or if there
    is none, the last one for the nearest folder above that has one."""

    @cache
    def of_folder(folder: str) -> bool:
        said = rules.ignores(folder) if folder else False
        return of_folder(_above(folder)) if said is None else said

    def holds(path: str) -> bool:
        said = rules.ignores(path)
        return of_folder(_above(path)) if said is None else said

    return holds


def _above(path: str) -> str:
    """Returns the folder of a path, with a final `/`, or an empty text."""
    return path[: path.rfind("/", 0, -1) + 1]


_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class NotTaken:
    """Files that git would include, or that changed, and that a commit leaves as they are: new links, new repositories
    in folders, new files with names that cannot be shown, known submodules, existing files outside a sparse checkout,
    and new files in folders that git knows by another case and would name so. `cut` are ignore files that were read
    only in part, so that a commit may include a file that git would ignore."""

    links: set[str] = field(default_factory=set[str])
    repositories: set[str] = field(default_factory=set[str])
    nameless: set[str] = field(default_factory=set[str])
    submodules: set[str] = field(default_factory=set[str])
    sparse: set[str] = field(default_factory=set[str])
    respelled: set[str] = field(default_factory=set[str])
    cut: set[str] = field(default_factory=set[str])

    def describe(self, permits: Callable[[str], bool]) -> Iterator[str]:
        """Yields sentences about these files, and names only permitted paths."""
        for paths, one, some in (
            (self.links, "link", "links"),
            (self.repositories, "repository of its own", "repositories of their own"),
            (self.submodules, "submodule", "submodules"),
            (self.respelled, "new file in a folder of another case", "new files in folders of another case"),
            (self.sparse, "file outside the sparse checkout", "files outside the sparse checkout"),
        ):
            if named := sorted(path for path in paths if permits(path)):
                yield f"not looked at: {len(named)} {one if len(named) == 1 else some} ({_listed(named)})"
        if named := sorted(path for path in self.cut if permits(path)):
            yield f"some ignore files were read only in part, so check the new files: {_listed(named)}"
        if self.nameless:
            yield f"not looked at: {len(self.nameless)} new files with names that cannot be shown"


def _listed(named: Sequence[str]) -> str:
    return list_some([quote_path(path) for path in named], _MOST_NAMED)


def find_untracked(
    workspace: Workspace, folder: WorkspacePath, repository: RepositoryNow, left_out: NotTaken
) -> Iterator[str]:
    """Yields the untracked files below a folder, without ignored ones. Notes in `left_out` links and repositories found
    there.

    Raises ToolError if there are more files than can be looked at.
    """
    _must_know_what_is_ignored(workspace)
    nested = _nested_repositories(workspace)
    limits = Limits()
    found: Iterable[str] = (path for path, _ in walk_open(workspace, folder, limits))
    if is_asked_for(workspace, folder):
        # The walk enters an ignored folder that is named, but git adds no ignored file from it.
        below = tuple(found)
        ignored = find_ignored(workspace, below)
        found = (path for path in below if path not in ignored)
    knows, known = _knows(repository), repository.index.entries
    sets_aside = _set_aside(repository, left_out)
    for path in found:
        if knows(path) or nested(path) is not None:
            continue
        if UNUSABLE.search(path):
            left_out.nameless.add(path)
        elif not sets_aside(path):
            yield path
    if limits.spent():
        raise commit_refusal("there are too many files to look at them all", "name the files", ErrorCode.LIMIT_REACHED)
    left_out.cut.update(limits.cut)
    inner = {nested(f"{path}/.git") for path in limits.repositories}
    left_out.repositories.update(path for path in inner if path is not None and os.fsencode(path) not in known)
    links = {path for path in limits.others if os.fsencode(path) not in known and (workspace.root / path).is_symlink()}
    ignored = find_ignored(workspace, links)
    left_out.links.update(path for path in links if path not in ignored and nested(path) is None)


def _set_aside(repository: RepositoryNow, left_out: NotTaken) -> Callable[[str], bool]:
    """Returns a function that notes a new file in `left_out` if git would not add it under its name, and returns
    whether it did."""
    outside, respelled = outside_sparse(repository), _spelled_otherwise(repository)

    def sets_aside(path: str) -> bool:
        where = left_out.sparse if outside(path) else left_out.respelled if respelled(path) else None
        if where is not None:
            where.add(path)
        return where is not None

    return sets_aside


def _spelled_otherwise(repository: RepositoryNow) -> Callable[[str], bool]:
    """Returns a function that says whether git knows a folder of a path by another spelling, where case does not count.
    Git would add the file under that spelling."""
    if not is_on(repository.settings, IGNORE_CASE):
        return lambda _: False
    known: dict[bytes, bytes] = {}
    for name in repository.index.entries:
        for folder in _folders_of(name):
            known.setdefault(folder.lower(), folder)
    return lambda path: any(known.get(each.lower(), each) != each for each in _folders_of(os.fsencode(path)))


def _folders_of(name: bytes) -> Iterator[bytes]:
    return (name[:at] for at, sign in enumerate(name) if sign == ord("/"))


def find_addable(
    workspace: Workspace, paths: Sequence[str], repository: RepositoryNow, left_out: NotTaken
) -> list[str]:
    """Returns the paths that are untracked files which a commit may include. Notes others in `left_out`."""
    knows = _knows(repository)
    new = [path for path in paths if not knows(path) and _is_file(workspace, path)]
    if not new:
        return []
    _must_know_what_is_ignored(workspace)
    ignored, nested = find_ignored(workspace, new), _nested_repositories(workspace)
    sets_aside = _set_aside(repository, left_out)
    return [path for path in new if path not in ignored and nested(path) is None and not sets_aside(path)]


def _knows(repository: RepositoryNow) -> Callable[[str], bool]:
    """Returns a function that says whether git knows a path already; where case does not count, also by another
    spelling."""
    known = repository.index.entries
    if not is_on(repository.settings, IGNORE_CASE):
        return lambda path: os.fsencode(path) in known
    folded = {name.lower() for name in known}
    return lambda path: os.fsencode(path).lower() in folded


def _is_file(workspace: Workspace, path: str) -> bool:
    absolute = workspace.root / path
    return absolute.is_file() and not absolute.is_symlink()


def must_be_addable(workspace: Workspace, path: str, repository: RepositoryNow) -> None:
    """Raises ToolError if a named untracked file is ignored, belongs to another repository, or is one that git would
    not add, or only by another name."""
    _must_know_what_is_ignored(workspace)
    if path in find_ignored(workspace, [path]):
        raise commit_refusal(f"`{path}` is ignored (.gitignore)", "leave it out; a person can add it with `git add -f`")
    if _nested_repositories(workspace)(path) is not None:
        raise commit_refusal(f"`{path}` is in a repository of its own", "commit it there")
    if outside_sparse(repository)(path):
        raise commit_refusal(f"`{path}` is outside the sparse checkout", "have a person `git add --sparse` it")
    if _spelled_otherwise(repository)(path):
        why = f"git spells the folder of `{path}` in another case, and would use that spelling"
        raise commit_refusal(why, "spell the folder as git does")


def _must_know_what_is_ignored(workspace: Workspace) -> None:
    if (unread := unread_list(workspace)) is not None:
        raise commit_refusal(
            f"its `core.excludesFile` is `{unread}`, outside the workspace and not read: a new file may be ignored",
            "commit tracked files only, or have a person add the new ones with git itself",
        )


def read_persons(path: Path | None) -> bytes:
    """Returns the content of a file of the person's, cut to `MAX_IGNORE_BYTES`; empty if there is none."""
    if path is None or not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(MAX_IGNORE_BYTES)


def _nested_repositories(workspace: Workspace) -> Callable[[str], str | None]:
    """Returns a function that names the nested repository below the workspace's folder that a path is in, or returns
    None."""
    known: dict[str, str | None] = {"": None}

    def nested(path: str) -> str | None:
        folder = path.rpartition("/")[0]
        if folder not in known:
            above = nested(folder)
            known[folder] = folder if above is None and os.path.lexists(workspace.root / folder / ".git") else above
        return known[folder]

    return nested
