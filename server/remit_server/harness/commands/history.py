"""Lists the paths that a repository's history holds, for commands that could show what policy keeps from being read
(POL-16)."""

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

# Each name once, of all commits that a ref or one of $@ leads to; those of what is staged come with them.
_PAST = f"{GIT} log --stdin --ignore-missing --all -m --no-renames --format= --name-only -z"
_SCRIPT = f"{{ printf '%s\\n' \"$@\" | {_PAST}; {GIT} ls-files -z --full-name -- :/; }} | sort -zu"
_MOST_REFS = 20_000
_MOST_IDS = 20_000
_MOST_OTHERS = 50
_MOST_LOG_BYTES = 20_000_000
_ID = re.compile(rb"(?<![0-9a-f])(?!0{40})[0-9a-f]{40}(?![0-9a-f])")
_PRIORITY = 2
"""Somebody waits for it before any command of theirs begins."""

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(slots=True)
class PastPaths:
    """What was last found in a repository, for which state of its refs; and what was answered to whom."""

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
        """Returns whether one of the paths is `denied`, which says the same as long as `by` is equal; also where git
        cannot tell which there are. False where there is no repository that git could read. `survey` is of the
        workspace's folders.
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
    """Returns whether a path of the repository is not to be seen: what lies outside the workspace never is."""
    return not path.startswith(prefix) or denied(path.removeprefix(prefix))


def other_repositories(root: Path, folders: Folders | None, survey: LookAgain) -> tuple[Folders, ...] | None:
    """Returns the repositories of submodules, and those of their own in the workspace at `root`, whose repository is
    `folders`; None where they are too many to be gone through."""
    nested = nested_repositories(root, survey)
    if nested is None:
        return None
    submodules = tuple(folders.submodules()) if folders else ()
    known = {folder for each in (*([folders] if folders else []), *submodules) for folder in (each.own, each.common)}
    return (*submodules, *(each for each in nested if each.own not in known))


async def _list_all(
    folders: Folders | None, others: Sequence[Folders], ctx: ToolContext, sandbox: Sandbox
) -> tuple[str, ...] | None:
    """Returns the paths of the repository and of the others, as they are in it; None where git cannot tell."""
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
        # Where its files are is no matter for its past, and they may be gone.
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
    """Returns the commits that no ref leads to, but a head of any working tree or a log of where refs were. Raises
    OSError."""
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
    """Returns the folders of the repository that its linked working trees have for themselves."""
    try:
        return sorted(path for path in (git.common / "worktrees").iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:
        return []


def _stamps(git: Folders) -> Iterator[tuple[str, int, int]]:
    """Yields what changes with the refs and the index."""
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
