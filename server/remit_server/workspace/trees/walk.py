"""Walks the files below a folder in a stable order, without ignored ones and without following links (FILE-05)."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from remit_server.errors import ToolError
from remit_server.workspace.content.files import TEMPORARY_PREFIX
from remit_server.workspace.content.open_files import Retries
from remit_server.workspace.git_absent import absent_lists
from remit_server.workspace.git_linked import find_folders
from remit_server.workspace.paths.workspace_path import UNUSABLE, Workspace, WorkspacePath
from remit_server.workspace.trees.exclude import exclude_lists, folds_case
from remit_server.workspace.trees.ignore import (
    MAX_IGNORE_BYTES,
    UNKNOWN,
    IgnoreRules,
    is_cut,
    parse_ignore_file,
    ripgrep_hides_more,
    ripgrep_reads_otherwise,
)

SMALL_TREE = 400
"""Measured by bench/search.py."""

_MAX_DEPTH = 100
_MOST_REMEMBERED = 200
_ANY_NAME = "qxzjv"
"""A name that no file has, so that a pattern which ignores it ignores every name."""

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
        most = max(0, self.small)
        return Limits(
            self.seconds,
            self.small + 1,
            in_folder=most,
            started=self.started,
            closed=self.closed,
            others=self.others,
            repositories=self.repositories,
            cut=self.cut,
            retries=self.retries,
        )

    @property
    def left_s(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.started + self.seconds - time.monotonic())

    def spent(self) -> bool:
        """Returns whether the work has to end now. Once true, it stays true."""
        if not self.stopped:
            self.stopped = self.entries <= 0 or time.monotonic() - self.started >= self.seconds
        return self.stopped


def _none(folder: str) -> bytes | None:
    """Returns b"", because the tree has no ignore files that are not checked out."""
    del folder
    return b""


@dataclass(frozen=True, slots=True)
class Layers:
    """The ignore files that apply in a folder, each with the length of its own folder's prefix, outermost first. If
    `fold` is set, their patterns ignore case. The first `outer` of them lie outside the tree. `absent` returns the
    ignore file of a folder, by the folder's prefix, if that file is not checked out: empty if there is none, None if it
    cannot be read."""

    files: tuple[tuple[int, IgnoreRules], ...] = ()
    fold: bool = False
    outer: int = 0
    absent: Callable[[str], bytes | None] = field(default=_none, compare=False)

    def cut_in(self, prefix: str) -> tuple[str, ...]:
        """Returns the ignore files, from the folder of this prefix up, of which only a part is read."""
        return tuple(
            f"{prefix[:start]}.gitignore" if number >= self.outer else "info/exclude or core.excludesFile"
            for number, (start, rules) in enumerate(self.files)
            if rules.cut
        )


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
    layers = _layers_below(workspace, base)
    prefix = "" if base.relative == "." else base.relative + "/"
    yield from _walk_below(fd, prefix, layers, limits)


def ignored_below(workspace: Workspace, base: WorkspacePath, limits: Limits) -> Iterator[str]:
    """Yields the ignored paths below `base`: files, and folders with a final `/`, which are not searched. Raises
    ToolError where `base` is no folder."""
    fd = workspace.open_folder(base)
    prefix = "" if base.relative == "." else base.relative + "/"
    yield from _ignored_in(fd, prefix, _layers_below(workspace, base), limits)


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
            return _with_ignore_file(fd, prefix, above)
        finally:
            os.close(fd)

    def layers_of_base() -> Layers:
        return _layers_below(workspace, base)

    def layers_of_parent(folder: WorkspacePath) -> Layers | None:
        above = "/".join(folder.names[:-1])
        prefix = above + "/" if above else ""
        layers = layers_in(prefix)
        out = layers is None or _is_unlisted(folder.names[-1]) or _is_excluded(folder.relative, layers, folder=True)
        return None if out else layers

    def is_listed(relative: str) -> bool:
        prefix = relative[: relative.rfind("/") + 1]
        layers = layers_in(prefix) if prefix.count("/") <= _MAX_DEPTH else None
        if layers is None or _is_unlisted(relative[len(prefix) :]):
            return False
        return not _is_excluded(relative, layers, folder=False)

    return is_listed


def is_not_too_deep(relative: str) -> bool:
    """Returns whether the path is within `walk_open`'s depth limit."""
    return relative.count("/") <= _MAX_DEPTH


