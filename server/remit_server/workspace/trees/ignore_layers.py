"""Tells what the repository ignores: the ignore files that apply in a folder, and where ripgrep reads them otherwise
than git (FILE-05).
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from remit_server.errors import ToolError
from remit_server.workspace.git_absent import absent_lists
from remit_server.workspace.git_linked import find_folders
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
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

_ANY_NAME = "qxzjv"
"""A name that no file has, so that a pattern which ignores it ignores every name."""


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
                layers = with_ignore_file(fd, prefix, layers)
            finally:
                os.close(fd)
        if is_excluded(prefix + name, layers, folder=number < len(folders)):
            return True
        prefix += name + "/"
    return False


def is_excluded(relative: str, layers: Layers, *, folder: bool) -> bool:
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


def layers_below(workspace: Workspace, base: WorkspacePath) -> Layers:
    """Returns the ignore files above `base` that apply below it; none if they exclude `base`, which was asked for
    then."""
    return _layers_above(workspace, base) or Layers(fold=folds_case(workspace), absent=_absent(workspace))


def _is_ignored_whole(workspace: Workspace, layers: Layers) -> bool:
    """Returns whether a repository above ignores the workspace, a folder above it, or everything in it."""
    folders = find_folders(workspace.root) if layers.files else None
    if folders is None or not folders.prefix:
        return False
    any_name = all(is_excluded(_ANY_NAME, layers, folder=kind) for kind in (False, True))
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
            layers = with_ignore_file(fd, prefix, layers)
        finally:
            os.close(fd)
        if is_excluded(prefix + name, layers, folder=True):
            return None
        prefix += name + "/"
    holds_nothing = prefix and all(is_excluded(prefix + _ANY_NAME, layers, folder=kind) for kind in (False, True))
    return None if holds_nothing else layers


def with_ignore_file(folder: int, prefix: str, layers: Layers) -> Layers:
    """Returns the layers with the ignore file of an open folder, if it has one."""
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
