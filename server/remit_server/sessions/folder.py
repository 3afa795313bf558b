"""The folder with the sessions of a workspace, one file for each, found by id, name, number or `last` (SES-04)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from remit_governance.secrets.cutting import shorten
from remit_server.contract import (
    AssistantSaid,
    ErrorCode,
    Named,
    SessionRecord,
    SessionStart,
    SessionSummary,
    TurnStarted,
    UserSaid,
    WorkflowMoved,
)
from remit_server.errors import os_reason
from remit_server.sessions.history import Contents, digests_of, past_turns, tell_changes
from remit_server.sessions.messages import fork
from remit_server.sessions.replay import replay
from remit_server.sessions.session_file import SessionError, SessionFile, read_session, to_lines
from remit_server.workspace.history import Direction, can_take_back

INDEX = "index.json"
LAST = "last"
MAX_TITLE, MAX_NAME = 80, 100
_DAY_S = 86_400
_Index = dict[str, tuple[int, int, SessionSummary]]
_INDEX: TypeAdapter[_Index] = TypeAdapter(_Index)


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """The folder with the sessions of one workspace. Only its owner can read it."""

    path: Path

    @property
    def contents(self) -> Contents:
        """The store of the contents of changed files."""
        return Contents(self.path / "contents")

    def file_of(self, session_id: str) -> Path:
        """Returns the path of a session's file, or the path for a new one if there is none yet."""
        key = hashlib.sha256(session_id.encode(errors="replace")).hexdigest()[:12]
        there = sorted(self.path.glob(f"session-*-{key}.jsonl"))
        if there:
            return there[0]
        return self.path / f"session-{datetime.now(UTC):%Y%m%d-%H%M%S}-{key}.jsonl"

    def list(self) -> Sequence[SessionSummary]:
        """Returns all sessions, the last used one first. Files that cannot be read are left out."""
        known, found = self._read_index(), _Index()
        for path in self.path.glob("session-*.jsonl") if self.path.is_dir() else ():
            with contextlib.suppress(OSError, SessionError):
                there = path.stat()
                size, changed, summary = known.get(path.name, (-1, -1, None))
                if summary is None or (size, changed) != (there.st_size, there.st_mtime_ns):
                    summary = summarise(read_session(path).records, path.name)
                if summary is not None:
                    found[path.name] = (there.st_size, there.st_mtime_ns, summary)
        if found != known:
            self._write_index(found)
        return sorted((each for _, _, each in found.values()), key=lambda each: each.last_used, reverse=True)

    def find(self, wanted: str) -> SessionSummary:
        """Returns the session with an id, a name, a file name or a number of the list, or the `last` one. Raises
        SessionError if there is none."""
        sessions = self.list()
        by_number = dict(enumerate(sessions, 1)).get(int(wanted)) if wanted.isdecimal() else None
        last = sessions[0] if sessions and wanted == LAST else None
        exact = [each for each in sessions if wanted in {each.session_id, each.name, each.file, each.file[:-6]}]
        if found := next(iter(exact), None) or by_number or last:
            return found
        why = "no session here has this id, name or number" if sessions else "this folder has no sessions yet"
        raise SessionError(f"there is no session `{wanted}`", why, "see `remit session list`", code=ErrorCode.NOT_FOUND)

    def last_to_take_back(self, direction: Direction, turn_id: str | None = None) -> SessionSummary:
        """Returns the last used session that has changes to undo, or an undo to redo, in any turn or in the turn
        `turn_id`. Raises SessionError, also if there is none."""
        able = (each for each in self.list() if can_take_back(past_turns(replay(self.read(each))), direction, turn_id))
        if (found := next(able, None)) is not None:
            return found
        self.find(LAST)
        what = "no turn" if turn_id is None else f"no turn `{turn_id}`"
        lacks = "has changes that can be taken back" if direction == "undo" else "was undone"
        raise SessionError(
            f"there is nothing to {direction}",
            f"{what} of any session here {lacks}",
            "`remit session show N` says what a session changed, for `N` of `remit session list`",
            code=ErrorCode.NOT_FOUND,
        )

    def last_conversation(self) -> SessionSummary:
        """Returns the last used session that has a message of the person or a name. Raises SessionError if there is
        none.

        A session that holds only calls, such as those of `remit run-tool`, is no conversation.
        """
        sessions = self.list()
        if found := next((each for each in sessions if each.title or each.name), None):
            return found
        why = "nothing was said in the sessions of this folder" if sessions else "this folder has no session yet"
        fix = "leave `--continue` out to begin one, or name a session of `remit session list` with `--resume`"
        raise SessionError("there is no session to go on with", why, fix, code=ErrorCode.NOT_FOUND)

    def read(self, session: SessionSummary) -> Sequence[SessionRecord]:
        """Returns all records of a session. Raises SessionError."""
        return read_session(self.path / session.file).records

    def replayed(self, session: SessionSummary) -> Sequence[SessionRecord]:
        """Returns all records of a session for a client that draws it again. Raises SessionError."""
        return tell_changes(self.read(session), self.contents)

    def append(self, session: SessionSummary, record: SessionRecord) -> None:
        """Adds a record to a session. Raises SessionError, also if another process works in the session."""
        file = SessionFile(self.path / session.file)
        file.acquire()
        try:
            file.append(to_lines([record]))
        except OSError as error:
            raise not_written(error) from error
        finally:
            file.release()
            file.close()

    def rename(self, session: SessionSummary, name: str, now: str) -> None:
        """Gives a session a name. Raises SessionError if the name cannot be used, or if another process works in the
        session."""
        self.append(session, name_record(name, now))

    def fork(
        self, session: SessionSummary, new_id: str, now: str, upto: int | None = None, name: str | None = None
    ) -> Path:
        """Copies a session up to a message (None: all) as a new one; returns its file. Raises SessionError."""
        named = [] if name is None else [name_record(name, now)]
        return self.write_new(new_id, [*fork(self.read(session), new_id, now, upto), *named])

    def delete(self, session: SessionSummary) -> None:
        """Deletes a session, and the kept contents that only it needs. Raises SessionError, also if another process
        works in the session."""
        self._remove(self.path / session.file)
        self.forget_contents()

    def prune(self, days: int, most: int, now: float | None = None) -> Sequence[str]:
        """Deletes sessions not used for `days` days (0: for ever), and the oldest beyond `most`; returns their files.

        Sessions in which another process works are not deleted. Never raises.
        """
        old: list[Path] = []
        with contextlib.suppress(OSError):
            files = [*self.path.glob("session-*.jsonl")] if self.path.is_dir() else []
            used = sorted(((path.stat().st_mtime, path) for path in files), reverse=True)
            oldest = (time.time() if now is None else now) - days * _DAY_S
            old = [path for n, (at, path) in enumerate(used) if n >= most or (days and at < oldest)]
        gone: list[str] = []
        for path in old:
            with contextlib.suppress(OSError, SessionError):
                self._remove(path)
                gone.append(path.name)
        if gone:
            self.forget_contents()
        return gone

    def forget_contents(self) -> None:
        """Removes the kept contents that no session refers to any more."""
        digests: set[str] = set()
        for path in self.path.glob("session-*.jsonl"):
            with contextlib.suppress(SessionError):
                replayed = replay(read_session(path).records)
                for record in replayed.changes:
                    digests.update(d for file in record.files for d in (file.before, file.after) if d)
                for listing in _listings(replayed.positions):
                    digests.update(digests_of(self.contents, listing))
        self.contents.forget_all_but(digests)

    def write_new(self, session_id: str, records: Sequence[SessionRecord]) -> Path:
        """Writes a new session with all its records. Raises SessionError if it cannot be written, or if it exists."""
        file = SessionFile(self.file_of(session_id))
        try:
            if not file.acquire().anew or file.end:
                what = f"there is a session `{session_id}` already"
                raise SessionError(
                    what, "two sessions cannot have the same id", "give another one", code=ErrorCode.BUSY
                )
            file.append(to_lines(records))
        except OSError as error:
            with contextlib.suppress(OSError):
                file.path.unlink()
            raise not_written(error) from error
        finally:
            file.close()
        return file.path

    def _remove(self, path: Path) -> None:
        file = SessionFile(path)
        file.acquire()
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise not_written(error) from error
        finally:
            file.close()

    def _read_index(self) -> _Index:
        try:
            return _INDEX.validate_json((self.path / INDEX).read_bytes())
        except (OSError, ValidationError):
            return {}

    def _write_index(self, index: _Index) -> None:
        """Writes the index, which saves reading all files the next time. Nothing depends on it, so failures are
        ignored."""
        temporary = self.path / f".{INDEX}-{os.getpid()}"
        with contextlib.suppress(OSError):
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(_INDEX.dump_json(index))
            temporary.replace(self.path / INDEX)


