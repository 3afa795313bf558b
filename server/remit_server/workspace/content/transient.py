"""Transient errors of the system, after which a read is worth a second try (TOOL-11)."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

PAUSE_S = 0.1
MOST_PAUSES = 10
"""Second tries of one look at many files: on a disk that fails for good, each costs a pause."""

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


@dataclass(slots=True)
class Retries:
    """What one look at many files has tried once more, in words."""

    noted: list[str] = field(default_factory=list[str])

    def read(self, name: str, read: Callable[[], T]) -> T:
        """Returns what `read` gives, be it the second time, after a pause. Raises what it raises last."""
        try:
            return read()
        except Exception as error:
            if not is_transient(error) or len(self.noted) >= MOST_PAUSES:
                raise
            self.noted.append(f"{name}: {error}")
        time.sleep(PAUSE_S)
        return read()


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
