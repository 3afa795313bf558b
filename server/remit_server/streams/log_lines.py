"""The log on standard error: each line with its prefix, written on a thread of its own (LSP-03)."""

from __future__ import annotations

import logging
import re
import threading
from contextlib import suppress
from queue import SimpleQueue

from remit_server.machine.descriptors import write_all

_MOST_WAITING = 10_000
_FLUSH_S = 1.0
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that move a terminal's cursor, change its state, or change the order in which text is read."""


class PrefixedLines(logging.Formatter):
    """Begins every line of a record with the prefix, also of a traceback; spells out what controls a terminal.

    Tracebacks, and what libraries log, may quote a client or a model folder.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__("%(message)s")
        self._prefix = prefix

    def format(self, record: logging.LogRecord) -> str:
        """Returns the record as one or more lines."""
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.capitalize()}: "
        lines = super().format(record).removesuffix("\n").split("\n")
        return "\n".join(f"{self._prefix} {level}{_UNSEEN.sub(_spell_match, line)}" for line in lines)


def _spell_match(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


class ThreadedHandler(logging.Handler):
    """Writes records to a descriptor; drops them if nobody reads them, so that the server goes on."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="remit-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record. Never blocks."""
        if self._queue.qsize() < _MOST_WAITING:
            self._queue.put(f"{self.format(record)}\n".encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        """Write the waiting records, for a second at most. Idempotent."""
        self._queue.put(None)
        self._thread.join(_FLUSH_S)
        super().close()

    def _work(self) -> None:
        while (data := self._queue.get()) is not None:
            with suppress(OSError):  # the server goes on without a log
                write_all(self._fd, data)
