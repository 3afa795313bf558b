"""Lists the paths that a repository's history holds, for commands that could show what policy keeps from being read
(POL-16)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from remit_server.errors import ToolError
from remit_server.sandbox.ports import Sandbox
from remit_server.tools.git.git_repository import GIT, open_repository
from remit_server.tools.spec import ToolContext
from remit_server.workspace.git_linked import Folders, find_folders

# Each name once, of all commits that a ref leads to; those of what is staged come with them.
_PAST = f"{GIT} log --all -m --no-renames --format= --name-only -z"
_SCRIPT = f"{{ {_PAST}; {GIT} ls-files -z --full-name -- :/; }} | sort -zu"
_MOST_REFS = 20_000
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
        stamp = await asyncio.to_thread(lambda: tuple(_stamps(folders)) if folders else ())
        if not stamp:
            return False
        if stamp != self._stamp:
            paths = await _list_paths(ctx, sandbox)
            self._paths, self._stamp, self._answered = paths, stamp, None
        if self._answered is None or self._answered[0] != by:
            paths = self._paths
            prefix = folders.prefix if folders else ""
            held = paths is None or await asyncio.to_thread(lambda: any(_is_kept(p, prefix, denied) for p in paths))
            self._answered = (by, held)
            return held
        return self._answered[1]


def _is_kept(path: str, prefix: str, denied: Callable[[str], bool]) -> bool:
    """Whether a path of the repository is not to be seen: what lies outside the workspace never is."""
    return not path.startswith(prefix) or denied(path.removeprefix(prefix))


async def _list_paths(ctx: ToolContext, sandbox: Sandbox) -> tuple[str, ...] | None:
    try:
        output = await sandbox.run(replace(open_repository(ctx).command(_SCRIPT), priority=_PRIORITY))
    except ToolError:
        return None
    if output.exit_code != 0 or output.truncated:
        return None
    return tuple(os.fsdecode(output.stdout).split("\0")[:-1])


def _stamps(git: Folders) -> Iterator[tuple[str, int, int]]:
    """Yields what changes with the refs and the index."""
    paths = [git.own, git.own / "HEAD", git.common / "packed-refs", git.own / "index"]
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
