"""Who uses an audit log now: a lock file beside it, held for as long as the log is open and let go with the process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path


class Presence:
    """One user of a log. Where the file system has no locks nobody is ever known to be alone."""

    def __init__(self, path: Path) -> None:
        """Be there, with the lock file at `path`, which is created (0600) where missing. Raises OSError."""
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._alone = False
        self._share()

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Whether nobody else is there; if so, nobody comes until this is left, by whoever asked first."""
        if self._alone:
            yield True
            return
        with suppress(OSError):
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._alone = True
        try:
            yield self._alone
        finally:
            self._alone = False
            self._share()

    def close(self) -> None:
        """Leave. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _share(self) -> None:
        with suppress(OSError):
            fcntl.flock(self._fd, fcntl.LOCK_SH)
