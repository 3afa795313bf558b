"""How many processes a pid namespace can hold, where RLIMIT_NPROC binds nobody: for root (003 §Sandbox Templates).

Since Linux 6.14 `kernel.pid_max` is each pid namespace's own. Threads have such numbers too, so it bounds them all.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import functools
import os
import re
import threading
from typing import Any, cast

_CLONE_NEWPID = 0x20000000
SETTING = "/proc/sys/kernel/pid_max"
_SINCE = (6, 14)
RESERVED = 300
"""Once the numbers have gone round, the kernel gives no smaller one; and it takes no bound as small as this."""


async def bound(pidfd: int, tasks: int) -> None:
    """Let the namespace of this process hold no more than `tasks` and what is reserved; where it cannot be, nothing.

    Takes as long as a small program. Raises OSError only where the server itself has no descriptor or thread left:
    whether it is bound can be seen inside, with `held_to`.
    """
    if not own_in_each_namespace(os.uname().release):
        return
    loop = asyncio.get_running_loop()
    written: asyncio.Future[None] = loop.create_future()
    # Its own, for the other may be closed meanwhile; and a descriptor, for a number may become another process's.
    own = os.dup(pidfd)

    def write() -> None:
        try:
            _write(own, tasks + RESERVED)
        finally:
            os.close(own)
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_finish, written)

    try:
        # A thread that ends with it: whatever it starts from then on is in that namespace.
        threading.Thread(target=write, name="remit-pids", daemon=True).start()
    except RuntimeError as error:
        os.close(own)
        raise OSError(errno.EAGAIN, str(error)) from error
    await written


def own_in_each_namespace(release: str) -> bool:
    """Whether the kernel of this release has one setting for each namespace; an older one has one for the machine."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return found is not None and (int(found[1]), int(found[2])) >= _SINCE


def held_to(setting: bytes, tasks: int) -> bool:
    """Whether `kernel.pid_max`, as read inside a namespace, is what `bound` sets."""
    return setting.strip() == b"%d" % (tasks + RESERVED)


def _finish(written: asyncio.Future[None]) -> None:
    if not written.done():
        written.set_result(None)


def _write(pidfd: int, most: int) -> None:
    """By a shell that ends with the namespace at the latest, for it is in it."""
    if _libc().setns(pidfd, _CLONE_NEWPID) != 0:
        return
    # Opened in the child: whose setting it is depends on who opens it.
    files = ((0, os.devnull, os.O_RDONLY), (1, SETTING, os.O_WRONLY), (2, os.devnull, os.O_WRONLY))
    actions = [(os.POSIX_SPAWN_OPEN, number, path, flags, 0) for number, path, flags in files]
    with contextlib.suppress(OSError):
        os.waitpid(os.posix_spawn("/bin/sh", ("sh", "-c", f"echo {most}"), {}, file_actions=actions), 0)


@functools.cache
def _libc() -> Any:
    return cast("Any", ctypes.CDLL(None, use_errno=True))
