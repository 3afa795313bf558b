"""Takes up turns that another process began and did not end (TRN-33), by its records and without a guess.

A turn that had only read begins again. A turn that had begun anything else ends here, with the error that its outcome
is unknown. A living process is told from one that is gone by a file that it keeps locked.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.record import READING, AuditKind
from remit_governance.errors import AuditError
from remit_server.contract import ErrorCode, RunRequest, TurnEnded
from remit_server.errors import RemitError
from remit_server.runtime.settings import Settings
from remit_server.runtime.turns.outcome import Outcome
from remit_server.sessions.folder import SessionFolder
from remit_server.sessions.session_file import SessionError, read_session


@dataclass(frozen=True, slots=True)
class TakenUp:
    """A turn that another process began, of which `after` events were told. `here` is whether that process kept its
    records where this one does."""

    after: int
    here: bool


def find_end(taken: TakenUp, request: RunRequest, settings: Settings) -> Outcome | None:
    """Returns how a taken-up turn ends without running again, or None if it had only read and begins again."""
    if not taken.here:
        return _interrupted("this worker cannot see what was done, because the turn began elsewhere")
    ended = _kept_end(request, settings)
    if ended is not None:
        return Outcome(
            ended.status, ended.final_output, ended.error, ended.reason, ended.suggestion, ended.changes or None
        )
    wanted = AuditFilter(session_id=request.session_id, turn_id=request.turn_id, kind=AuditKind.TOOL_INTENT, limit=None)
    try:
        calls = [record.event for record in query_audit(settings.audit_database, wanted)]
    except AuditError as error:
        return _interrupted(f"what it did is not known: {error.why}")
    ran = (each for each in calls if each.policy_decision != "denied" and each.denied_by is None)
    acted = [each for each in ran if each.syscall_type not in {None, *READING}]
    return _interrupted(f"it had begun `{acted[-1].tool_name}`") if acted else None


def _kept_end(request: RunRequest, settings: Settings) -> TurnEnded | None:
    try:
        file = SessionFolder(settings.session_folder).file_of(request.session_id)
        records = read_session(file, of=("turn_end",)).records
    except SessionError:
        return None
    ends = [each for each in records if isinstance(each, TurnEnded) and each.turn_id == request.turn_id]
    return ends[-1] if ends else None


def _interrupted(known: str) -> Outcome:
    error = RemitError(
        "the turn was cut short",
        f"the worker that ran it is gone, and {known}",
        "look at what was done, then ask in the same session to go on",
        code=ErrorCode.OUTCOME_UNKNOWN,
    )
    return Outcome("failed", error=error.payload())


@contextmanager
def hold_turn(folder: Path, name: str) -> Generator[bool]:
    """Holds a turn, and yields whether that succeeded; False if a living process holds it. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / hashlib.sha256(name.encode()).hexdigest()[:32]
    locked = _lock(path)
    if locked is None:
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(locked)


def _lock(path: Path) -> int | None:
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(fd), path.lstat()):
                return fd
        os.close(fd)  # the process that held the lock has just removed the file, so try again
