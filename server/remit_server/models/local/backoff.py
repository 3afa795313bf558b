"""Decides when a model process that keeps dying may be started again (MOD-02)."""

from __future__ import annotations

from dataclasses import dataclass

FREE_RESTARTS = 2
"""The number of consecutive deaths after which the model is still restarted at once: a kill, or a replaced model."""
MOST_PAUSE_S = 60.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """The number of consecutive deaths before a first answer, and the earliest time of the next start, in seconds."""

    deaths: int = 0
    until: float = 0.0
    why: str = ""

    def after_death(self, now: float, why: str) -> Backoff:
        """Returns the state after a failed start, or after a process died without an answer."""
        deaths = self.deaths + 1
        pause = 0.0 if deaths <= FREE_RESTARTS else min(2.0 ** (deaths - FREE_RESTARTS), MOST_PAUSE_S)
        return Backoff(deaths, now + pause, why)

    def pause(self, now: float) -> float:
        """Returns the seconds left to wait; 0 where a start is allowed."""
        return max(0.0, self.until - now)
