"""Opens files below a folder without races: `openat2`, else one component at a time (FILE-01)."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Sequence

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

    Raises OSError: EXDEV where it leads out, ELOOP at a refused link, ENOSYS where the kernel cannot do it.
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
    # A lookup needs no right to read the folder, where the system has such descriptors.
    path_only = os.O_PATH if sys.platform == "linux" else os.O_RDONLY
    return os.open(name, path_only | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
