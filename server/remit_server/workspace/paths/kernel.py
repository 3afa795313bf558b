"""Opening below a folder without races: `openat2`, else one component at a time (FILE-01)."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Sequence

BENEATH_FOLLOWING = 0x08 | 0x02  # RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
BENEATH_EXACT = 0x08 | 0x04 | 0x02  # the same, and RESOLVE_NO_SYMLINKS

# One number on every architecture that joined the unified table; alpha and mips keep tables of their own.
_SYS_OPENAT2 = 437
_UNIFIED = frozenset({"x86_64", "i686", "aarch64", "armv7l", "riscv64", "ppc64le", "s390x", "loongarch64"})
_ATTEMPTS = 64


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" and platform.machine() in _UNIFIED else None


def openat2(folder: int, path: str, flags: int, resolve: int) -> int:
    """Open `path` below the folder descriptor as the kernel's RESOLVE_* flags demand.

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
        # EAGAIN: something above was renamed meanwhile, so the kernel could not be sure; ask again.
        if (code := ctypes.get_errno()) not in {errno.EAGAIN, errno.EINTR}:
            break
    # A container's seccomp profile may answer EPERM for a call it does not know.
    code = errno.ENOSYS if code == errno.EPERM else code
    raise OSError(code, os.strerror(code), path)


def open_exact(folder: int, names: Sequence[str], flags: int) -> int:
    """Open `names` below `folder`, following no link at all. Raises OSError, ELOOP or ENOTDIR at a link."""
    try:
        return openat2(folder, "/".join(names) or ".", flags, BENEATH_EXACT)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
    return open_exact_by_steps(folder, names, flags)


def open_exact_by_steps(folder: int, names: Sequence[str], flags: int) -> int:
    """`open_exact` for kernels without openat2: every component opened on its own, none followed."""
    here = os.dup(folder)
    try:
        for name in names[:-1]:
            here = step_into(here, name)
        last = names[-1] if names else "."
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)


def step_into(here: int, name: str) -> int:
    """A descriptor of the folder `name` in `here`, which is closed. Raises OSError, also for a link."""
    below = open_step(here, name)
    os.close(here)
    return below


def open_step(here: int, name: str) -> int:
    """A descriptor, good for looking further only, of the folder `name` in `here`. Raises OSError, also for a link."""
    # Passing through a folder needs no right to read it, where the system lets us say so.
    path_only = os.O_PATH if sys.platform == "linux" else os.O_RDONLY
    return os.open(name, path_only | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
