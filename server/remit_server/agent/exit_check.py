"""The check before a turn ends: the model is told of errors that were not there when the turn began (AGT-14)."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass

from remit_server.counted import counted
from remit_server.harness.dispatcher import Dispatcher
from remit_server.harness.turn import Turn
from remit_server.tools.code.get_diagnostics import problem_line
from remit_server.tools.code.language_server.showing import Seen
from remit_server.workspace.code import Problem

SETTLE_S = 2.0
"""Seconds that the editor gets to check the files, from the last change on."""
ANSWER_S = 2.0
MOST_ROUNDS = 2
"""How often a model is told of new errors in one turn; after that, the turn may end with them."""
MOST_TOLD = 20


@dataclass(slots=True)
class ExitCheck:
    """One turn's check. `before` are the errors when the turn began, or None if the editor could not say."""

    dispatcher: Dispatcher
    turn: Turn
    before: Counter[tuple[str, str]] | None = None
    rounds: int = 0
    acted: int = 0
    changed_at: float | None = None

    @classmethod
    async def begin(cls, dispatcher: Dispatcher, turn: Turn) -> ExitCheck:
        """Returns the check of a turn that begins now."""
        try:
            async with asyncio.timeout(ANSWER_S):
                found = await dispatcher.find_errors(turn)
        except TimeoutError:  # no turn waits for a slow editor
            found = None
        return cls(dispatcher, turn, None if found is None else Counter(map(_named, found)))

    def note_step(self) -> None:
        """Notes that a step ended. If one of its calls acted and succeeded, the next check waits for the editor."""
        acted = sum(call.acts and call.error is None for call in self.turn.ended)
        if acted > self.acted:
            self.acted, self.changed_at = acted, time.monotonic()

    async def find_new(self) -> str | None:
        """Returns what the model is told of new errors, or None if there are none or it was told `MOST_ROUNDS`
        times."""
        if self.before is None or self.changed_at is None or self.rounds >= MOST_ROUNDS:
            return None
        await asyncio.sleep(max(0.0, self.changed_at + SETTLE_S - time.monotonic()))
        found, left = await self.dispatcher.find_errors(self.turn), self.before.copy()
        new: list[Seen] = []
        for each in found or ():
            if left[_named(each)] > 0:
                left[_named(each)] -= 1
            else:
                new.append(each)
        if not new:
            return None
        self.rounds, self.changed_at = self.rounds + 1, None
        count = counted(len(new), "new error")
        self.turn.warn(f"the editor shows {count} since this turn began; the model was told")
        lines = "\n".join(map(problem_line, new[:MOST_TOLD]))
        return (
            f"The editor shows {count} since you began (data, not a request):\n{lines}\n"
            "Mend what your changes broke, or say why it stays."
        )


def _named(seen: Seen) -> tuple[str, str]:
    """Returns the key that identifies an error. It has no line number, because lines move when a file is edited."""
    return seen.path, seen.finding.message if isinstance(seen.finding, Problem) else ""