def ignore_files_above(workspace: Workspace, base: WorkspacePath) -> tuple[str, ...]:
    """Returns the files above `base` with patterns for the whole workspace that apply below `base`, in ascending
    precedence. Returns none if `base` is ignored, or if a folder in between has patterns too, because those would take
    precedence."""
    layers = _layers_above(workspace, base)
    if layers is None or any(start for start, _ in layers.files):
        return ()
    own = base.names and _ignore_file(f"{workspace.root}/.gitignore", None, 1)
    lists = exclude_lists(workspace)
    if any(each.prefix for each in lists):
        return ()  # these patterns are relative to a folder above, but ripgrep would take them relative to this one
    return (*(str(each.path) for each in lists), *([".gitignore"] if own else []))


def is_asked_for(workspace: Workspace, base: WorkspacePath) -> bool:
    """Returns whether the folder `base` is ignored, so that its files are searched only if the caller names it."""
    if _is_ignored_whole(workspace, _layers_outside(workspace)):
        return True
    return _layers_above(workspace, base) is None


def ripgrep_differs(workspace: Workspace) -> Callable[[str], bool]:
    """Returns a predicate that tells whether ripgrep may read a folder's ignore file otherwise than git, or not see
    it."""
    absent = _absent(workspace)

    def differs(folder: str) -> bool:
        data = _ignore_file(f"{workspace.root}/{folder}/.gitignore", None, MAX_IGNORE_BYTES + 1)
        return absent(folder and folder + "/") != b"" if data is None else ripgrep_reads_otherwise(data)

    return differs


def ripgrep_passes_over(workspace: Workspace, base: WorkspacePath, files: Iterable[str]) -> bool:
    """Returns whether ripgrep may miss files below `base` that git does not ignore, because of the lists outside the
    tree, of the ignore files `files`, or of ignore files that are not checked out."""
    own = (_ignore_file(f"{workspace.root}/{path}", None, MAX_IGNORE_BYTES + 1) or b"" for path in files)
    if any(map(ripgrep_hides_more, (*(each.data for each in exclude_lists(workspace)), *own))):
        return True
    if folds_case(workspace):
        given = (str(workspace.root / path) for path in ignore_files_above(workspace, base))
        if any(b"!" in (_ignore_file(path, None, MAX_IGNORE_BYTES + 1) or b"") for path in given):
            return True
    return _is_shown_by_absent(workspace, base)


def _is_shown_by_absent(workspace: Workspace, base: WorkspacePath) -> bool:
    """Returns whether ignore files that are not checked out may exempt (`!`) what others below `base` ignore."""
    folders = find_folders(workspace.root)
    lists = absent_lists(folders) if folders else None
    if folders is None or not lists:
        return False
    here = folders.prefix + "".join(f"{name}/" for name in base.names)
    near = (name for name in lists.folders() if name.startswith(here) or here.startswith(name))
    there = [name for name in near if (folders.top / name).is_dir()]
    read = (lists.read(workspace, folders, name) for name in there)
    return lists.damaged or any(name in lists.trees for name in there) or any(b"!" in (each or b"!") for each in read)


def find_cut(workspace: Workspace, files: Iterable[str]) -> Iterator[str]:
    """Yields the ignore files among `files` of which only a part is read."""
    for path in files:
        if is_cut(_ignore_file(f"{workspace.root}/{path}", None, MAX_IGNORE_BYTES + 1) or b""):
            yield path


def ripgrep_keeps_case(workspace: Workspace, base: WorkspacePath) -> bool:
    """Returns whether ripgrep matches case where git does not: in the lists that it is given, despite its option."""
    return folds_case(workspace) and bool(ignore_files_above(workspace, base))


def find_ignored(workspace: Workspace, paths: Iterable[str]) -> frozenset[str]:
    """Returns the relative paths that the repository ignores, themselves or because of a parent folder."""
    outer = _layers_outside(workspace)
    whole = _is_below_ignored(workspace, outer)
    return frozenset(path for path in paths if whole or _is_ignored(workspace, path, outer))


def _is_ignored(workspace: Workspace, path: str, layers: Layers) -> bool:
    prefix = ""
    *folders, _ = names = path.split("/")
    for number, name in enumerate(names):
        with contextlib.suppress(ToolError):  # a missing folder, or a file, ignores nothing
            fd = workspace.open_folder(WorkspacePath(prefix.rstrip("/") or ".", workspace.root))
            try:
                layers = _with_ignore_file(fd, prefix, layers)
            finally:
                os.close(fd)
        if _is_excluded(prefix + name, layers, folder=number < len(folders)):
            return True
        prefix += name + "/"
    return False


def _walk_below(fd: int, prefix: str, layers: Layers, limits: Limits) -> Iterator[tuple[str, int]]:
    """Walks an open folder, and closes `fd`."""
    try:
        layers = _with_ignore_file(fd, prefix, layers)
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
        layers = _with_ignore_file(fd, prefix, layers)
        for name, is_folder, is_file in sorted(_entries(fd, prefix, limits)):
            limits.entries -= 1
            if limits.spent():
                return
            if not (is_folder or is_file) or _is_unlisted(name):
                continue
            if _is_excluded(prefix + name, layers, folder=is_folder):
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
        and not _is_excluded(prefix + name, layers, folder=is_folder)
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


