"""Lists the paths in a repository's history, because a command could show an old version of a file that policy denies
reading (POL-16)."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from remit_server.errors import ToolError
from remit_server.sandbox.ports import Sandbox
from remit_server.tools.git.git_repository import GIT, Repository, open_repository, unreadable_format
from remit_server.tools.spec import ToolContext
from remit_server.workspace.git_file import read_git_file
from remit_server.workspace.git_folder import MAX_INDEX_BYTES
from remit_server.workspace.git_linked import Folders, find_folders, nested_repositories
from remit_server.workspace.trees.known_folders import LookAgain

# Prints each path once: those in all commits that can be reached from a ref or from one of $@, and those that are
# staged.
_PAST = f"{GIT} log --stdin --ignore-missing --all -m --no-renames --format= --name-only -z"
_SCRIPT = f"{{ printf '%s\\n' \"$@\" | {_PAST}; {GIT} ls-files -z --full-name -- :/; }} | sort -zu"
_MOST_REFS = 20_000
_MOST_IDS = 20_000
_MOST_OTHERS = 50
_MOST_LOG_BYTES = 20_000_000
_ID = re.compile(rb"(?<![0-9a-f])(?!0{40})[0-9a-f]{40}(?![0-9a-f])")
_PRIORITY = 2
"""High, because a call waits for this list before its own command can begin."""

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(slots=True)
class PastPaths:
    """The paths that were last found in the repositories, for the state of refs in `_stamp`, and the last answer."""

    _stamp: Stamp | None = None
    _paths: tuple[str, ...] | None = None
    _answered: tuple[object, bool] | None = None

    async def hold(
        self,
        denied: Callable[[str], bool],
        by: object,
        survey: LookAgain,
        ctx: ToolContext,
        sandbox: Sandbox,
    ) -> bool:
        """Returns whether one of the paths in the history is `denied`; True if git cannot list them, False if there is
        no repository.

        `denied` must give the same answers as long as `by` is equal. `survey` lists the workspace's folders.
        """
        root = ctx.workspace.root
        folders = await asyncio.to_thread(find_folders, root)
        others = await asyncio.to_thread(other_repositories, root, folders, survey)
        all_ = (*([folders] if folders else []), *(others or ()))
        stamp = await asyncio.to_thread(lambda: tuple(each for part in all_ for each in _stamps(part)))
        if others is None:
            return True
        if not stamp:
            return False
        if stamp != self._stamp:
            paths = await _list_all(folders, others, ctx, sandbox)
            self._paths, self._stamp, self._answered = paths, stamp, None
        if self._answered is None or self._answered[0] != by:
            paths = self._paths
            prefix = folders.prefix if folders else ""
            held = paths is None or await asyncio.to_thread(lambda: any(_is_kept(p, prefix, denied) for p in paths))
            self._answered = (by, held)
            return held
        return self._answered[1]


def _is_kept(path: str, prefix: str, denied: Callable[[str], bool]) -> bool:
    """Returns whether a path of the repository must not be seen. Paths outside the workspace must never be seen."""
    return not path.startswith(prefix) or denied(path.removeprefix(prefix))


def other_repositories(root: Path, folders: Folders | None, survey: LookAgain) -> tuple[Folders, ...] | None:
    """Returns the other repositories in the workspace at `root`, whose own repository is `folders`: those of submodules
    and independent ones. Returns None if they are too many to look at."""
    nested = nested_repositories(root, survey)
    if nested is None:
        return None
    submodules = tuple(folders.submodules()) if folders else ()
    known = {folder for each in (*([folders] if folders else []), *submodules) for folder in (each.own, each.common)}
    return (*submodules, *(each for each in nested if each.own not in known))


async def _list_all(
    folders: Folders | None, others: Sequence[Folders], ctx: ToolContext, sandbox: Sandbox
) -> tuple[str, ...] | None:
    """Returns the paths in the history of all repositories, relative to the top of the workspace's own one, or None if
    git cannot list them."""
    if len(others) > _MOST_OTHERS:
        return None
    found: tuple[str, ...] = ()
    root, top = ctx.workspace.root, folders.top if folders else ctx.workspace.root
    if folders is not None:
        try:
            paths = await _list_paths(open_repository(ctx), folders, sandbox)
        except ToolError:
            paths = None
        if paths is None:
            return None
        found = paths
    for each in others:
        # Run git at `root`: the history does not depend on the working tree, which may be gone.
        paths = await _list_paths(Repository(root, replace(each, top=root), ()), each, sandbox)
        if paths is None:
            return None
        found = (*found, *_below(each.top, top, paths))
    return found


def _below(folder: Path, top: Path, paths: Iterable[str]) -> Iterator[str]:
    where = os.path.relpath(folder, top)
    return (f"{where}/{path}" for path in paths)


async def _list_paths(repository: Repository, folders: Folders, sandbox: Sandbox) -> tuple[str, ...] | None:
    try:
        if unreadable_format(await asyncio.to_thread(folders.config)) is not None:
            return None
        ids = await asyncio.to_thread(_ids, folders)
        elsewhere = await asyncio.to_thread(_staged_elsewhere, folders)
        output = await sandbox.run(replace(repository.command(_SCRIPT, *ids), priority=_PRIORITY))
    except (OSError, ValueError, ToolError):
        return None
    if len(ids) > _MOST_IDS or output.exit_code != 0 or output.truncated:
        return None
    return (*os.fsdecode(output.stdout).split("\0")[:-1], *elsewhere)


def _staged_elsewhere(git: Folders) -> tuple[str, ...]:
    """Returns the paths that are staged in the other working trees of the repository. Raises OSError and ValueError."""
    others = (each for each in (git.common, *_working_trees(git)) if each != git.own)
    staged = (replace(git, own=each).staged(MAX_INDEX_BYTES) for each in others)
    return tuple(dict.fromkeys(os.fsdecode(name) for entries in staged for name, _ in entries))


def _ids(git: Folders) -> tuple[str, ...]:
    """Returns the ids of commits in the heads of all working trees and in the logs of refs, because no ref may lead to
    these commits any more. Raises OSError."""
    trees = (git.own, git.common, *_working_trees(git))
    found: dict[bytes, None] = {}
    for folder in dict.fromkeys(trees):
        names = [*(folder / name for name in os.listdir(folder) if name.endswith("HEAD"))]  # noqa: PTH208  names only
        for start in ("logs", "refs") if folder != git.common else ("logs",):
            names += [Path(below, name) for below, _, files in os.walk(folder / start) for name in files]
        for path in names:
            if path.is_file() and not path.is_symlink():
                data = read_git_file(path.parent, path.name, _MOST_LOG_BYTES) or b""
                found.update(dict.fromkeys(_ID.findall(data)))
    return tuple(each.decode() for each in found)


def _working_trees(git: Folders) -> list[Path]:
    """Returns the folders inside the repository that belong to its linked working trees."""
    try:
        return sorted(path for path in (git.common / "worktrees").iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:
        return []


def _stamps(git: Folders) -> Iterator[tuple[str, int, int]]:
    """Yields the paths, times and sizes of files that change when the refs or the index change."""
    paths = [git.own, git.own / "HEAD", git.common / "packed-refs"]
    for tree in (git.own, git.common, *_working_trees(git)):
        paths += [tree / "index", tree / "HEAD", tree / "ORIG_HEAD", tree / "FETCH_HEAD", tree / "logs" / "HEAD"]
    for folder, _, names in os.walk(git.common / "refs"):
        paths += [Path(folder, name) for name in names]
        if len(paths) > _MOST_REFS:
            break
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        yield str(path), status.st_mtime_ns if path != git.own else 0, status.st_size if path != git.own else 0
