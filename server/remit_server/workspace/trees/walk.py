"""Walks the files below a folder in a stable order, without ignored ones and without following links (FILE-05)."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from remit_server.errors import ToolError
from remit_server.workspace.content.files import TEMPORARY_PREFIX
from remit_server.workspace.content.open_files import Retries
from remit_server.workspace.paths.workspace_path import UNUSABLE, Workspace, WorkspacePath
from remit_server.workspace.trees.ignore_layers import Layers, is_excluded, layers_below, with_ignore_file

SMALL_TREE = 400
"""Measured by bench/search.py."""

_MAX_DEPTH = 100
_MOST_REMEMBERED = 200

GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV})
"""Errors of opening something that was removed or replaced meanwhile."""

T = TypeVar("T")


@dataclass(slots=True)
class Limits:
    """The limits of one walk, shared with the work on its files. Time is in seconds from now.

    A tree of up to `small` files and folders is walked, a larger one is listed by ripgrep. A folder with more than
    `in_folder` entries ends the walk before its first entry. The walk collects: `closed`, the folders that could not be
    read; `others`, the entries that are neither files nor folders; `repositories`, the folders with a `.git` of their
    own; `cut`, the ignore files that are too long to be read as a whole; `retries`, the reads that needed a second try.
    """

    seconds: float = 10.0
    entries: int = 300_000
    small: int = SMALL_TREE
    in_folder: int | None = None
    started: float = field(default_factory=time.monotonic)
    stopped: bool = False
    closed: set[str] = field(default_factory=set[str])
    others: set[str] = field(default_factory=set[str])
    repositories: set[str] = field(default_factory=set[str])
    cut: set[str] = field(default_factory=set[str])
    retries: Retries = field(default_factory=Retries)

    async def look(self, work: Callable[[Limits], T]) -> T:
        """Runs `work` with these limits on a thread and returns its result. If the caller is cancelled, `work` is made
        to stop."""
        try:
            return await asyncio.to_thread(work, self)
        finally:
            self.stopped = True

    def of_small(self) -> Limits:
        """Returns limits for the walk through a small tree, within the same time; a larger tree ends it."""
        return replace(self, entries=self.small + 1, in_folder=max(0, self.small), stopped=False)

    @property
    def left_s(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.started + self.seconds - time.monotonic())

    def spent(self) -> bool:
        """Returns whether the work has to end now. Once true, it stays true."""
        if not self.stopped:
            self.stopped = self.entries <= 0 or time.monotonic() - self.started >= self.seconds
        return self.stopped


# A folder's entries as listed: their names, and whether each is a folder or a regular file.
Entries = tuple[tuple[str, bool, bool], ...]


def walk(workspace: Workspace, base: WorkspacePath, limits: Limits) -> Iterator[str]:
    """Yields the relative paths of the regular files below `base`, sorted by name; ends early when `limits` are spent.

    Left out: `.git`, what the repository ignores (unless `base` itself is ignored, because then the caller asked for
    it), links, and names that cannot be shown. Raises ToolError where `base` is no folder.
    """
    for relative, _ in walk_open(workspace, base, limits):
        if UNUSABLE.search(relative) is None:
            yield relative


def walk_open(workspace: Workspace, base: WorkspacePath, limits: Limits) -> Iterator[tuple[str, int]]:
    """Yields the paths that `walk` yields, each with a descriptor of its folder that is valid until the next path. Also
    yields files whose names cannot be shown, so that callers can count them.

    Raises ToolError as `walk` does.
    """
    fd = workspace.open_folder(base)
    layers = layers_below(workspace, base)
    prefix = "" if base.relative == "." else base.relative + "/"
    yield from _walk_below(fd, prefix, layers, limits)


def ignored_below(workspace: Workspace, base: WorkspacePath, limits: Limits) -> Iterator[str]:
    """Yields the ignored paths below `base`: files, and folders with a final `/`, which are not searched. Raises
    ToolError where `base` is no folder."""
    fd = workspace.open_folder(base)
    prefix = "" if base.relative == "." else base.relative + "/"
    yield from _ignored_in(fd, prefix, layers_below(workspace, base), limits)


def listing_filter(workspace: Workspace, base: WorkspacePath) -> Callable[[str], bool]:
    """Returns a predicate that tells whether `walk_open` would yield a path below `base`, if it is a regular file."""
    known: dict[str, Layers | None] = {}

    def layers_in(prefix: str) -> Layers | None:
        """Returns the ignore files that apply in a folder; None if the walk does not go there."""
        if prefix not in known:
            known[prefix] = found_in(prefix)
        return known[prefix]

    def found_in(prefix: str) -> Layers | None:
        folder = WorkspacePath(prefix.rstrip("/") or ".", workspace.root)
        above = layers_of_base() if folder.relative == base.relative else layers_of_parent(folder)
        if above is None:
            return None
        try:
            fd = workspace.open_folder(folder)
        except ToolError:
            return None
        try:
            return with_ignore_file(fd, prefix, above)
        finally:
            os.close(fd)

    def layers_of_base() -> Layers:
        return layers_below(workspace, base)

    def layers_of_parent(folder: WorkspacePath) -> Layers | None:
        above = "/".join(folder.names[:-1])
        prefix = above + "/" if above else ""
        layers = layers_in(prefix)
        out = layers is None or _is_unlisted(folder.names[-1]) or is_excluded(folder.relative, layers, folder=True)
        return None if out else layers

    def is_listed(relative: str) -> bool:
        prefix = relative[: relative.rfind("/") + 1]
        layers = layers_in(prefix) if prefix.count("/") <= _MAX_DEPTH else None
        if layers is None or _is_unlisted(relative[len(prefix) :]):
            return False
        return not is_excluded(relative, layers, folder=False)

    return is_listed


def is_not_too_deep(relative: str) -> bool:
    """Returns whether the path is within `walk_open`'s depth limit."""
    return relative.count("/") <= _MAX_DEPTH