def _listings(positions: Iterable[WorkflowMoved]) -> Iterator[str]:
    """Yields the digests of the listings of tests that positions in the workflow refer to."""
    for each in positions:
        red = each.position.red
        yield from filter(None, (each.position.before, red and red.locked))


def summarise(records: Sequence[SessionRecord], file: str) -> SessionSummary | None:
    """Returns a session's entry in the list, or None if the file does not say which session it is."""
    start = next((each for each in records if isinstance(each, SessionStart)), None)
    if start is None:
        return None
    said = [each.content for each in records if isinstance(each, UserSaid) and each.origin == "person"]
    names = [each.name for each in records if isinstance(each, Named)]
    models = [each.model for each in records if isinstance(each, TurnStarted)]
    return SessionSummary(
        session_id=start.session_id,
        file=file,
        name=names[-1] if names else None,
        title=shorten(" ".join(said[0].split()), MAX_TITLE) if said else "",
        workspace=start.workspace,
        started=start.timestamp,
        last_used=max(each.timestamp for each in records),
        messages=sum(isinstance(each, UserSaid | AssistantSaid) for each in records),
        turns=len(models),
        model=models[-1] if models else start.config.model,
        forked_from=start.forked_from.session_id if start.forked_from else None,
    )


def name_record(name: str, now: str) -> Named:
    """Returns the record that names a session. Raises SessionError if the name is empty, too long, a number or
    `last`."""
    wanted = " ".join(name.split())
    if not wanted or len(wanted) > MAX_NAME or wanted.isdecimal() or wanted == LAST:
        why = f"`{shorten(wanted, MAX_NAME)}` already means another session" if wanted else "it is empty"
        why = f"it is longer than {MAX_NAME} letters" if len(wanted) > MAX_NAME else why
        fix = f"give a name of at most {MAX_NAME} letters that is not a number or `{LAST}`"
        raise SessionError("the session cannot have this name", why, fix, code=ErrorCode.INVALID_REQUEST)
    return Named(timestamp=now, name=wanted)


def not_written(error: OSError) -> SessionError:
    """Returns the error for a session that could not be written to disk."""
    why = os_reason(error)
    return SessionError("the session could not be written", why, "free some space, or check the folder's permissions")