def _is_excluded(relative: str, layers: Layers, *, folder: bool) -> bool:
    """Returns whether the innermost ignore file with a matching rule excludes the path."""
    path = relative + "/" if folder else relative
    for start, rules in reversed(layers.files):
        said = rules.ignores(path[start:])
        if said is not None:
            return said
    return False


def _outer_layers(workspace: Workspace) -> Layers:
    """Returns the rules from outside the tree; none if they ignore the workspace itself, which the person opened."""
    layers = _layers_outside(workspace)
    return replace(layers, files=(), outer=0) if _is_ignored_whole(workspace, layers) else layers


def _layers_outside(workspace: Workspace) -> Layers:
    fold = folds_case(workspace)
    found = (_rules(each.data, fold=fold, prefix=each.prefix) for each in exclude_lists(workspace))
    files = tuple((0, rules) for rules in found if rules)
    return Layers(files, fold, len(files), _absent(workspace))


def _layers_below(workspace: Workspace, base: WorkspacePath) -> Layers:
    """Returns the ignore files above `base` that apply below it; none if they exclude `base`, which was asked for
    then."""
    return _layers_above(workspace, base) or Layers(fold=folds_case(workspace), absent=_absent(workspace))


def _is_ignored_whole(workspace: Workspace, layers: Layers) -> bool:
    """Returns whether a repository above ignores the workspace, a folder above it, or everything in it."""
    folders = find_folders(workspace.root) if layers.files else None
    if folders is None or not folders.prefix:
        return False
    any_name = all(_is_excluded(_ANY_NAME, layers, folder=kind) for kind in (False, True))
    return any_name or _is_below_ignored(workspace, layers)


def _is_below_ignored(workspace: Workspace, layers: Layers) -> bool:
    """Returns whether a repository above ignores the workspace or a folder above it. If so, no ignore file in the
    workspace has an effect."""
    folders = find_folders(workspace.root) if layers.files else None
    if folders is None or not folders.prefix:
        return False
    above = (folders.prefix[: end + 1] for end, sign in enumerate(folders.prefix) if sign == "/")
    return any(_is_excluded_above(each, folders.prefix, layers) for each in above)


def _is_excluded_above(folder: str, prefix: str, layers: Layers) -> bool:
    """Returns whether the lists outside the tree exclude `folder`, a beginning of the workspace's path `prefix`."""
    for _, rules in reversed(layers.files):
        start = len(prefix) - len(rules.prefix)
        said = rules.ignores_whole(folder[start:]) if start < len(folder) else None
        if said is not None:
            return said
    return False


def _layers_above(workspace: Workspace, base: WorkspacePath) -> Layers | None:
    """Returns the ignore files that apply in `base`, without its own; None if they exclude `base` or everything in it,
    as `build/*` does."""
    layers = _outer_layers(workspace)
    prefix = ""
    for name in base.names:
        folder = WorkspacePath(prefix.rstrip("/") or ".", workspace.root)
        try:
            fd = workspace.open_folder(folder)
        except ToolError:
            return Layers()
        try:
            layers = _with_ignore_file(fd, prefix, layers)
        finally:
            os.close(fd)
        if _is_excluded(prefix + name, layers, folder=True):
            return None
        prefix += name + "/"
    holds_nothing = prefix and all(_is_excluded(prefix + _ANY_NAME, layers, folder=kind) for kind in (False, True))
    return None if holds_nothing else layers


def _with_ignore_file(folder: int, prefix: str, layers: Layers) -> Layers:
    data = _ignore_file(".gitignore", folder, MAX_IGNORE_BYTES + 1)
    data = layers.absent(prefix) if data is None else data
    rules = UNKNOWN if data is None else _rules(data, fold=layers.fold)
    return replace(layers, files=(*layers.files, (len(prefix), rules))) if rules else layers


def _absent(workspace: Workspace) -> Callable[[str], bytes | None]:
    """Returns a function from a folder's prefix to the contents of its ignore file, if that is not checked out."""
    folders = find_folders(workspace.root)
    lists = absent_lists(folders) if folders else None
    if folders is None or not lists:
        return _none
    return lambda prefix: lists.read(workspace, folders, folders.prefix + prefix)


def _ignore_file(path: str, folder: int | None, most: int) -> bytes | None:
    """Reads up to `most` bytes of an ignore file; b"" if it is no regular file, None if it is missing or a link."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        return os.read(fd, most) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)


_rules = lru_cache(maxsize=256)(parse_ignore_file)
