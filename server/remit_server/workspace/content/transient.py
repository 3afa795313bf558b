"""Errors of the system that may be over in a moment, so that a read is worth a second try (TOOL-03)."""

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
"""What may be over in a moment: a disk or network share that stumbled, or too many open files."""


def is_transient(error: BaseException) -> bool:
    """Whether an error of the system that passes is what is behind this one."""
    return any(isinstance(cause, OSError) and cause.errno in TRANSIENT for cause in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
