"""Limits how many processes a pid namespace can hold, because RLIMIT_NPROC does not limit root (BOX-04).

Since Linux 6.14 each pid namespace has its own `kernel.pid_max`. Threads have pids too, so it limits both.
bwrap writes it while it builds the sandbox; later no process inside may.
"""

from __future__ import annotations

import re

SETTING = "/proc/sys/kernel/pid_max"
_SINCE = (6, 14)
RESERVED = 300
"""The kernel gives no pid below this once it has used all numbers up, and accepts no `pid_max` as small as this."""


def has_own_limit_per_namespace(release: str) -> bool:
    """Returns whether a kernel of this release has one `kernel.pid_max` for each namespace; an older one has a single
    one for the machine."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return found is not None and (int(found[1]), int(found[2])) >= _SINCE


def bound_setting(tasks: int) -> bytes:
    """Returns what to write to `kernel.pid_max`, so that a namespace holds at most `tasks` and what is reserved."""
    return b"%d" % (tasks + RESERVED)


def is_bounded_by(setting: bytes, tasks: int) -> bool:
    """Returns whether `setting`, as read from `kernel.pid_max` inside a namespace, is the bound for `tasks`."""
    return setting.strip() == bound_setting(tasks)
