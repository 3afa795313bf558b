"""Writes the audit log (effect): the record is on the disk before `append` returns (AUD-01).

Records that may wait are committed without waiting for the disk (SQLite's `synchronous = NORMAL`), which is enough to
outlive the process. The next durable record, or else a commit half a second later, brings them to the disk; a power cut
loses at most the records that wait, and the chain still holds.

A lock file beside the log shows which processes use it; each holds the lock as long as it has the log open.
"""

from __future__ import annotations

import fcntl
import logging
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Self

from remit_governance.audit.log.chain import Chain, failing
from remit_governance.audit.log.database import Segment
from remit_governance.audit.log.set_aside import beyond_use, not_whole, renewing, set_aside, try_new
from remit_governance.audit.log.unfinished_calls import outcome_not_known, unfinished_calls
from remit_governance.audit.proof.sealing import Sealer
from remit_governance.audit.record import (
    MAX_AGE_S,
    MAX_SUMMARY,
    AuditEvent,
    AuditKind,
    AuditRecord,
    Entry,
    may_wait,
    wants_checkpoint,
)
from remit_governance.errors import AuditError

LOOKED_BACK = 10_000
"""How many of the latest records are searched for calls without an outcome."""

log = logging.getLogger(__name__)


def wall_clock_ms() -> int:
    """Returns the milliseconds since the epoch. The clock may go back, so records are ordered by number alone."""
    return time.time_ns() // 1_000_000


