"""What a sparse checkout holds, by its patterns: git adds nothing outside it but with `--sparse` (GIT-02)."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from remit_server.tools.git.commit.refusal import commit_refusal
from remit_server.tools.git.commit.repository import RepositoryNow
from remit_server.workspace.git_config import is_on
from remit_server.workspace.trees.exclude import IGNORE_CASE
from remit_server.workspace.trees.ignore import MAX_IGNORE_BYTES, IgnoreRules, parse_ignore_file

_PATTERNS = "info/sparse-checkout"
_SPARSE = "core.sparsecheckout"
_EXPECTED = "sparse.expectfilesoutsideofpatterns"


def outside_sparse(repository: RepositoryNow) -> Callable[[str], bool]:
    """Returns a predicate: whether a path of the workspace lies outside the sparse checkout. Raises ToolError where the
    patterns are more than can be gone through."""
    data = repository.git.read(_PATTERNS, MAX_IGNORE_BYTES) if is_on(repository.settings, _SPARSE) else None
    if data is None:
        return lambda _: False
    rules = parse_ignore_file(data, fold=is_on(repository.settings, IGNORE_CASE))
    if rules.cut:
        raise commit_refusal("the patterns of its sparse checkout are too many, or too long", "use git itself")
    prefix = os.fsdecode(repository.prefix)
    holds = _patterns_hold(rules)
    return lambda path: not holds(prefix + path)


def notices_files_outside(repository: RepositoryNow) -> bool:
    """Returns whether a file that is marked as not checked out is looked at where it is there all the same."""
    return is_on(repository.settings, _SPARSE) and not is_on(repository.settings, _EXPECTED)


def _patterns_hold(rules: IgnoreRules) -> Callable[[str], bool]:
    """Returns a predicate: whether the last pattern for a path is no negative one; where there is none, the last one
    for a folder that it is in."""

    @cache
    def of_folder(folder: str) -> bool:
        said = rules.ignores(folder) if folder else False
        return of_folder(_above(folder)) if said is None else said

    def holds(path: str) -> bool:
        said = rules.ignores(path)
        return of_folder(_above(path)) if said is None else said

    return holds


def _above(path: str) -> str:
    """Returns the folder that a path is in, with a final `/`, or empty."""
    return path[: path.rfind("/", 0, -1) + 1]
