"""Notes what a command tried to reach: each attempt is audited before it goes on, and reported in a few words
(BOX-03)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from remit_governance.visible import visible
from remit_server.sandbox.network.proxy import Attempt

MAX_DENIED = 100
"""Different denied attempts of one command that are audited: what it asks for is up to it."""

MAX_REPORTED = 20


@dataclass(slots=True)
class Attempts:
    """The different attempts of one command, and how often each was made.

    Each one needs `admit`, the first of its kind is audited by `record`; either may raise ToolError.
    """

    admit: Callable[[Attempt], None]
    record: Callable[[Attempt], None]
    seen: dict[Attempt, int] = field(default_factory=dict[Attempt, int])

    def note(self, attempt: Attempt) -> None:
        """Lets it go on, and audits it the first time. Raises ToolError."""
        self.admit(attempt)
        if attempt not in self.seen:
            if not attempt.allowed and self._count_denied() >= MAX_DENIED:
                attempt = Attempt("others", allowed=False, why=f"more than {MAX_DENIED} were denied")
            if attempt not in self.seen:
                self.record(attempt)
        self.seen[attempt] = self.seen.get(attempt, 0) + 1

    def report(self) -> str:
        """Says for a model what was allowed and what was denied; empty where nothing was tried."""
        lines = [f"network: {_describe(attempt, times)}" for attempt, times in self.seen.items()]
        more = len(lines) - MAX_REPORTED
        return "\n".join([*lines[:MAX_REPORTED], *([f"network: and {more} more"] if more > 0 else [])])

    def _count_denied(self) -> int:
        return sum(not attempt.allowed for attempt in self.seen)


def _describe(attempt: Attempt, times: int) -> str:
    text = f"{'allowed' if attempt.allowed else 'denied'} {visible(attempt.target, 'show')}"
    text += f", {times} times" if times > 1 else ""
    return f"{text}: {attempt.why}" if attempt.why else text
