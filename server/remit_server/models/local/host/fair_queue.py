"""Schedules requests by priority, and fairly between sessions (MOD-05)."""

from __future__ import annotations

from collections import deque

from remit_server.models.local.wire import Priority

MOST_TOGETHER = 8
"""The most generations of one priority that run at once; each holds a cache."""
LOWER_PRIORITY_EVERY = 16
"""In every so many rounds background work gets a step too, so that it does not starve."""
_RANK: dict[Priority, int] = {"turn": 0, "background": 1, "cursor": 2}
_PATIENT = _RANK["cursor"]
"""Runs only where nothing else waits: the next key that is typed ends it anyway."""

QueueKey = tuple[str, Priority]
"""Identifies the queue of a session's requests of one priority; they run in order, since they share a prompt cache."""


class FairQueue:
    """Requests by id, in queues. Only the first of each queue runs; a queue that has had a step goes last."""

    def __init__(self) -> None:
        self._queues: dict[QueueKey, deque[str]] = {}
        self._key_of: dict[str, QueueKey] = {}
        self._rounds = 0

    def __len__(self) -> int:
        return len(self._key_of)

    def put(self, request_id: str, key: QueueKey) -> None:
        """Adds a request at the end of its queue."""
        self._queues.setdefault(key, deque()).append(request_id)
        self._key_of[request_id] = key

    def remove(self, request_id: str) -> None:
        """Removes a request that has ended; an unknown id has already been removed."""
        key = self._key_of.pop(request_id, None)
        if key is None:
            return
        waiting = self._queues[key]
        first = waiting[0] == request_id
        waiting.remove(request_id)
        if first:
            del self._queues[key]
            if waiting:
                self._queues[key] = waiting

    def round(self) -> tuple[str, ...]:
        """Returns the requests that run one step now: those of the highest waiting priority, at times lower ones."""
        self._rounds += 1
        waiting = {_RANK[priority] for _, priority in self._queues}
        ranks = sorted(waiting - {_PATIENT} or waiting)
        taking_part = ranks if self._rounds % LOWER_PRIORITY_EVERY == 0 else ranks[:1]
        return tuple(request_id for rank in taking_part for request_id in self._heads(rank))

    def _heads(self, rank: int) -> list[str]:
        heads = [waiting[0] for (_, priority), waiting in self._queues.items() if _RANK[priority] == rank]
        return heads[:MOST_TOGETHER]