def _walk_below(fd: int, prefix: str, layers: Layers, limits: Limits) -> Iterator[tuple[str, int]]:
    """Walks an open folder, and closes `fd`."""
    try:
        layers = with_ignore_file(fd, prefix, layers)
        limits.cut.update(layers.cut_in(prefix))
        found = _entries(fd, prefix, limits)
        _note(found, prefix, limits)
        chosen = _remembered if len(found) <= _MOST_REMEMBERED else _choose
        gone = 0
        for number, name, is_file in chosen(found, prefix, layers):
            limits.entries -= number - gone
            gone = number
            if limits.spent():
                return
            if is_file:
                yield prefix + name, fd
            elif prefix.count("/") < _MAX_DEPTH and (below := _open_folder(fd, prefix + name, limits)) is not None:
                yield from _walk_below(below, f"{prefix}{name}/", layers, limits)
        limits.entries -= len(found) - gone
        limits.spent()
    finally:
        os.close(fd)


def _note(found: Entries, prefix: str, limits: Limits) -> None:
    """Records in `limits` the entries that are neither files nor folders, and the folder itself if it has a `.git`."""
    limits.others.update(prefix + name for name, is_folder, is_file in found if not (is_folder or is_file))
    if prefix and any(name == ".git" for name, _, _ in found):
        limits.repositories.add(prefix[:-1])


def _ignored_in(fd: int, prefix: str, layers: Layers, limits: Limits) -> Iterator[str]:
    """Yields what is ignored in an open folder and below it, and closes `fd`."""
    try:
        layers = with_ignore_file(fd, prefix, layers)
        for name, is_folder, is_file in sorted(_entries(fd, prefix, limits)):
            limits.entries -= 1
            if limits.spent():
                return
            if not (is_folder or is_file) or _is_unlisted(name):
                continue
            if is_excluded(prefix + name, layers, folder=is_folder):
                yield prefix + name + "/" * is_folder
            elif is_folder and prefix.count("/") < _MAX_DEPTH:
                below = _open_folder(fd, prefix + name, limits)
                if below is not None:
                    yield from _ignored_in(below, f"{prefix}{name}/", layers, limits)
    finally:
        os.close(fd)


def _entries(fd: int, prefix: str, limits: Limits) -> Entries:
    """Lists a folder in no order; empty if there are too many entries, or listing fails."""
    most, name = limits.in_folder, prefix.rstrip("/") or "."
    try:
        found = limits.retries.read(name, lambda: _scan(fd, most))
    except OSError:
        limits.closed.add(name)
        return ()
    if most is not None and len(found) > most:
        limits.stopped = True
        return ()
    return found


def _scan(fd: int, most: int | None) -> Entries:
    with os.scandir(fd) as entries:
        some = entries if most is None else islice(entries, most + 1)
        return tuple([(e.name, e.is_dir(follow_symlinks=False), e.is_file(follow_symlinks=False)) for e in some])


def _choose(found: Entries, prefix: str, layers: Layers) -> tuple[tuple[int, str, bool], ...]:
    """Returns the entries that the walk visits, in order: each one's number among all entries (from 1), name, and
    whether it is a file. Pure: results for equal arguments are cached.
    """
    return tuple(
        (number, name, is_file)
        for number, (name, is_folder, is_file) in enumerate(sorted(found), 1)
        if (is_folder or is_file)
        and not _is_unlisted(name)
        and not is_excluded(prefix + name, layers, folder=is_folder)
    )


_remembered = lru_cache(maxsize=512)(_choose)


def _open_folder(here: int, relative: str, limits: Limits) -> int | None:
    """Opens a folder. Returns None if it is gone, replaced or not readable: the walk continues without it."""
    name, flags = relative.rpartition("/")[2], os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return limits.retries.read(relative, lambda: os.open(name, flags, dir_fd=here))
    except OSError as error:
        if error.errno not in GONE:
            limits.closed.add(relative)
        return None


def _is_unlisted(name: str) -> bool:
    return name == ".git" or name.startswith(TEMPORARY_PREFIX)
