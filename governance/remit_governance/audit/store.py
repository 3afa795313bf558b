"""Writing the audit log (effect): what matters is on disk before `append` returns (003 §Audit Log Module, Storage,
§Sync/Async Write Strategy).

Operational records may wait for half a second, in a spool that outlives the process. They are written before anything
that comes after them, so the log's order is that of what happened; a power cut loses at most those that wait, and the
chain holds.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from remit_governance.audit.buffer import MAX_AGE_S, MAX_WAITING, may_wait
from remit_governance.audit.chain import Chain, failing
from remit_governance.audit.database import Segment
from remit_governance.audit.presence import Presence
from remit_governance.audit.record import AuditEvent, AuditRecord, Entry
from remit_governance.audit.spool import Spool, leftovers
from remit_governance.audit.unended import outcome_not_known, unended
from remit_governance.errors import AuditError

LOOKED_BACK = 10_000
"""Records among which calls without an outcome, and what a dead process had recorded, are looked for."""

log = logging.getLogger(__name__)


def wall_clock_ms() -> int:
    """Milliseconds since the epoch. It may go back; the chain's order is the records' numbers."""
    return time.time_ns() // 1_000_000


class AuditLog:
    """One open audit log. Methods may be called from any thread, one at a time goes on.

    `grown` is called with the number of the last record after each write; it must return at once.
    """

    def __init__(self, path: Path, clock: Callable[[], int] = wall_clock_ms, max_age_s: float = MAX_AGE_S) -> None:
        """Open the log at `path`, creating it (0600) and its folder (0700) where missing. Raises AuditError."""
        self.path, self.clock = path, clock
        self.grown: Callable[[int], None] = lambda number: None
        self._max_age_s = max_age_s
        self._lock = threading.Lock()
        self._waiting: list[Entry] = []
        self._noted, self._unnoted = -math.inf, False
        self._timer: threading.Timer | None = None
        self._closed, self._stuck = False, False
        with failing(path, "opened"), ExitStack() as undo:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Created here and not by SQLite, which would use the process's umask.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._presence = Presence(path.with_name(f"{path.name}.lock"))
            undo.callback(self._presence.close)
            self._chain = Chain(path, clock())
            undo.callback(self._chain.close)
            self._spool = Spool(path)
            self._adopt()
            undo.pop_all()

    def append(self, event: AuditEvent) -> AuditRecord:
        """Chain the event to the log and make it durable, after all that waits. Raises AuditError, and then it was not
        recorded."""
        return self._record(Entry.of(self.clock(), event))

    def write(self, event: AuditEvent) -> None:
        """Record the event: durably at once, or within half a second where `may_wait` says so; from now on the end of
        this process does not lose it. Raises AuditError."""
        if may_wait(event):
            self._put(event)
        else:
            self.append(event)

    def flush(self) -> None:
        """Write all that waits, durably. Raises AuditError, and then it still waits."""
        with self._lock:
            record = self._commit()
        if record:
            self.grown(record.number)

    def settle(self) -> int:
        """Record that the outcome is not known of each call that was begun by a process which then died; how many.

        Nothing is recorded while another process uses the log: the call may be running there. Raises AuditError.
        """
        with self._presence.alone() as alone:
            calls = unended(self._latest()) if alone else ()
            for call in calls:
                self.append(outcome_not_known(call))
        return len(calls)

    def segment(self) -> Segment:
        """The active segment, with all in it that does not wait. Raises AuditError."""
        with self._lock:
            return self._chain.segment()

    def used_bytes(self) -> int:
        """What the active segment takes on the disk. Raises AuditError."""
        with self._lock:
            return self._chain.used_bytes()

    def reserve(self) -> None:
        """Make room in the file that records are first written to: each of them is cheaper then. Raises AuditError."""
        with self._lock:
            self._chain.reserve()

    def close_segment(self, ordinal: int) -> Path | None:
        """Close the active segment if it is still this one (see `Chain.close_segment`). Raises AuditError."""
        with self._lock:
            self._commit()
            return self._chain.close_segment(ordinal, self.clock())

    def close(self) -> None:
        """Write what waits and close the file. Idempotent. Raises AuditError where something could not be written."""
        with self._lock:
            try:
                self._commit()
            finally:
                self._closed = True
                self._waiting.clear()
                self._unnoted = False
                if self._timer is not None:
                    self._timer.cancel()
                self._spool.close()
                self._chain.close()
                self._presence.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _adopt(self) -> None:
        """Record what processes that died had left waiting."""
        for left in leftovers(self.path):
            # It may have died after they were recorded, before the spool was cleared.
            if entries := self._chain.without_recorded(left.entries, LOOKED_BACK):
                self._chain.append(entries)

    def _put(self, event: AuditEvent) -> None:
        entry = Entry.of(self.clock(), event)  # what cannot be said as JSON is found here, not among others later
        with self._lock:
            free = not (self._closed or self._stuck) and len(self._waiting) < MAX_WAITING - 1
            if free and self._spool.add(entry):
                self._waiting.append(entry)
                self._wake_later()
                return
        self._record(entry)

    def _record(self, entry: Entry) -> AuditRecord:
        with self._lock:
            record = self._commit(entry, ended=False)
        assert record is not None, "an entry becomes a record"
        self.grown(record.number)
        return record

    def _commit(self, *entries: Entry, ended: bool = True) -> AuditRecord | None:
        """Write all that waits, then the entries, in one transaction; the last record, if there was any.

        Unless it has `ended`, more may follow at once: then the log's end is noted every half second only.
        """
        now = time.monotonic()
        note_end = ended or now - self._noted >= self._max_age_s
        if not (self._waiting or entries or (self._unnoted and note_end)):
            return None
        # Should this fail, nothing more waits: while records cannot be written, no call is begun.
        self._stuck = True
        record = self._chain.append((*self._waiting, *entries), note_end=note_end)
        self._stuck = False
        self._waiting.clear()
        self._spool.clear()
        self._unnoted = not note_end
        if note_end:
            self._noted = now
        else:
            self._wake_later()
        return record

    def _wake_later(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(self._max_age_s, self._flush_late)
            self._timer.daemon = True
            self._timer.start()

    def _flush_late(self) -> None:
        with self._lock:
            self._timer = None
        try:
            self.flush()
        except AuditError:
            log.exception("audit records wait that cannot be written; the next call tries again, or is refused")

    def _latest(self) -> list[AuditEvent]:
        with self._lock:
            return self._chain.latest(LOOKED_BACK)
