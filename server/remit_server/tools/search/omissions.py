"""What a search or a listing passed over, in words: nothing is left out in silence (TOOL-03).

Files that a turn has made and not written yet, among those that a walk finds (APP-11).
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from remit_server.tools.spec import ToolContext
from remit_server.workspace.paths.workspace_path import UNUSABLE, WorkspacePath
from remit_server.workspace.trees.ignore import MAX_IGNORE_BYTES, MAX_IGNORE_LINES
from remit_server.workspace.trees.path_globs import Glob
from remit_server.workspace.trees.walk import Limits, find_ignored, ignored_below, is_asked_for

_MOST_NAMED = 3
_MAX_NAME_CHARS = 100
_IGNORED_S = 0.3
"""A look for what is ignored is for its sentence only: it must not be what one waits for."""


@dataclass(slots=True)
class LeftOut:
    """Files that were not searched, by why not, each of them one that may be read; and how many match in vain, for
    their names cannot be shown."""

    large: list[str] = field(default_factory=list[str])
    binary: list[str] = field(default_factory=list[str])
    unreadable: list[str] = field(default_factory=list[str])
    nameless: int = 0


@dataclass(frozen=True, slots=True)
class Ignored:
    """What may be told of that git ignores: files, and folders with a final `/`; `all_seen` where nothing was left."""

    paths: tuple[str, ...] = ()
    all_seen: bool = True


def find_ignored_below(
    ctx: ToolContext, base: WorkspacePath, glob: Glob | None, permits: Callable[[str], bool]
) -> Ignored:
    """Returns what is ignored below a folder: files that `glob` matches, and folders, which may hold some. Of a very
    large tree only what is found in time."""
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
    """Returns the sentence to say of what is ignored, or was not looked for in time, where nothing else was found."""
    files = _count_words([path for path in ignored.paths if not path.endswith("/")], "file", "")
    folders = _count_words([path.rstrip("/") for path in ignored.paths if path.endswith("/")], "folder", "")
    said = ", ".join(filter(None, (files, folders)))
    more = "" if ignored.all_seen else ", and maybe more"
    if said:
        return [f"left out because git ignores it: {said}{more}; name it as `path` to look into it"]
    return [] if ignored.all_seen else ["what git ignores was not looked through: there may be some"]


def describe_unsearched(left_out: LeftOut, closed: Iterable[str], most: str) -> list[str]:
    """Returns the sentences to say of it, where `closed` are folders that could not be read; `most` is what a file may
    be."""
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
    """Returns the sentences to say of a listing."""
    folders = _count_words(sorted(closed), "folder", "that cannot be read")
    return [*([f"left out: {folders}"] if folders else []), *nameless(without_name)]


def describe_cut(cut: Iterable[str]) -> list[str]:
    """Returns the sentence to say of ignore files that are read in part, or not at all."""
    why = f"over {MAX_IGNORE_BYTES >> 10} KiB or {MAX_IGNORE_LINES} lines, or that cannot be read"
    said = _count_words(sorted(cut), "ignore file", why)
    return [f"not all patterns count: {said}"] if said else []


def nameless(count: int) -> list[str]:
    """Returns what to say of files whose names are no UTF-8, or hold control characters: no tool can be told of
    them."""
    if not count:
        return []
    return [f"{count} more file{'s match' if count > 1 else ' matches'}, with names that cannot be shown"]


def policy_name(relative: str) -> str:
    """Returns the name as policy is asked about it: no rule can spell what cannot be shown, but any wildcard stands for
    it."""
    return UNUSABLE.sub("\ufffd", relative)


def that_may_be_told(closed: Iterable[str], permits: Callable[[str], bool]) -> frozenset[str]:
    """Returns those of the folders of which policy lets be known."""
    return frozenset(path for path in closed if permits(policy_name(path)))


def _count_words(paths: Sequence[str], what: str, more: str) -> str:
    if not paths:
        return ""
    names = [policy_name(path)[:_MAX_NAME_CHARS] for path in paths[:_MOST_NAMED]]
    dots = ", …" if len(paths) > _MOST_NAMED else ""
    plural = "s" if len(paths) > 1 else ""
    return f"{len(paths)} {what}{plural}{more and ' '}{more} ({', '.join(names)}{dots})"


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
