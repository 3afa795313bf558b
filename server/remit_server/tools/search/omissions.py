"""Sentences about what a search or a listing left out, so that nothing is left out without notice (TOOL-03).

Also adds files that a turn has made and not yet written to those that a walk finds (APP-11).
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from remit_governance.secrets.cutting import shorten
from remit_server.tools.spec import ToolContext
from remit_server.workspace.paths.workspace_path import UNUSABLE, WorkspacePath
from remit_server.workspace.trees.ignore import MAX_IGNORE_BYTES, MAX_IGNORE_LINES
from remit_server.workspace.trees.ignore_layers import find_ignored, is_asked_for
from remit_server.workspace.trees.path_globs import Glob
from remit_server.workspace.trees.walk import Limits, ignored_below

_MOST_NAMED = 3
_MAX_NAME_CHARS = 100
_IGNORED_S = 0.3
"""Time to look for ignored files. They are only for a sentence, so the person must not wait for it."""


@dataclass(slots=True)
class LeftOut:
    """Readable files that were not searched, by reason; and the number of matching files whose names cannot be
    shown."""

    large: list[str] = field(default_factory=list[str])
    binary: list[str] = field(default_factory=list[str])
    unreadable: list[str] = field(default_factory=list[str])
    nameless: int = 0


@dataclass(frozen=True, slots=True)
class Ignored:
    """Ignored files, and ignored folders with a final `/`, that may be named. `all_seen` says whether all were
    found."""

    paths: tuple[str, ...] = ()
    all_seen: bool = True


def find_ignored_below(
    ctx: ToolContext, base: WorkspacePath, glob: Glob | None, permits: Callable[[str], bool]
) -> Ignored:
    """Returns what git ignores below a folder: files that `glob` matches, and folders, which may hold such files. In a
    very large tree, only those that are found in time."""
    limits, start = Limits(seconds=_IGNORED_S), len(base.relative) + 1 if base.names else 0
    if not base.absolute.is_dir():
        return Ignored()
    found = tuple(
        path
        for path in ignored_below(ctx.workspace, base, limits)
        if (path.endswith("/") or glob is None or glob.matches(path[start:])) and permits(policy_name(path.rstrip("/")))
    )
    return Ignored(found, not limits.stopped)


def describe_ignored(ignored: Ignored) -> list[str]:
    """Returns a sentence about ignored files, or that there was no time to look for them, for when nothing else was
    found."""
    files = _count_words([path for path in ignored.paths if not path.endswith("/")], "file", "")
    folders = _count_words([path.rstrip("/") for path in ignored.paths if path.endswith("/")], "folder", "")
    said = ", ".join(filter(None, (files, folders)))
    more = "" if ignored.all_seen else ", and maybe more"
    if said:
        return [f"left out because git ignores it: {said}{more}; name it as `path` to search it"]
    return [] if ignored.all_seen else ["files that git ignores were not searched, and some may match"]


def describe_unsearched(left_out: LeftOut, closed: Iterable[str], most: str) -> list[str]:
    """Returns the sentences about files that were not searched. `closed` are folders that could not be read; `most` is
    the size limit in words."""
    parts = [
        _count_words(left_out.large, "file", f"over {most}"),
        _count_words(left_out.binary, "binary file", ""),
        _count_words(left_out.unreadable, "file", "that cannot be read"),
        _count_words(sorted(closed), "folder", "that cannot be read"),
    ]
    said = ", ".join(filter(None, parts))
    hint = "; name a large file as `path` to search it" if left_out.large else ""
    return [*([f"not searched: {said}{hint}"] if said else []), *nameless(left_out.nameless)]


def describe_unlisted(closed: Iterable[str], without_name: int) -> list[str]:
    """Returns the sentences about what a listing left out."""
    folders = _count_words(sorted(closed), "folder", "that cannot be read")
    return [*([f"left out: {folders}"] if folders else []), *nameless(without_name)]


def describe_cut(cut: Iterable[str]) -> list[str]:
    """Returns the sentence about ignore files that were read only in part, or not at all."""
    why = f"over {MAX_IGNORE_BYTES >> 10} KiB or {MAX_IGNORE_LINES} lines, or that cannot be read"
    said = _count_words(sorted(cut), "ignore file", why)
    return [f"ignore patterns were read only in part: {said}"] if said else []


def nameless(count: int) -> list[str]:
    """Returns the sentence about files whose names are no UTF-8 or hold control characters, so that no tool can name
    them."""
    if not count:
        return []
    return [f"{count} more file{'s match' if count > 1 else ' matches'}, with names that cannot be shown"]


def policy_name(relative: str) -> str:
    """Returns the name by which policy judges a file. No rule can spell a name that cannot be shown, but wildcards
    match it."""
    return UNUSABLE.sub("\ufffd", relative)


def that_may_be_told(closed: Iterable[str], permits: Callable[[str], bool]) -> frozenset[str]:
    """Returns the folders that policy lets be named."""
    return frozenset(path for path in closed if permits(policy_name(path)))


def _count_words(paths: Sequence[str], what: str, more: str) -> str:
    if not paths:
        return ""
    names = [shorten(policy_name(path), _MAX_NAME_CHARS) for path in paths[:_MOST_NAMED]]
    dots = ", …" if len(paths) > _MOST_NAMED else ""
    plural = "s" if len(paths) > 1 else ""
    return f"{len(paths)} {what}{plural}{more and ' '}{more} ({', '.join(names)}{dots})"


Folder = TypeVar("Folder")


def with_made(
    ctx: ToolContext, base: WorkspacePath, found: Iterator[tuple[str, Folder]]
) -> Iterator[tuple[str, Folder | None]]:
    """Returns what was found below `base`, in the order of `by_names`, with each made file in its place and without a
    folder. If `base` does not exist yet, returns only the made files."""
    made = _made_below(ctx, base)
    if not made:
        return found
    there = found if os.path.lexists(base.absolute) else iter(())
    others = ((path, folder) for path, folder in there if path not in ctx.made)
    return heapq.merge(others, ((path, None) for path in made), key=lambda each: by_names(each[0]))


def by_names(relative: str) -> str:
    """Returns a sort key that orders folder by folder, as `walk` does: `/` sorts before all characters of a name."""
    return relative.replace("/", "\0")


def _made_below(ctx: ToolContext, base: WorkspacePath) -> list[str]:
    prefix = "" if base.relative == "." else base.relative + "/"
    below = [path for path in ctx.made if path.startswith(prefix) and ".git" not in path.split("/")]
    # Ignored files are listed only if the ignored folder was named.
    asked_for = is_asked_for(ctx.workspace, base)
    ignored: frozenset[str] = frozenset() if asked_for else find_ignored(ctx.workspace, below)
    return sorted((path for path in below if path not in ignored), key=by_names)
