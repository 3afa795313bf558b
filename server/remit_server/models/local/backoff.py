"""When a model that keeps dying may be started again (MOD-02)."""

from __future__ import annotations

from dataclasses import dataclass

FREE_RESTARTS = 2
"""Deaths in a row after which the model is still started at once: a kill, or a model that was being replaced."""
MOST_PAUSE_S = 60.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Deaths in a row before a first answer, and the time before which there is no new start, in seconds."""

    deaths: int = 0
    until: float = 0.0
    why: str = ""

    def died(self, now: float, why: str) -> Backoff:
        """Returns the state after a start that failed, or a process that died before it answered anything."""
        deaths = self.deaths + 1
        pause = 0.0 if deaths <= FREE_RESTARTS else min(2.0 ** (deaths - FREE_RESTARTS), MOST_PAUSE_S)
        return Backoff(deaths, now + pause, why)

    def pause(self, now: float) -> float:
        """Seconds left to wait; 0 where a start is free."""
        return max(0.0, self.until - now)
