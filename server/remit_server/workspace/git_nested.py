"""Repositories of their own within a workspace: folders with a `.git`, and bare ones (POL-16)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from remit_server.workspace.git_linked import GIT, Folders, is_repository

KEPT_S = 30
"""Only a person makes such a repository, so they are looked for only so often."""

_MOST_ENTRIES = 1_000_000


def nested_repositories(root: Path) -> tuple[Folders, ...] | None:
    """Returns the repositories in folders below `root`; None where there is more than can be gone through."""
    return _nested_repositories(root, int(time.monotonic() / KEPT_S))


@lru_cache(maxsize=8)
def _nested_repositories(root: Path, moment: int) -> tuple[Folders, ...] | None:
    """Returns them as they are at about the `moment`."""
    del moment
    found: list[Folders] = []
    left, pending = _MOST_ENTRIES, [root]
    while pending:
        folder = pending.pop()
        names, below = _entries(folder)
        left -= len(names)
        if left < 0:
            return None
        if folder != root:
            found += _repository_in(folder, names)
        pending += (folder / name for name in below if name != GIT)
    return tuple(found)


def _repository_in(folder: Path, names: set[str]) -> Iterator[Folders]:
    own = folder / GIT
    # Where `.git` is a file the repository is elsewhere: among these too, or where no command sees it.
    if GIT in names and not own.is_symlink() and is_repository(own):
        yield Folders(own, own, folder)
    elif "HEAD" in names and is_repository(folder):
        yield Folders(folder, folder, folder)


def _entries(folder: Path) -> tuple[set[str], list[str]]:
    """Returns the names in a folder, and which of them are folders; none where it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            listed = [(each.name, each.is_dir(follow_symlinks=False)) for each in entries]
    except OSError:
        return set(), []
    return {name for name, _ in listed}, [name for name, is_folder in listed if is_folder]
