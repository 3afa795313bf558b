"""Opens files below a folder without races: `openat2`, else one component at a time (FILE-01).

Resolves a path by following its links one at a time, never past the root (FILE-01).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

BENEATH_FOLLOWING = 0x08 | 0x02  # RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
BENEATH_EXACT = 0x08 | 0x04 | 0x02  # the same, and RESOLVE_NO_SYMLINKS

# The same number on every architecture with the unified table; alpha and mips have tables of their own.
_SYS_OPENAT2 = 437
_UNIFIED = frozenset({"x86_64", "i686", "aarch64", "armv7l", "riscv64", "ppc64le", "s390x", "loongarch64"})
_ATTEMPTS = 64


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" and platform.machine() in _UNIFIED else None


def openat2(folder: int, path: str, flags: int, resolve: int) -> int:
    """Opens `path` below the folder descriptor as the kernel's RESOLVE_* flags demand.

    Raises OSError: EXDEV if it leads out, ELOOP at a refused link, ENOSYS if the kernel cannot do it.
    """
    if _libc is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)
    code = errno.EAGAIN
    how = _OpenHow(flags | os.O_CLOEXEC, 0, resolve)
    for _ in range(_ATTEMPTS):
        opened: int = _libc.syscall(_SYS_OPENAT2, folder, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
        if opened >= 0:
            return opened
        # EAGAIN: a folder above was renamed meanwhile, so the kernel could not verify the path; try again.
        if (code := ctypes.get_errno()) not in {errno.EAGAIN, errno.EINTR}:
            break
    # A container's seccomp profile may answer EPERM for an unknown system call.
    code = errno.ENOSYS if code == errno.EPERM else code
    raise OSError(code, os.strerror(code), path)


def open_exact(folder: int, names: Sequence[str], flags: int) -> int:
    """Opens `names` below `folder`, following no link. Raises OSError, ELOOP or ENOTDIR at a link."""
    try:
        return openat2(folder, "/".join(names) or ".", flags, BENEATH_EXACT)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
    return open_exact_by_steps(folder, names, flags)


def open_exact_by_steps(folder: int, names: Sequence[str], flags: int) -> int:
    """Opens one component at a time, following no link: `open_exact` for kernels without openat2."""
    here = os.dup(folder)
    try:
        for name in names[:-1]:
            here = step_into(here, name)
        last = names[-1] if names else "."
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)


def step_into(here: int, name: str) -> int:
    """Opens the folder `name` in `here`, and closes `here`. Raises OSError, also for a link."""
    below = open_step(here, name)
    os.close(here)
    return below


def open_step(here: int, name: str) -> int:
    """Opens the folder `name` in `here` for path lookups only. Raises OSError, also for a link."""
    # With `O_PATH`, which only Linux has, a lookup needs no right to read the folder.
    path_only = os.O_PATH if sys.platform == "linux" else os.O_RDONLY
    return os.open(name, path_only | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)


_MAX_LINKS = 40


@dataclass(frozen=True, slots=True)
class Located:
    """A resolved path: the real names that exist, the mode, and the remaining names that do not exist."""

    names: tuple[str, ...]
    mode: int
    missing: tuple[str, ...] = ()


def locate(folder: int, roots: Sequence[PurePosixPath], parts: Sequence[str]) -> Located:
    """Resolves `parts` below the folder descriptor; absolute links must lead below one of `roots`, the spellings of
    that folder.

    Raises OSError: EXDEV if the way leads out, ELOOP after too many links, ENOTDIR through a file, ENOENT if it
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
