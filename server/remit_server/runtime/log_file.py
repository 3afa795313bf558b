"""The log of a workspace: a rotating file that its processes share; each line names session, turn and step (OBS-01)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from remit_server.harness.turn import Turn
from remit_server.runtime.config.form import LogLevel, LogSection

NAME = "remit.log"
_LOGGER = "remit_server"
MAX_BYTES, KEPT = 10_000_000, 5
_LINE = "%(asctime)s %(levelname)s %(process)d %(where)s %(name)s: %(message)s"
_turn: ContextVar[tuple[Path, Turn] | None] = ContextVar("remit_turn", default=None)


def enter_turn(state: Path, turn: Turn) -> None:
    """Marks what this task, and the tasks that it starts, log from here on with this turn. `state` is the folder of its
    workspace's state."""
    _turn.set((state, turn))


class _Lines(logging.Formatter):
    """Formats records without secrets; the further lines of a record are indented."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__(_LINE)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Returns the record as it is written."""
        now = _turn.get()
        record.where = "-" if now is None else f"{now[1].memory.session_id}/{now[1].turn_id}/{now[1].step}"
        return self._redact(super().format(record)).replace("\n", "\n    ")


@dataclass(frozen=True, slots=True)
class LogFile:
    """The handler that logs into a file, or None if there is no log file."""

    handler: logging.Handler | None = None

    def set_level(self, level: LogLevel) -> None:
        """Makes the file hold records of this level, and more serious ones."""
        number, logger = logging.getLevelNamesMapping()[level.upper()], logging.getLogger(_LOGGER)
        if self.handler is not None:
            self.handler.setLevel(number)
            logger.setLevel(min(number, logger.getEffectiveLevel()))

    def close(self) -> None:
        """Stops logging into the file."""
        if self.handler is not None:
            logging.getLogger(_LOGGER).removeHandler(self.handler)
            self.handler.close()


def open_log_file(state: Path, asked: LogSection, redact: Callable[[str], str]) -> LogFile:
    """Logs what Remit does into `logs/remit.log` below a workspace's state.

    What is logged for other workspaces of this process is not in it. If the file cannot be written, Remit works
    without.
    """
    logger = logging.getLogger(_LOGGER)
    folder = state / "logs"
    try:
        # The import fails on a full disk, because the package looks for a temporary folder.
        from concurrent_log_handler import ConcurrentRotatingFileHandler

        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = ConcurrentRotatingFileHandler(
            folder / NAME, maxBytes=MAX_BYTES, backupCount=KEPT, encoding="utf-8", chmod=0o600, umask=0o077
        )
    except OSError as error:
        logger.warning("there is no log file: %s", error)
        return LogFile()
    handler.setFormatter(_Lines(redact))
    handler.addFilter(lambda record: (now := _turn.get()) is None or now[0] == state)
    logger.addHandler(handler)
    file = LogFile(handler)
    file.set_level(asked.level)
    return file
