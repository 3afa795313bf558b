"""The time that an answer may take (HOK-01); an agent waits longer, but then goes on as if there were no hook."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from remit_server.errors import SetupError

LIMIT_S = 20
"""Seconds that an answer may take."""


class time_limit:  # noqa: N801  it reads as a statement
    """Raises SetupError in the main thread after so many seconds."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._usable = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self._usable:
            signal.signal(signal.SIGALRM, self._raise)
            signal.alarm(self._seconds)

    def __exit__(self, *exception: object) -> None:
        if self._usable:
            signal.alarm(0)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        why = f"it took more than {self._seconds} s"
        raise SetupError(
            "the call could not be judged", why, "see `remit doctor`; a policy or a workspace may be too large"
        )
