"""Transient errors of the system, after which a read is worth a second try (TOOL-03)."""

from __future__ import annotations

import errno
from collections.abc import Iterator

PAUSE_S = 0.1

TRANSIENT = frozenset(
    {
        errno.EAGAIN,
        errno.EBUSY,
        errno.EINTR,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)
"""Transient errors: a disk or network share that failed briefly, or too many open files."""


def is_transient(error: BaseException) -> bool:
    """Returns whether a transient error of the system caused this one."""
    return any(isinstance(cause, OSError) and cause.errno in TRANSIENT for cause in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
