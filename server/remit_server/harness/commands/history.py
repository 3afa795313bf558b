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
from remit_server.tools.git.git_repository import GIT, Repository, open_repository
from remit_server.tools.spec import ToolContext
from remit_server.workspace.git_file import read_git_file
from remit_server.workspace.git_linked import Folders, find_folders

# Each name once, of all commits that a ref or one of $@ leads to; those of what is staged come with them.
_PAST = f"{GIT} log --stdin --ignore-missing --all -m --no-renames --format= --name-only -z"
_SCRIPT = f"{{ printf '%s\\n' \"$@\" | {_PAST}; {GIT} ls-files -z --full-name -- :/; }} | sort -zu"
_MOST_REFS = 20_000
_MOST_IDS = 20_000
_MOST_SUBMODULES = 50
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

    async def hold(self, denied: Callable[[str], bool], by: object, ctx: ToolContext, sandbox: Sandbox) -> bool:
        """Whether one of the paths is `denied`, which says the same as long as `by` is equal; also where git cannot
        tell which there are. False where the workspace has no repository that git could read.
        """
        folders = await asyncio.to_thread(find_folders, ctx.workspace.root)
        all_ = await asyncio.to_thread(lambda: (folders, *folders.submodules()) if folders else ())
        stamp = await asyncio.to_thread(lambda: tuple(each for part in all_ for each in _stamps(part)))
        if folders is None or not stamp:
            return False
        if stamp != self._stamp:
            paths = await _list_all(folders, all_[1:], ctx, sandbox)
            self._paths, self._stamp, self._answered = paths, stamp, None
        if self._answered is None or self._answered[0] != by:
            paths = self._paths
            prefix = folders.prefix
            held = paths is None or await asyncio.to_thread(lambda: any(_is_kept(p, prefix, denied) for p in paths))
            self._answered = (by, held)
            return held
        return self._answered[1]


def _is_kept(path: str, prefix: str, denied: Callable[[str], bool]) -> bool:
    """Whether a path of the repository is not to be seen: what lies outside the workspace never is."""
    return not path.startswith(prefix) or denied(path.removeprefix(prefix))


async def _list_all(
    folders: Folders, submodules: Sequence[Folders], ctx: ToolContext, sandbox: Sandbox
) -> tuple[str, ...] | None:
    """Returns the paths of the repository and of its submodules, as they are in it; None where git cannot tell."""
    if len(submodules) > _MOST_SUBMODULES:
        return None
    try:
        found = await _list_paths(open_repository(ctx), folders, sandbox)
    except ToolError:
        return None
    for each in submodules:
        # Where its files are is no matter for its past, and they may be gone.
        inner = Repository(ctx.workspace.root, replace(each, top=ctx.workspace.root), ())
        paths = await _list_paths(inner, each, sandbox)
        if found is None or paths is None:
            return None
        found = (*found, *_below(each.top, folders.top, paths))
    return found


def _below(folder: Path, top: Path, paths: Iterable[str]) -> Iterator[str]:
    where = os.path.relpath(folder, top)
    return (f"{where}/{path}" for path in paths)


async def _list_paths(repository: Repository, folders: Folders, sandbox: Sandbox) -> tuple[str, ...] | None:
    try:
        ids = await asyncio.to_thread(_ids, folders)
        output = await sandbox.run(replace(repository.command(_SCRIPT, *ids), priority=_PRIORITY))
    except (OSError, ToolError):
        return None
    if len(ids) > _MOST_IDS or output.exit_code != 0 or output.truncated:
        return None
    return tuple(os.fsdecode(output.stdout).split("\0")[:-1])


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
    paths = [git.own, git.own / "HEAD", git.common / "packed-refs", git.own / "index"]
    for tree in (git.own, git.common, *_working_trees(git)):
        paths += [tree / "HEAD", tree / "ORIG_HEAD", tree / "FETCH_HEAD", tree / "logs" / "HEAD"]
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
