"""Schedules requests by priority, and fairly between sessions (MOD-05, SCH-05). A round is the unit of time."""

from __future__ import annotations

from typing import Final

from remit_server.models.local.wire import Priority
from remit_server.scheduling.schedule import Limits, Schedule, Task, advance, end, enqueue, yielded

MOST_TOGETHER = 8
"""The most generations of one priority that run at once; each holds a cache."""
LOWER_PRIORITY_EVERY = 16
"""After so many rounds background work gets a step too, so that it does not starve."""
_PRIORITIES: Final[dict[Priority, int]] = {"turn": 2, "background": 3, "cursor": 5}

QueueKey = tuple[str, Priority]
"""Identifies the queue of a session's requests of one priority; they run in order, since they share a prompt cache."""


class FairQueue:
    """Requests by id, in queues. Only the first of each queue runs.

    Each step of a generation is queued by itself, at its request's place. A completion at the cursor waits as long as
    anything else does: the next key that is typed ends it anyway.
    """

    def __init__(self) -> None:
        self._schedule = Schedule(Limits(MOST_TOGETHER, LOWER_PRIORITY_EVERY, one_level=True))
        self._keys: dict[str, QueueKey] = {}
        self._rounds = 0

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, request_id: str, key: QueueKey) -> None:
        """Adds a request at the end of its queue."""
        before = frozenset(name for name, queue in self._keys.items() if queue == key)
        task = Task(request_id, _PRIORITIES[key[1]], after=before, patient=key[1] == "cursor")
        self._schedule = enqueue(self._schedule, task, self._rounds)
        self._keys[request_id] = key

    def remove(self, request_id: str) -> None:
        """Removes a request that has ended; an unknown id has already been removed."""
        self._keys.pop(request_id, None)
        # However it ended, the next one of its session may run.
        self._schedule, _ = end(self._schedule, request_id, "completed", self._rounds)

    def round(self) -> tuple[str, ...]:
        """Returns the requests that run one step now: those of the highest waiting priority, at times lower ones."""
        self._rounds += 1
        self._schedule, moves = advance(self._schedule, self._rounds)
        for move in moves:
            self._schedule = yielded(self._schedule, move.id, self._rounds)
        return tuple(move.id for move in moves)
