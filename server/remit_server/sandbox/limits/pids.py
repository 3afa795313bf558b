"""How many processes a pid namespace can hold: what RLIMIT_NPROC does not bound for root (BOX-04).

Since Linux 6.14 `kernel.pid_max` is each pid namespace's own. Threads have such numbers too, so it bounds them all.
bwrap writes it while it builds the sandbox, and nobody in there may later.
"""

from __future__ import annotations

import re

SETTING = "/proc/sys/kernel/pid_max"
_SINCE = (6, 14)
RESERVED = 300
"""Once the numbers have gone round, the kernel gives no smaller one; and it takes no bound as small as this."""


def has_own_limit_per_namespace(release: str) -> bool:
    """Returns whether the kernel of this release has one setting for each namespace; an older one has one for the
    machine."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return found is not None and (int(found[1]), int(found[2])) >= _SINCE


def bound_setting(tasks: int) -> bytes:
    """Returns what to write, so that a namespace holds no more than `tasks` and what is reserved."""
    return b"%d" % (tasks + RESERVED)


def is_bounded_by(setting: bytes, tasks: int) -> bool:
    """Returns whether `kernel.pid_max`, as read inside a namespace, is that."""
    return setting.strip() == bound_setting(tasks)
