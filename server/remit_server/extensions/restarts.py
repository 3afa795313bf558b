"""When a process that failed may be started again; pure (EXT-02)."""

from __future__ import annotations

from dataclasses import dataclass

AT_ONCE = 3
WITHIN_S = 300.0
FIRST_WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Failures:
    """The times of its failures, oldest first, in seconds of one monotonic clock."""

    times: tuple[float, ...] = ()

    def and_one(self, now: float) -> Failures:
        """With one more; those that are long ago do not count any more."""
        return Failures((*(time for time in self.times if now - time < WITHIN_S), now))

    def wait_s(self, now: float) -> float:
        """Seconds until it may be started: none below three failures in five minutes, then ever longer ones."""
        recent = [time for time in self.times if now - time < WITHIN_S]
        if len(recent) < AT_ONCE:
            return 0.0
        pause: float = min(FIRST_WAIT_S * 2.0 ** (len(recent) - AT_ONCE), WITHIN_S)
        return max(recent[-1] + pause - now, 0.0)
