"""Where a repository's files are: in `.git`, or where a `.git` that is a file points to (GIT-01).

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

from remit_server.contract import ErrorCode
from remit_server.workspace.content.open_files import bytes_at
from remit_server.workspace.git_config import MAX_CONFIG_BYTES, parse_config

GIT = ".git"
_POINTER = re.compile(rb"gitdir: ([^\x00\n]+)\n*")
_OWN = ("HEAD", "index", "logs", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_COMMON = ("objects", "refs", "packed-refs", "info", "shallow")
_FOR_COMMANDS = (
    *("HEAD", "config", "config.worktree", "description", "hooks", "info", "lfs", "logs", "objects", "packed-refs"),
    *("refs", "shallow"),
)
_FOR_COMMANDS_OWN = (
    *("index", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "ORIG_HEAD", "FETCH_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
    *("BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer", "commondir", "gitdir", "HEAD", "logs"),
)
_ELSEWHERE = frozenset({"core.bare", "core.worktree"})
"""Settings that git does not read from the common folder for a linked worktree: they are of the first one."""


@dataclass(frozen=True, slots=True)
class Folders:
    """`own` has this working tree's head and index, `common` objects and refs; the same folder but in a worktree."""

    own: Path
    common: Path

    @property
    def linked(self) -> bool:
        """Whether this is a linked worktree."""
        return self.own != self.common

    def parts(self) -> Iterator[Path]:
        """What there is that git has to read, without settings and hooks; nothing that is a link, where it may lead
        anywhere."""
        named = (
            *(self.own / name for name in (*_OWN, *_split_index(self.own))),
            *(self.common / name for name in _COMMON),
        )
        return (path for path in named if path.exists() and not path.is_symlink())

    def shown(self) -> Iterator[Path]:
        """What there is that commands see of a repository elsewhere: only names that git gives, so that whatever else
        lies there stays unseen; nothing that is a link."""
        common = (self.common / name for name in _FOR_COMMANDS)
        own = (self.own / name for name in (*_FOR_COMMANDS_OWN, *_split_index(self.own)))
        named = dict.fromkeys((*common, *own))
        return (path for path in named if path.exists() and not path.is_symlink())

    def config(self) -> tuple[tuple[str, str], ...]:
        """The repository's settings, in order. Raises OSError."""
        found = _config_at(self.common, "config")
        if self.linked:
            found = tuple((name, value) for name, value in found if name not in _ELSEWHERE)
        own = dict(found).get("extensions.worktreeconfig", "").lower() == "true"
        return (*found, *(_config_at(self.own, "config.worktree") if own else ()))

    def head(self) -> str:
        """What HEAD holds. Raises OSError."""
        return (read_git_file(self.own, "HEAD", MAX_CONFIG_BYTES) or b"").decode(errors="replace")


@dataclass(frozen=True, slots=True)
class NoRepository:
    """Why a folder has no repository that can be believed, and what a person can do."""

    why: str
    fix: str
    code: ErrorCode = ErrorCode.TOOL_UNAVAILABLE


def find_folders(root: Path) -> Folders | None:
    """The folders of the repository whose working tree is `root`; None where there is none that can be believed."""
    found = find_repository(root)
    return found if isinstance(found, Folders) else None


def find_repository(root: Path) -> Folders | NoRepository:
    """The folders of the repository whose working tree is `root`, or why there are none."""
    folder = root / GIT
    if folder.is_symlink():
        return NoRepository("`.git` is a link", "open the folder of the repository itself as the workspace")
    if folder.is_dir():
        return Folders(folder, folder)
    try:
        pointer = read_git_file(root, GIT, MAX_CONFIG_BYTES)
    except OSError as error:
        return NoRepository(f"`.git` cannot be read: {error.strerror}", "look at what it is, and at its rights")
    if pointer is not None:
        return resolve_pointer(root, pointer) or _not_believed(root, pointer)
    bare = (root / "HEAD").is_file() and (root / "objects").is_dir() and (root / "refs").is_dir()
    return NoRepository(
        "the workspace is a bare repository, without files" if bare else "the workspace has no `.git` of its own",
        "open the top folder of a repository as the workspace, or have a person run `git init`",
        ErrorCode.NOT_FOUND,
    )


def resolve_pointer(root: Path, pointer: bytes) -> Folders | None:
    """The folders that `root`'s `.git` file, which holds `pointer`, leads to; None where they do not point back."""
    try:
        own = _named_by(root, pointer)
        return None if own is None else _worktree(root, own) or _submodule(root, own)
    except (OSError, RuntimeError):
        return None


def _named_by(root: Path, pointer: bytes) -> Path | None:
    """The folder that a pointer names; None where it is no pointer. Raises OSError where there is none."""
    named = _POINTER.fullmatch(pointer)
    return None if named is None else root.joinpath(os.fsdecode(named[1])).resolve(strict=True)


def _not_believed(root: Path, pointer: bytes) -> NoRepository:
    try:
        own = _named_by(root, pointer)
    except (OSError, RuntimeError):
        why = "`.git` points to a repository that is not there"
        return NoRepository(why, "have a person run `git worktree repair` in the repository")
    if own is None:
        return NoRepository("`.git` is a file and no pointer to a repository", "look at what it holds")
    where = "`.git` points to a repository elsewhere that does not point back here"
    if os.path.lexists(own / "commondir"):
        fix = "have a person run `git worktree repair`, or open the folder of the repository itself"
    else:
        fix = (
            "a person who has put the repository there (`--separate-git-dir`) can say so with"
            ' `git config core.worktree "$PWD"` in this folder; anybody else opens the repository itself'
        )
    return NoRepository(where, fix)


def _worktree(root: Path, own: Path) -> Folders | None:
    back, shared = read_git_file(own, "gitdir"), read_git_file(own, "commondir")
    common = own.parent.parent
    if back is None or shared is None or own.parent.name != "worktrees" or _path(own, shared).resolve() != common:
        return None
    if not _is_repository(common) or (own.is_relative_to(root) and not common.is_relative_to(root)):
        return None  # a folder of the project vouches for nothing above it
    place = _path(own, back)
    return Folders(own, common) if place.name == GIT and place.parent.resolve() == root else None


def _is_repository(folder: Path) -> bool:
    return all(os.path.lexists(folder / name) for name in ("HEAD", "objects", "refs"))


def _submodule(root: Path, own: Path) -> Folders | None:
    tree = dict(_config_at(own, "config", errors="surrogateescape")).get("core.worktree")
    return Folders(own, own) if tree and own.joinpath(tree).resolve() == root else None


def _config_at(folder: Path, name: str, errors: str = "replace") -> tuple[tuple[str, str], ...]:
    return parse_config((read_git_file(folder, name, MAX_CONFIG_BYTES) or b"").decode(errors=errors))


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


def _split_index(own: Path) -> list[str]:
    """The files that an index which is split in two refers to."""
    try:
        return sorted(name for name in os.listdir(own) if name.startswith("sharedindex."))  # noqa: PTH208  names only
    except OSError:
        return []
