"""Resolves a path by following its links one at a time, never past the root (FILE-01)."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from remit_server.workspace.paths.kernel import open_step

_MAX_LINKS = 40


@dataclass(frozen=True, slots=True)
class Located:
    """A resolved path: the real names that exist, the mode, and the remaining names that do not exist."""

    names: tuple[str, ...]
    mode: int
    missing: tuple[str, ...] = ()


def locate(folder: int, roots: Sequence[PurePosixPath], parts: Sequence[str]) -> Located:
    """Resolves `parts` below the folder descriptor; absolute links must lead below one of `roots`, its spellings.

    Raises OSError: EXDEV where the way leads out, ELOOP after too many links, ENOTDIR through a file, ENOENT where it
    goes back up out of something that does not exist.
    """
    walk = _Walk([os.dup(folder)], [], list(reversed(parts)))
    try:
        return walk.run(roots)
    finally:
        for fd in walk.folders:
            os.close(fd)


def parts_below(roots: Sequence[PurePosixPath], path: str) -> tuple[str, ...] | None:
    """Returns the parts of an absolute path below one of the roots, or None. Lexical: `..` stays."""
    absolute = PurePosixPath("/" + path.lstrip("/"))
    for root in roots:
        if absolute.is_relative_to(root):
            return absolute.relative_to(root).parts
    return None


@dataclass(slots=True)
class _Walk:
    """Open folders from the root down, their names, and the remaining parts (last one first)."""

    folders: list[int]
    names: list[str]
    pending: list[str]
    mode: int = stat.S_IFDIR
    links: int = 0

    def run(self, roots: Sequence[PurePosixPath]) -> Located:
        while self.pending:
            name = self.pending.pop()
            if name in {"", "."}:
                continue
            if not stat.S_ISDIR(self.mode):
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if name == "..":
                self._leave()
                continue
            try:
                mode = os.stat(name, dir_fd=self.folders[-1], follow_symlinks=False).st_mode
            except FileNotFoundError:
                return Located(tuple(self.names), self.mode, self._missing(name))
            if stat.S_ISLNK(mode):
                self._follow(os.readlink(name, dir_fd=self.folders[-1]), roots)
            else:
                self._enter(name, mode)
        return Located(tuple(self.names), self.mode)

    def _enter(self, name: str, mode: int) -> None:
        if stat.S_ISDIR(mode):
            self.folders.append(open_step(self.folders[-1], name))
        self.names.append(name)
        self.mode = mode

    def _leave(self) -> None:
        if not self.names:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        os.close(self.folders.pop())
        self.names.pop()

    def _follow(self, target: str, roots: Sequence[PurePosixPath]) -> None:
        self.links += 1
        if self.links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        parts: tuple[str, ...] | None = PurePosixPath(target).parts
        if target.startswith("/"):
            parts = parts_below(roots, target)
            if parts is None:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
            while self.names:
                self._leave()
        self.pending.extend(reversed(parts or ()))

    def _missing(self, first: str) -> tuple[str, ...]:
        rest = (first, *(part for part in reversed(self.pending) if part not in {"", "."}))
        if ".." in rest:
            # Below a missing folder `..` has no meaning that would still hold once the folder exists.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return rest
