"""The files below a folder, in a stable order, without ignored ones and without following links (agent.md §2)."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pathspec import GitIgnoreSpec

from remit_server.errors import ToolError
from remit_server.workspace.files import TEMPORARY_PREFIX
from remit_server.workspace.paths import UNUSABLE, Workspace, WorkspacePath

_MAX_DEPTH = 100
_MAX_IGNORE_BYTES = 256 * 1024
_MAX_IGNORE_LINES = 2000
_STARS = re.compile(r"\*\*+|\*")


@dataclass(slots=True)
class Limits:
    """What one walk may cost; shared with whoever works on its files. Time is in seconds from now."""

    seconds: float = 10.0
    entries: int = 300_000
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
    fd = workspace.open_folder(base)
    layers = _layers_above(workspace, base)
    prefix = "" if base.relative == "." else base.relative + "/"
    yield from _below(fd, prefix, layers, limits)


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


def _below(fd: int, prefix: str, layers: Layers, limits: Limits) -> Iterator[str]:
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
                yield prefix + name
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
    lines = data.decode(errors="replace").splitlines()[:_MAX_IGNORE_LINES]
    spec = GitIgnoreSpec.from_lines([line for line in lines if _tame(line)])
    return (*layers, (start, spec)) if len(spec) else layers


def _tame(line: str) -> bool:
    """False for a pattern whose wildcards could take long to match: it comes with the project, so it is not trusted.

    Each further `*` in a name, and each further `**` in a path, multiplies the work; leaving the line out shows more.
    """
    stars = [_STARS.findall(part) for part in line.split("/")]
    return len(line) <= 500 and max(map(len, stars)) <= 2 and sum(part == ["**"] for part in stars) <= 2
