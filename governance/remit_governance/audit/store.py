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
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Self

from remit_governance.audit.aside import beyond_use, not_whole, renewing, set_aside, try_new
from remit_governance.audit.buffer import MAX_AGE_S, MAX_WAITING, may_wait, wants_checkpoint
from remit_governance.audit.chain import Chain, failing
from remit_governance.audit.database import Segment
from remit_governance.audit.presence import Presence
from remit_governance.audit.record import MAX_SUMMARY, AuditEvent, AuditKind, AuditRecord, Entry
from remit_governance.audit.sealing import Sealer
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

    `grown` is called with the number of the last record after each write, `security` after one that wants a checkpoint
    soon, and `told` with what a person should know; they must return at once.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], int] = wall_clock_ms,
        max_age_s: float = MAX_AGE_S,
        *,
        sealer: Sealer | None = None,
        known: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        """Open the log at `path`, creating it (0600) and its folder (0700) where missing. Raises AuditError.

        `sealer` signs its head. With `known`, a log that cannot be used is set aside and another one begun, now and
        whenever it turns out; it says what is known of that log from elsewhere.
        """
        self.path, self.clock = path, clock
        self.grown: Callable[[int], None] = lambda number: None
        self.security: Callable[[], None] = lambda: None
        self.notices: list[str] = []
        self.told: Callable[[str], None] = self.notices.append
        self._sealer, self._known = sealer, known
        self._max_age_s = max_age_s
        self._lock = threading.Lock()
        self._waiting: list[Entry] = []
        self._noted, self._unnoted = -math.inf, False
        self._timer: threading.Timer | None = None
        self._closed, self._stuck = False, False
        self._presence: Presence | None = None
        self.set_aside = ""
        """The id of this log where it was begun in the place of one that was set aside."""
        self._spool = Spool(path)
        with failing(path, "opened"):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._chain = self._begin()
        except BaseException:
            self._leave()
            raise

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
        with self._presence.alone() if self._presence else nullcontext(False) as alone:
            begun = unended(self._latest()) if alone else ()
            for event in begun:
                self.append(outcome_not_known(event))
        return len(begun)

    def seal(self, *, durable: bool = False) -> None:
        """Write all that waits, and sign where the log ends now. Raises AuditError where the records cannot be
        written, or the head cannot be signed."""
        if self._sealer is None:
            return
        with self._lock:
            self._commit()
            with self._held():
                self._appended((), note_end=True)
                self._sign(durable=durable)
        if self._sealer.failed is not None:
            raise self._sealer.failed

    def renew(self, why: str) -> None:
        """Set this log aside and begin another one, where that may be done. Raises AuditError."""
        with self._lock:
            cause = AuditError("the audit log cannot be used", why, "see `remit audit verify`")
            self._chain = self._renewed(self._chain, cause)

    @property
    def begun(self) -> Segment | None:
        """The empty beginning of this log, if it was begun here."""
        return self._chain.begun

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
                self._leave()
                if self._sealer is not None:
                    self._sealer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _leave(self) -> None:
        if self._presence is not None:
            self._presence.close()

    def _begin(self) -> Chain:
        try:
            return self._opened()
        except AuditError as error:
            return self._renewed(None, error)

    def _opened(self) -> Chain:
        """Open the database, and record what processes that died had left waiting. Raises AuditError."""
        with failing(self.path, "opened"), ExitStack() as undo:
            if self._known is not None and (why := not_whole(self.path)):
                raise sqlite3.DatabaseError(why)
            # Created here and not by SQLite, which would use the process's umask.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._presence = self._presence or Presence(self.path.with_name(f"{self.path.name}.lock"))
            chain = Chain(self.path, self.clock())
            undo.callback(chain.close)
            self._adopt(chain)
            undo.pop_all()
        return chain

    def _adopt(self, chain: Chain) -> None:
        """Record what processes that died had left waiting."""
        for left in leftovers(self.path):
            # It may have died after they were recorded, before the spool was cleared.
            if entries := chain.without_recorded(left.entries, LOOKED_BACK):
                chain.append(entries)
                self._note(chain)

    def _renewed(self, chain: Chain | None, error: AuditError) -> Chain:
        """The log that takes the place of one that cannot be used (`error` says why), which is set aside.

        Raises the error where that helps nothing, or may not be done.
        """
        moved = chain is not None and not chain.in_place()
        if self._known is None or not (moved or error.__cause__ is None or beyond_use(error)):
            raise error
        with renewing(self.path):
            if chain is not None:
                chain.close()
            if self._sealer is not None:
                self._sealer.forget()
            if (moved or chain is None) and (found := self._another()):
                if chain is not None and found.begun is not None:
                    why = f"the log of {chain.end[0]} records was removed from its place while it was in use"
                    self._say(found, AuditEvent(AuditKind.AUDIT_CHAIN_BREAK, output_summary=why), why)
                return found
            self._try_new(error)
            known = self._known()
            left = set_aside(self.path, self.clock(), error.why)
            new = self._opened()
            self._say(new, left.event(known), left.message)
            self.set_aside = new.log
            return new

    def _another(self) -> Chain | None:
        """The log that another process has begun in the meantime, if there is one."""
        try:
            return self._opened()
        except AuditError:
            return None

    def _try_new(self, error: AuditError) -> None:
        try:
            try_new(self.path, self.clock())
        except AuditError:
            raise error from error.__cause__

    def _say(self, chain: Chain, event: AuditEvent, message: str) -> None:
        """Record something about the log itself, and tell the person."""
        chain.append([Entry.of(self.clock(), event)])
        self._note(chain)
        self.told(message)

    def _note(self, chain: Chain) -> None:
        if self._sealer is not None:
            self._sealer.note(chain)

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
        if wants_checkpoint(entry.event):
            self.security()
        return record

    def _commit(self, *entries: Entry, ended: bool = True) -> AuditRecord | None:
        """Write all that waits, then the entries, in one transaction, and sign the log's end; the last record, if there
        was any.

        Unless it has `ended`, more may follow at once: then the log's end is noted every half second only.
        """
        now = time.monotonic()
        note_end = ended or now - self._noted >= self._max_age_s
        if not (self._waiting or entries or (self._unnoted and note_end)):
            return None
        # Should this fail, nothing more waits: while records cannot be written, no call is begun.
        self._stuck = True
        with self._held():
            record = self._appended((*self._waiting, *entries), note_end=note_end)
            self._sign()
        self._stuck = False
        self._waiting.clear()
        self._spool.clear()
        self._unnoted = not note_end
        if note_end:
            self._noted = now
        else:
            self._wake_later()
        return record

    def _appended(self, entries: Sequence[Entry], *, note_end: bool) -> AuditRecord | None:
        if self._known is not None and not self._chain.in_place():
            gone = AuditError("the audit log cannot be written", "it is not in its place any more", "put it back")
            self._chain = self._renewed(self._chain, gone)
        try:
            record = self._chain.append(entries, note_end=note_end)
        except AuditError as error:
            self._chain = self._renewed(self._chain, error)
            record = self._chain.append(entries, note_end=note_end)
        self._note(self._chain)
        return record

    def _held(self) -> AbstractContextManager[object]:
        return nullcontext() if self._sealer is None else self._sealer.held()

    def _sign(self, *, durable: bool = False) -> None:
        """Sign where the log ends now. What is found wrong meanwhile is a record of its own, and hinders nothing."""
        if self._sealer is None:
            return
        trouble = self._sealer.seal(self._chain, self._alone, durable=durable)
        if trouble is None:
            return
        summary = trouble.why[:MAX_SUMMARY]
        event = AuditEvent(AuditKind.AUDIT_CHAIN_BREAK, output_summary=summary, metadata=trouble.metadata)
        try:
            self._say(self._chain, event, f"the audit log is not whole: {trouble.why}")
        except AuditError:
            log.exception("the audit log is not whole, which could not be recorded: %s", trouble.why)
        self._sealer.seal(self._chain, self._alone, durable=durable)

    def _alone(self) -> bool:
        if self._presence is None:
            return False
        with self._presence.alone() as alone:
            return alone

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
            try:
                return self._chain.latest(LOOKED_BACK)
            except AuditError as error:
                self._chain = self._renewed(self._chain, error)
                return []
