"""Holds the collector that gets the turns; the configuration may change it (OBS-02, CFG-05)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from remit_server.contract import Event
from remit_server.errors import SetupError
from remit_server.machine.installed import how_to_install

if TYPE_CHECKING:  # an optional dependency, and slow to import
    from remit_server.telemetry.exporter import Exporter


class Telemetry:
    """The collector in use, if there is one."""

    def __init__(self, endpoint: str | None) -> None:
        """Raises SetupError if the library is not installed."""
        self._endpoint, self._exporter = endpoint, _open(endpoint)

    def change(self, endpoint: str | None) -> None:
        """Sends later turns to another collector, or to none. Raises SetupError, and then changes nothing."""
        if endpoint == self._endpoint:
            return
        before = self._exporter
        self._exporter, self._endpoint = _open(endpoint), endpoint
        if before is not None:
            threading.Thread(target=before.close, name="remit-telemetry", daemon=True).start()

    def begin_turn(self, session_id: str, turn_id: str) -> tuple[Callable[[Event], None], ...]:
        """Returns the functions that take the events of a turn: one if there is a collector, else none."""
        return () if self._exporter is None else (self._exporter.begin_turn(session_id, turn_id),)

    def close(self) -> None:
        """Sends the remaining data."""
        if self._exporter is not None:
            self._exporter.close()


def _open(endpoint: str | None) -> Exporter | None:
    if endpoint is None:
        return None
    try:
        from remit_server.telemetry.exporter import open_exporter
    except ImportError as error:
        why, fix = "not installed: opentelemetry", f"{how_to_install('otel')}, or unset `telemetry.endpoint`"
        raise SetupError("turns cannot be sent to a collector", why, fix) from error
    return open_exporter(endpoint)
