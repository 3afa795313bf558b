"""Repositories of their own within a workspace: folders with a `.git`, and bare ones (POL-16)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from remit_server.workspace.git_linked import GIT, Folders, is_repository
from remit_server.workspace.trees.known_folders import LookAgain

KEPT_S = 30.0
"""Only a person makes such a repository, so they are looked for only so often."""


def nested_repositories(root: Path, survey: LookAgain) -> tuple[Folders, ...] | None:
    """Returns the repositories in folders below `root`; None where there is more than can be gone through, or the
    system fails."""
    try:
        found = survey()
    except OSError:
        return None
    # What lies in a repository's own folder is no other one.
    below = (each for each in found.repositories if each and GIT not in PurePosixPath(each).parts)
    return tuple(each for name in below for each in _repository_in(root / name)) if found.whole else None


def _repository_in(folder: Path) -> Iterator[Folders]:
    own = folder / GIT
    # Where `.git` is a file the repository is elsewhere: among these too, or where no command sees it.
    if own.is_dir() and not own.is_symlink() and is_repository(own):
        yield Folders(own, own, folder)
    elif is_repository(folder):
        yield Folders(folder, folder, folder)
