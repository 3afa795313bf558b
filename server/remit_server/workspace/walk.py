"""The files below a folder, in a stable order, without ignored ones and without following links (agent.md §2)."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from pathspec import GitIgnoreSpec

from remit_server.errors import ToolError
from remit_server.workspace.files import TEMPORARY_PREFIX
from remit_server.workspace.paths import UNUSABLE, Workspace, WorkspacePath

SMALL_TREE = 400
"""Measured: bench/search.py."""

_MAX_DEPTH = 100
_MAX_IGNORE_BYTES = 256 * 1024
_MAX_IGNORE_LINES = 2000
_STARS = re.compile(r"\*\*+|\*")


@dataclass(slots=True)
class Limits:
    """What one walk may cost; shared with whoever works on its files. Time is in seconds from now.

    `small` is how many files and folders, ignored ones too, are sooner gone through than ripgrep is started.
    """

    seconds: float = 10.0
    entries: int = 300_000
    small: int = SMALL_TREE
    started: float = field(default_factory=time.monotonic)
    stopped: bool = False

    @property
    def left_s(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.started + self.seconds - time.monotonic())

    def spent(self) -> bool:
        """Whether the work has to end now. Once true, it stays true."""
        self.stopped = self.stopped or self.entries <= 0 or self.left_s == 0
        return self.stopped


# The ignore files that apply in a folder: each with the length of its own folder's prefix, outermost first.
Layers = tuple[tuple[int, GitIgnoreSpec], ...]


def walk(workspace: Workspace, base: WorkspacePath, limits: Limits) -> Iterator[str]:
    """Relative paths of the regular files below `base`, sorted by their names; ends early when `limits` are spent.

    Left out: `.git`, what `.gitignore` files exclude (unless `base` itself is excluded, for then it was asked for),
    links, and names with control characters. Raises ToolError where `base` is no folder.
    """
    for relative, _ in walk_open(workspace, base, limits):
        yield relative


def walk_open(workspace: Workspace, base: WorkspacePath, limits: Limits) -> Iterator[tuple[str, int]]:
    """What `walk` yields, each with a descriptor of its folder that is good until the next one is asked for.

    Raises ToolError as `walk` does.
    """
    fd = workspace.open_folder(base)
    layers = _layers_above(workspace, base)
    prefix = "" if base.relative == "." else base.relative + "/"
    yield from _below(fd, prefix, layers, limits)


def entries_below(workspace: Workspace, base: WorkspacePath, most: int) -> int:
    """How many files and folders there are below `base`, ignored ones too, counted up to `most`. Raises ToolError."""
    return sum(1 for _ in islice(_entries(workspace.open_folder(base)), most))


def _entries(fd: int) -> Iterator[None]:
    """Closes `fd`."""
    try:
        folders: list[str] = []
        with os.scandir(fd) as entries:
            for entry in entries:
                if entry.name != ".git":
                    yield
                    folders += [entry.name] if entry.is_dir(follow_symlinks=False) else []
        for name in folders:
            if (below := _open_folder(fd, name)) is not None:
                yield from _entries(below)
    finally:
        os.close(fd)


def listed(workspace: Workspace, base: WorkspacePath) -> Callable[[str], bool]:
    """Whether `walk` would come to a path below `base`, if it is a regular file."""
    known: dict[str, Layers | None] = {}

    def layers_in(prefix: str) -> Layers | None:
        """The ignore files that apply in a folder; None where the walk does not go there."""
        if prefix not in known:
            known[prefix] = found_in(prefix)
        return known[prefix]

    def found_in(prefix: str) -> Layers | None:
        folder = WorkspacePath(prefix.rstrip("/") or ".", workspace.root.joinpath(prefix))
        above = _layers_above(workspace, base) if folder.relative == base.relative else layers_of_parent(folder)
        if above is None:
            return None
        try:
            fd = workspace.open_folder(folder)
        except ToolError:
            return None
        try:
            return _with_ignore_file(fd, len(prefix), above)
        finally:
            os.close(fd)

    def layers_of_parent(folder: WorkspacePath) -> Layers | None:
        above = "/".join(folder.names[:-1])
        prefix = above + "/" if above else ""
        layers = layers_in(prefix)
        out = layers is None or _unlisted(folder.names[-1]) or _ignored(folder.relative, layers, folder=True)
        return None if out else layers

    def is_listed(relative: str) -> bool:
        prefix = relative[: relative.rfind("/") + 1]
        layers = layers_in(prefix) if prefix.count("/") <= _MAX_DEPTH else None
        if layers is None or _unlisted(relative[len(prefix) :]):
            return False
        return not _ignored(relative, layers, folder=False)

    return is_listed


def usable(relative: str) -> bool:
    """Whether `walk` may list a path that ripgrep lists, which knows nothing of names that cannot be shown."""
    return UNUSABLE.search(relative) is None and relative.count("/") <= _MAX_DEPTH


def asks_root(workspace: Workspace, base: WorkspacePath) -> bool:
    """Whether the workspace's own `.gitignore` has a say below the folder `base`."""
    return any(start == 0 for start, _ in _layers_above(workspace, base))


