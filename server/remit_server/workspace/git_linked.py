"""Where a repository's files are when `.git` only points to them: a linked worktree, or a submodule (GIT-01).

A pointer is a file of the project and may name any folder, so it is believed only where that folder points back: a
worktree's has the path of this `.git` in `gitdir`, a submodule's has this folder as `core.worktree`. Whoever can
write that there needs no pointer to reach it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from remit_server.workspace.content.open_files import bytes_at
from remit_server.workspace.git_config import MAX_CONFIG_BYTES, parse_config

_POINTER = re.compile(rb"gitdir: ([^\x00\n]+)\n*")
_OWN = ("HEAD", "index", "logs", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_COMMON = ("objects", "refs", "packed-refs", "info", "shallow")


@dataclass(frozen=True, slots=True)
class Folders:
    """`own` has this working tree's head and index, `common` objects and refs; the same folder but in a worktree."""

    own: Path
    common: Path

    def parts(self) -> Iterator[Path]:
        """What there is that git has to read, without settings and hooks; nothing that is a link, where it may lead
        anywhere."""
        split = sorted(name for name in _names(self.own) if name.startswith("sharedindex."))
        named = (*(self.own / name for name in (*_OWN, *split)), *(self.common / name for name in _COMMON))
        return (path for path in named if path.exists() and not path.is_symlink())

    def config(self) -> str:
        """The repository's settings as they are written; empty where there are none. Raises OSError."""
        return (read_git_file(self.common, "config", MAX_CONFIG_BYTES) or b"").decode(errors="replace")

    def head(self) -> str:
        """What HEAD holds. Raises OSError."""
        return (read_git_file(self.own, "HEAD", MAX_CONFIG_BYTES) or b"").decode(errors="replace")


def find_folders(root: Path) -> Folders | None:
    """The folders of the repository whose working tree is `root`; None where there is none that can be believed."""
    folder = root / ".git"
    if folder.is_symlink():
        return None
    if folder.is_dir():
        return Folders(folder, folder)
    try:
        pointer = read_git_file(root, ".git", MAX_CONFIG_BYTES)
    except OSError:
        return None
    return None if pointer is None else resolve_pointer(root, pointer)


def resolve_pointer(root: Path, pointer: bytes) -> Folders | None:
    """The folders that `root`'s `.git` file, which holds `pointer`, leads to; None where they do not point back."""
    named = _POINTER.fullmatch(pointer)
    if named is None:
        return None
    try:
        own = root.joinpath(os.fsdecode(named[1])).resolve(strict=True)
        return _worktree(root, own) or _submodule(root, own)
    except (OSError, RuntimeError):
        return None


def _worktree(root: Path, own: Path) -> Folders | None:
    back, shared = read_git_file(own, "gitdir"), read_git_file(own, "commondir")
    common = own.parent.parent
    if back is None or shared is None or own.parent.name != "worktrees" or _path(own, shared).resolve() != common:
        return None
    place = _path(own, back)
    return Folders(own, common) if place.name == ".git" and place.parent.resolve() == root else None


def _submodule(root: Path, own: Path) -> Folders | None:
    settings = dict(
        parse_config((read_git_file(own, "config", MAX_CONFIG_BYTES) or b"").decode(errors="surrogateescape"))
    )
    tree = settings.get("core.worktree")
    return Folders(own, own) if tree and own.joinpath(tree).resolve() == root else None


def _path(folder: Path, line: bytes) -> Path:
    return folder.joinpath(os.fsdecode(line.rstrip(b"\n")))


def read_git_file(folder: Path, name: str, most: int = 8192) -> bytes | None:
    """A small regular file; None where there is none. Raises OSError, also for a link and what is too large."""
    try:
        fd = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(fd)
        found = bytes_at(fd, most, status.st_size) if stat.S_ISREG(status.st_mode) else None
    finally:
        os.close(fd)
    if found is None:
        raise OSError(errno.EINVAL, f"`{name}` is no file of at most {most} bytes")
    return found


def _names(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(os.listdir(folder))  # noqa: PTH208  names only
    except OSError:
        return ()
