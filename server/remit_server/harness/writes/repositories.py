"""Marks writes that make a folder a git repository, or change one that has no `.git` in its path (GIT-05).

Git takes any folder with `HEAD`, `objects` and `refs` for a bare repository, and starts what its `config` and hooks
name. Which of them comes last nobody knows beforehand: a write of one of git's own files is marked where a file `HEAD`
and another of them lie side by side once it is done, with what is written beside it.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from remit_governance.policy.decision.builtin import GIT_NAMES, READING
from remit_governance.policy.matching.paths import fold, normalise
from remit_governance.values import Action

_HEAD = "head"
_BESIDE_HEAD = frozenset({"config", "config.worktree", "objects", "refs", "commondir", "hooks", "packed-refs"})


def mark_repositories(actions: Sequence[Action], root: Path) -> tuple[Action, ...]:
    """Marks the actions that write a file of git's in what is, or becomes, a repository below `root`."""
    written = {action.path for action in actions if action.path and _is_write(action)}
    marked = {path for folder, parts in _by_folder(written).items() for path in _in_repository(root, folder, parts)}
    return tuple(
        replace(action, repository=True) if action.path in marked and _is_write(action) else action
        for action in actions
    )


def _is_write(action: Action) -> bool:
    return action.syscall.startswith("fs.") and action.syscall not in READING


def _by_folder(paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """Returns, for each folder that a path has a file of git's below, the path and that file's name or folder."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in paths:
        for folder, name in git_folders(path):
            found[folder][path] = name
    return found


def git_folders(path: str) -> Iterator[tuple[str, str]]:
    """Yields the folders above a path that would be repositories if it is a file of git's, and the name in each."""
    parts = normalise(path).split("/")
    for place, part in enumerate(parts):
        name = fold(part)
        # A folder of that name is no `HEAD`.
        if name in GIT_NAMES and (name != _HEAD or place == len(parts) - 1):
            yield "/".join(parts[:place]), name


def _in_repository(root: Path, folder: str, parts: dict[str, str]) -> Iterable[str]:
    there = {*_names(root / folder), *parts.values()}
    return parts if _HEAD in there and not there.isdisjoint(_BESIDE_HEAD) else ()


def _names(folder: Path) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = fold(entry.name)
            if name in GIT_NAMES and (name != _HEAD or not entry.is_dir(follow_symlinks=False)):
                yield name
