"""Calls to the kernel for the programs of this package: Landlock, a seccomp filter, death together with the parent.

Standard library only, because programs that have nothing else import it (landlock(7), seccomp(2), prctl(2)).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_SECCOMP = {"x86_64": 317, "aarch64": 277, "riscv64": 277, "armv7l": 383, "ppc64le": 358, "s390x": 348}
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
# These have the same number on every architecture, as all calls since Linux 5.0.
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446

# Rights over files; `_SINCE` has the version of the kernel's interface that added each later one.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_ALL_SINCE_1 = (1 << 13) - 1
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_SINCE = ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV))
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_SCOPE_ABSTRACT_AND_SIGNALS = 3
SCOPED_SINCE = 6
"""The version of Landlock, in Linux 6.12, that can confine signals and abstract sockets."""

_NET_SINCE = 4

Rights = Literal["read", "list", "use", "write"]
"""`read`: read and run files, list folders. `list`: only list folders. `use`: read and write existing files and
devices. `write`: everything."""


class LaunchFailed(Exception):
    """The sandbox cannot be built; the message says why."""


def landlock_version() -> int:
    """Returns the version of the kernel's Landlock, or a number below 1 if it has none or has it switched off."""
    return int(_libc().syscall(ctypes.c_long(_LANDLOCK_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint(1)))


def restrict_files(given: Mapping[Rights, Iterable[str]]) -> None:
    """Restricts this process and all that it starts, for good, to the given rights below the given places.

    Signals and abstract sockets then reach only these processes, if the kernel supports that. Raises OSError and
    LaunchFailed.
    """
    version = landlock_version()
    if version < 1:
        raise LaunchFailed("the kernel has no Landlock")
    every = _ALL_SINCE_1 | sum(right for since, right in _SINCE if version >= since)
    scoped = _SCOPE_ABSTRACT_AND_SIGNALS if version >= SCOPED_SINCE else 0
    size = 24 if version >= SCOPED_SINCE else 16 if version >= _NET_SINCE else 8
    rules = struct.pack("QQQ", every, 0, scoped)[:size]
    ruleset = call("syscall", ctypes.c_long(_LANDLOCK_CREATE), rules, ctypes.c_size_t(size), ctypes.c_uint(0))
    rights: dict[Rights, int] = {
        "read": _EXECUTE | _READ_FILE | _READ_DIR,
        "list": _READ_DIR,
        "use": every & _OF_FILES & ~_EXECUTE,
        "write": every,
    }
    try:
        for name, places in given.items():
            for place in places:
                # A place that is gone, or closed to this user, is skipped: the process then just has fewer rights.
                with contextlib.suppress(FileNotFoundError, PermissionError):
                    _allow(ruleset, place, rights[name])
        call("syscall", ctypes.c_long(_LANDLOCK_RESTRICT), ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, place: str, rights: int) -> None:
    fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
    try:
        folder = stat.S_ISDIR(os.fstat(fd).st_mode)
        rule = struct.pack("=Qi", rights if folder else rights & _OF_FILES, fd)
        number = ctypes.c_long(_LANDLOCK_ADD)
        call("syscall", number, ctypes.c_int(ruleset), ctypes.c_uint(1), rule, ctypes.c_uint(0))
    finally:
        os.close(fd)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("rules", ctypes.c_void_p))


def filter_calls(rules: bytes, *, listens: bool = False) -> int:
    """Puts this process and all that it starts behind a seccomp filter, given as a BPF program. With `listens`, returns
    the descriptor that receives the filter's notifications. Raises OSError and LaunchFailed."""
    number = _SECCOMP.get(os.uname().machine)
    if number is None:
        raise LaunchFailed(f"processors of type `{os.uname().machine}` are not supported")
    held = ctypes.create_string_buffer(rules, len(rules))
    program = _Program(len(rules) // 8, ctypes.addressof(held))
    flags = ctypes.c_uint(_NEW_LISTENER if listens else 0)
    return call("syscall", ctypes.c_long(number), ctypes.c_uint(_SET_MODE_FILTER), flags, ctypes.byref(program))


def drop_privileges() -> None:
    """Gives up every capability for good, so that no program can give one back. Raises OSError."""
    for capability in range(64):
        if _libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    call("prctl", _PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    head = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    call("capset", ctypes.create_string_buffer(head), ctypes.create_string_buffer(bytes(24)))
    call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)


def die_with(parent: int, number: int) -> None:
    """Makes the kernel send this process a signal when its parent dies. Raises LaunchFailed if the parent has died."""
    call("prctl", _PR_SET_PDEATHSIG, number, 0, 0, 0)
    if parent and os.getppid() != parent:
        raise LaunchFailed("the process that started it is dead")


def write(path: str, text: str) -> None:
    """Writes a text to a file of the kernel, such as one below /proc. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def call(name: str, *arguments: Any) -> int:
    """Calls a function of the C library and returns its result. Raises OSError if the result is negative."""
    result = int(getattr(_libc(), name)(*arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


_opened: list[Any] = []


def _libc() -> Any:
    if not _opened:
        _opened.append(cast("Any", ctypes.CDLL(None, use_errno=True)))
    return _opened[0]
