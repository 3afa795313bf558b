"""Files that a turn has made and not written yet, among those that a walk finds (APP-11)."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from typing import TypeVar

from remit_server.tools.spec import ToolContext
from remit_server.workspace.paths.workspace_path import WorkspacePath
from remit_server.workspace.trees.walk import find_ignored, is_asked_for

Folder = TypeVar("Folder")


def with_made(
    ctx: ToolContext, base: WorkspacePath, found: Iterator[tuple[str, Folder]]
) -> Iterator[tuple[str, Folder | None]]:
    """Returns what was found below `base`, in the order of `by_names`, and each made file in its place, without a
    folder. Of a folder that is not there yet, those alone."""
    made = _made_below(ctx, base)
    if not made:
        return found
    there = found if os.path.lexists(base.absolute) else iter(())
    others = ((path, folder) for path, folder in there if path not in ctx.made)
    return heapq.merge(others, ((path, None) for path in made), key=lambda each: by_names(each[0]))


def by_names(relative: str) -> str:
    """Sorts folder by folder, as `walk` does: what ends a name comes before all that can be in one."""
    return relative.replace("/", "\0")


def _made_below(ctx: ToolContext, base: WorkspacePath) -> list[str]:
    prefix = "" if base.relative == "." else base.relative + "/"
    below = [path for path in ctx.made if path.startswith(prefix) and ".git" not in path.split("/")]
    # What is ignored is listed only where it was asked for.
    asked_for = is_asked_for(ctx.workspace, base)
    ignored: frozenset[str] = frozenset() if asked_for else find_ignored(ctx.workspace, below)
    return sorted((path for path in below if path not in ignored), key=by_names)