def ignored_in(workspace: Workspace, paths: Iterable[str]) -> frozenset[str]:
    """Those of the relative paths that the project's `.gitignore` files exclude, themselves or a folder they are in."""
    return frozenset(path for path in paths if _is_ignored(workspace, path))


def _is_ignored(workspace: Workspace, path: str) -> bool:
    layers: Layers = ()
    prefix = ""
    *folders, _ = names = path.split("/")
    for number, name in enumerate(names):
        with contextlib.suppress(ToolError):  # a folder that is not there, or is a file, ignores nothing
            fd = workspace.open_folder(WorkspacePath(prefix.rstrip("/") or ".", workspace.root.joinpath(prefix)))
            try:
                layers = _with_ignore_file(fd, len(prefix), layers)
            finally:
                os.close(fd)
        if _ignored(prefix + name, layers, folder=number < len(folders)):
            return True
        prefix += name + "/"
    return False


def _below(fd: int, prefix: str, layers: Layers, limits: Limits) -> Iterator[tuple[str, int]]:
    """Closes `fd`."""
    try:
        layers = _with_ignore_file(fd, len(prefix), layers)
        with os.scandir(fd) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False), _is_file(entry)) for entry in entries)
        for name, is_folder, is_file in found:
            limits.entries -= 1
            if limits.spent():
                return
            if not (is_folder or is_file) or _unlisted(name) or _ignored(prefix + name, layers, folder=is_folder):
                continue
            if is_file:
                yield prefix + name, fd
            elif prefix.count("/") < _MAX_DEPTH and (below := _open_folder(fd, name)) is not None:
                yield from _below(below, f"{prefix}{name}/", layers, limits)
    finally:
        os.close(fd)


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def _open_folder(here: int, name: str) -> int | None:
    """None for a folder that is gone, no longer one, or not ours to read: the walk goes on without it."""
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    except OSError:
        return None


def _unlisted(name: str) -> bool:
    hidden = name == ".git" or name.startswith(TEMPORARY_PREFIX)
    return hidden or UNUSABLE.search(name) is not None


def _ignored(relative: str, layers: Layers, *, folder: bool) -> bool:
    """The innermost file with an opinion decides."""
    path = relative + "/" if folder else relative
    for start, spec in reversed(layers):
        include = spec.check_file(path[start:]).include
        if include is not None:
            return include
    return False


def _layers_above(workspace: Workspace, base: WorkspacePath) -> Layers:
    layers: Layers = ()
    prefix = ""
    for name in base.names:
        folder = WorkspacePath(prefix.rstrip("/") or ".", workspace.root.joinpath(prefix))
        try:
            fd = workspace.open_folder(folder)
        except ToolError:
            return ()
        try:
            layers = _with_ignore_file(fd, len(prefix), layers)
        finally:
            os.close(fd)
        if _ignored(prefix + name, layers, folder=True):
            return ()
        prefix += name + "/"
    return layers


def _with_ignore_file(folder: int, start: int, layers: Layers) -> Layers:
    try:
        fd = os.open(".gitignore", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return layers
    try:
        data = os.read(fd, _MAX_IGNORE_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
    spec = _rules(data)
    return (*layers, (start, spec)) if len(spec) else layers


@lru_cache(maxsize=256)
def _rules(data: bytes) -> GitIgnoreSpec:
    """What an ignore file of these bytes says."""
    lines = data.decode(errors="replace").splitlines()[:_MAX_IGNORE_LINES]
    return GitIgnoreSpec.from_lines([line for line in lines if _tame(line)])


def _tame(line: str) -> bool:
    """False for a pattern whose wildcards could take long to match: it comes with the project, so it is not trusted.

    Each further `*` in a name, and each further `**` in a path, multiplies the work; leaving the line out shows more.
    """
    stars = [_STARS.findall(part) for part in line.split("/")]
    return len(line) <= 500 and max(map(len, stars)) <= 2 and sum(part == ["**"] for part in stars) <= 2