class AuditLog:
    """One open audit log. Methods may be called from any thread; a lock lets them run one at a time.

    `on_append` is called with the number of each new record, `on_security_event` after a record that calls for a
    checkpoint soon, and `notify` with a message that a person should see; they must return at once.
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
        """Opens the log at `path`, creating it (0600) and its folder (0700) if missing. Raises AuditError.

        `sealer` signs the log's head. With `known`, a log that turns out to be unusable, now or later, is set aside and
        a new one begun; `known` returns what is known about the old log from elsewhere.
        """
        self.path, self.clock = path, clock
        self.on_append: Callable[[int], None] = lambda number: None
        self.on_security_event: Callable[[], None] = lambda: None
        self.notices: list[str] = []
        self.notify: Callable[[str], None] = self.notices.append
        self._sealer, self._known = sealer, known
        self._max_age_s = max_age_s
        self._lock = threading.Lock()
        self._noted, self._pending = -math.inf, False
        self._timer: threading.Timer | None = None
        self._presence: Presence | None = None
        self.set_aside = ""
        """The id of the log that was begun in place of one set aside; empty if none was."""
        with failing(path, "opened"):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._chain = self._begin()
        except BaseException:
            self._leave()
            raise

    def append(self, event: AuditEvent) -> AuditRecord:
        """Adds the event to the log and makes it, and all records before it, durable. Raises AuditError if the event
        was not recorded."""
        return self._record(event, durable=True)

    def write(self, event: AuditEvent) -> AuditRecord:
        """Records the event, durably at once, or within half a second if `may_wait` allows that. The record outlives
        this process in any case. Raises AuditError if the event was not recorded."""
        return self._record(event, durable=not may_wait(event))

    def flush(self) -> None:
        """Makes all records durable, and notes where the log ends. Raises AuditError."""
        with self._lock:
            self._flush()

    def settle(self) -> int:
        """Records for each call begun by a process that died that its outcome is not known; returns how many.

        While another process uses the log nothing is recorded, because the call may be running there. Raises
        AuditError.
        """
        with self._presence.alone() if self._presence else nullcontext(False) as alone:
            begun = unfinished_calls(self._latest()) if alone else ()
            for event in begun:
                self.append(outcome_not_known(event))
        return len(begun)

    def seal(self, *, durable: bool = False) -> None:
        """Makes all records durable, and signs where the log ends now. Raises AuditError if either fails."""
        if self._sealer is None:
            return
        with self._lock, self._held():
            self._appended((), durable=True, note_end=True)
            self._sign(durable=durable)
        if self._sealer.failed is not None:
            raise self._sealer.failed

    def renew(self, why: str) -> None:
        """Sets this log aside and begins a new one, if the log was opened with `known`. Raises AuditError."""
        with self._lock:
            cause = AuditError("the audit log cannot be used", why, "see `remit audit verify`")
            self._chain = self._renewed(self._chain, cause)

    @property
    def begun(self) -> Segment | None:
        """The empty first segment of this log, if this process began the log."""
        return self._chain.begun

    def segment(self) -> Segment:
        """Returns the active segment as it is now. Raises AuditError."""
        with self._lock:
            return self._chain.segment()

    def used_bytes(self) -> int:
        """Returns how many bytes the active segment takes on the disk. Raises AuditError."""
        with self._lock:
            return self._chain.used_bytes()

    def close_segment(self, ordinal: int) -> Path | None:
        """Closes the active segment if it is still number `ordinal` (see `Chain.close_segment`). Raises AuditError."""
        with self._lock:
            self._flush()
            return self._chain.close_segment(ordinal, self.clock())

    def close(self) -> None:
        """Makes all records durable and closes the file. Idempotent. Raises AuditError if that fails."""
        with self._lock:
            try:
                self._flush()
            finally:
                self._pending = False
                if self._timer is not None:
                    self._timer.cancel()
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
        with failing(self.path, "opened"):
            if self._known is not None and (why := not_whole(self.path)):
                raise sqlite3.DatabaseError(why)
            # Create the file here, because SQLite would use the process's umask for its mode.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._presence = self._presence or Presence(self.path.with_name(f"{self.path.name}.lock"))
            return Chain(self.path, self.clock())

    def _renewed(self, chain: Chain | None, error: AuditError) -> Chain:
        """Sets a log that cannot be used aside (`error` says why), and returns the log that takes its place.

        Raises `error` if the log may not be set aside, or if a new one would not help.
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
                    why = f"the log with {chain.end[0]} records was removed from its place while it was in use"
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
        """Returns the log at the path, as when another process has begun a new one; None if it cannot be opened."""
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
        """Records something about the log itself, and tells the person."""
        chain.append([Entry.of(self.clock(), event)])
        self._note(chain)
        self.notify(message)

    def _note(self, chain: Chain) -> None:
        if self._sealer is not None:
            self._sealer.note(chain)

    def _record(self, event: AuditEvent, *, durable: bool) -> AuditRecord:
        if event.kind is AuditKind.KERNEL_SHUTDOWN and self._sealer is not None:
            # Sign everything first: unsigned records before a server's orderly end would be taken for somebody else's.
            with suppress(AuditError):
                self._sealer.prepare()
                self.seal()
        with self._lock:
            record = self._commit((Entry.of(self.clock(), event),), durable=durable)
        assert record is not None, "an entry becomes a record"
        self.on_append(record.number)
        if wants_checkpoint(event):
            self.on_security_event()
        return record

    def _flush(self) -> None:
        if self._pending:
            self._commit((), durable=True, ended=True)

    def _commit(self, entries: Sequence[Entry], *, durable: bool, ended: bool = False) -> AuditRecord | None:
        """Writes the entries in one transaction and, if they are durable, signs the log's end; returns the last record.

        Unless the burst of records has `ended`, more may follow at once, and then the log's end is noted at most every
        half second.
        """
        now = time.monotonic()
        note_end = durable and (ended or now - self._noted >= self._max_age_s)
        # Sign only what is on the disk, because a signature that outlived its record would look like a removed end.
        with self._held() if durable else nullcontext():
            record = self._appended(entries, durable=durable, note_end=note_end)
            if durable:
                self._sign()
        self._pending = not note_end
        if note_end:
            self._noted = now
        else:
            self._wake_later()
        return record

    def _appended(self, entries: Sequence[Entry], *, durable: bool, note_end: bool) -> AuditRecord | None:
        if self._known is not None and not self._chain.in_place():
            gone = AuditError("the audit log cannot be written", "it is no longer in its place", "put it back")
            self._chain = self._renewed(self._chain, gone)
        try:
            record = self._chain.append(entries, durable=durable, note_end=note_end)
        except AuditError as error:
            self._chain = self._renewed(self._chain, error)
            record = self._chain.append(entries, durable=durable, note_end=note_end)
        self._note(self._chain)
        return record

    def _held(self) -> AbstractContextManager[object]:
        return nullcontext() if self._sealer is None else self._sealer.held()

    def _sign(self, *, durable: bool = False) -> None:
        """Signs where the log ends now. If the old head and the log do not match, records that, and goes on."""
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
            log.exception("audit records cannot be made durable; the next call tries again, or is refused")

    def _latest(self) -> list[AuditEvent]:
        with self._lock:
            try:
                return self._chain.latest(LOOKED_BACK)
            except AuditError as error:
                self._chain = self._renewed(self._chain, error)
                return []


class Presence:
    """One process's use of a log. On a file system without locks `alone` always yields False."""

    def __init__(self, path: Path) -> None:
        """Takes a shared lock on the file at `path`, which is created (0600) if missing. Raises OSError."""
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._alone = False
        self._share()

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Yields whether no other process uses the log; if so, none can begin to until the outermost caller leaves."""
        if self._alone:
            yield True
            return
        with suppress(OSError):
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._alone = True
        try:
            yield self._alone
        finally:
            self._alone = False
            self._share()

    def close(self) -> None:
        """Releases the lock. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _share(self) -> None:
        with suppress(OSError):
            fcntl.flock(self._fd, fcntl.LOCK_SH)
