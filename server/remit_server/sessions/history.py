"""What the turns of one session changed, from the session's records and the kept contents (SES-05).

Also finds what all sessions of a workspace changed in its test files, to tell the person's own tests from those of
agents (FLW-04). Contents of files are kept as bytes by their digest (SES-05). The test files that a proof is about are
kept the same way, with a listing of their paths and digests (FLW-12).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from remit_governance.canonical import digest_bytes
from remit_governance.workflow.position import Position
from remit_governance.workflow.proof.runs import AgentChange, AgentWork, TestFiles
from remit_server.contract import ChangedFile, FileOutcome, FilesChanged, SessionRecord, TurnEnded, WorkflowMoved
from remit_server.harness.turn_changes import TurnChanges
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.replay import Replay, replay
from remit_server.sessions.session_file import SessionError, read_session
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import digest_of, is_executable
from remit_server.workspace.history import PastChange, PastTurn, taken_back_by

_KIND = "sha256:"
_SAID_WITHIN_S = 3_600


@dataclass(frozen=True, slots=True)
class Contents:
    """A folder with contents of files, which only its owner can read. Nothing in it is redacted, because a redacted
    file could not be restored."""

    folder: Path

    def keep(self, digest: str, data: bytes, *, durable: bool = True) -> None:
        """Keeps bytes under their digest, unless they are kept already. Without `durable`, a power cut may lose them.

        Raises OSError."""
        path = self._path(digest)
        with contextlib.suppress(FileNotFoundError):
            os.utime(path)  # the new time keeps `forget_all_but` from removing the file before a record refers to it
            return
        for folder in (self.folder, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f".{secrets.token_hex(8)}")
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def get(self, digest: str) -> bytes | None:
        """Returns the bytes of a digest, or None if they were not kept or have been altered."""
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            return None
        return data if digest_bytes(data) == digest else None

    def forget_all_but(self, digests: Iterable[str]) -> int:
        """Removes all contents but those of these digests; returns how many were removed. Never raises.

        Contents that were kept in the last hour stay, because a record may refer to them only later.
        """
        kept, oldest = {self._path(digest) for digest in digests}, time.time() - _SAID_WITHIN_S
        gone = 0
        for path in self.folder.glob("*/*") if self.folder.is_dir() else ():
            with contextlib.suppress(OSError):
                if path not in kept and path.stat().st_mtime < oldest:
                    path.unlink()
                    gone += 1
        return gone

    def _path(self, digest: str) -> Path:
        name = digest.removeprefix(_KIND)
        return self.folder / name[:2] / name


_LISTING: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


def keep_tests(store: Contents, tests: TestFiles) -> None:
    """Keeps all test files, and their listing last. Raises OSError."""
    for path, text in tests.texts.items():
        store.keep(tests.digests[path], text.encode(errors="surrogateescape"), durable=False)
    store.keep(tests.digest, tests.listing)


def read_tests(store: Contents, digest: str) -> TestFiles | None:
    """Returns the files of a listing, or None if the listing or a file was not kept or has been altered."""
    texts: dict[str, str] = {}
    for path, of_file in (_listed(store, digest) or {}).items():
        data = store.get(of_file)
        if data is None:
            return None
        texts[path] = data.decode(errors="surrogateescape")
    found = TestFiles(texts)
    return found if found.digest == digest else None


def digests_of(store: Contents, digest: str) -> Iterator[str]:
    """Yields the digest of a listing, and the digests that it lists."""
    yield digest
    yield from (_listed(store, digest) or {}).values()


def _listed(store: Contents, digest: str) -> dict[str, str] | None:
    data = store.get(digest)
    try:
        return None if data is None else _LISTING.validate_json(data)
    except ValidationError:
        return None


def past_turns(replayed: Replay) -> Sequence[PastTurn]:
    """Returns the turns that changed something, and those that took a turn back of which nothing was left to take back,
    the oldest first."""
    found: dict[str, PastTurn] = {}
    for record in replayed.changes:
        before = found.get(record.turn_id, PastTurn(record.turn_id, ()))
        made = tuple(changes_in([record], replayed))
        undoes = record.reverts if made or not record.files else ()
        found[record.turn_id] = PastTurn(record.turn_id, (*before.changes, *made), (*before.undoes, *undoes))
    return [turn for turn in found.values() if turn.changes or turn.undoes]


def tell_changes(records: Sequence[SessionRecord], store: Contents) -> Sequence[SessionRecord]:
    """Returns the records of a session. An end of a turn that an older version has kept without what the turn changed
    tells it, as far as the contents are kept."""
    turns = past_turns(replay(records))
    told = dict[str, tuple[FileOutcome, ...]]()
    for turn in turns:
        noted = TurnChanges()
        for change in turn.changes:
            noted.note_past(change, store.get)
        told[turn.turn_id] = noted.summary()
    return [
        record.model_copy(update={"changes": changes, "taken_back_by": taken_back_by(turns, record.turn_id)})
        if isinstance(record, TurnEnded) and not record.changes and (changes := told.get(record.turn_id))
        else record
        for record in records
    ]


@dataclass(slots=True)
class SessionHistory:
    """The changes of one session, which are kept before they are made, so that they can be undone."""

    recorder: Recorder
    store: Contents
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def keep(self, call_id: str, changes: Sequence[FileChange], undoes: Sequence[str] = ()) -> str:
        """Keeps the contents of files before and after a change; returns the change set's name. Raises OSError."""
        files = await asyncio.to_thread(lambda: [self._keep_one(change) for change in changes])
        change = f"{call_id}/{next(self._numbers)}"
        self.recorder.keep_changes(change, call_id, files, undoes)
        return change

    def keep_left(self, change: str, paths: Sequence[str]) -> None:
        """Keeps which files of a change set were not changed after all."""
        self.recorder.keep_unchanged(change, paths)

    async def keep_tests(self, tests: TestFiles) -> None:
        """Keeps the test files that a proof is about. A failure is ignored here; `tests` then returns None."""
        with contextlib.suppress(OSError):
            await asyncio.to_thread(keep_tests, self.store, tests)

    async def agent_work(self, now: TestFiles) -> AgentWork:
        """Returns what this session and all others of the workspace changed in these test files."""
        known, own = self.recorder.replayed, self.recorder.file.path
        return await asyncio.to_thread(read_agent_work, own, known, self.store, now)

    def keep_position(self, position: Position) -> None:
        """Keeps the position in the workflow that the session is about to take (FLW-12)."""
        self.recorder.keep_position(position)

    def positions(self) -> Sequence[WorkflowMoved]:
        """Returns the last positions that were kept, the oldest first."""
        return tuple(self.recorder.replayed.positions)

    def tests(self, digest: str) -> TestFiles | None:
        """Returns the test files with this digest, or None if not all of them were kept."""
        return read_tests(self.store, digest)

    def turns(self) -> Sequence[PastTurn]:
        """Returns the turns that changed something, the oldest first."""
        return past_turns(self.recorder.replayed)

    def mark(self) -> str:
        """Returns a mark for the last change so far; empty if there is none."""
        changes = self.recorder.replayed.changes
        return _name(changes[-1]) if changes else ""

    def changes_since(self, mark: str) -> Sequence[PastChange] | None:
        """Returns the changes after a mark, in order, or None if the mark is not known."""
        records = self.recorder.replayed.changes
        names = ["", *map(_name, records)]
        if mark not in names:
            return None
        return [*changes_in(records[names.index(mark) :], self.recorder.replayed)]

    def contents(self, digest: str) -> bytes | None:
        """Returns the contents with this digest, or None if they were not kept."""
        return self.store.get(digest)

    def _keep_one(self, change: FileChange) -> ChangedFile:
        before = change.before
        if before is not None and not before.left_out and change.moved_from is None:
            self.store.keep(before.digest, before.data)
        after = change.digest
        if after is not None and change.after is not None and change.moved_from is None:
            self.store.keep(digest_of(change.after), change.after)
        return ChangedFile(
            path=change.path.relative,
            before=before.digest if before else None,
            after=after,
            executable=_rights(change),
            moved_from=change.moved_from.relative if change.moved_from else None,
        )


def _name(record: FilesChanged) -> str:
    return f"{record.turn_id}/{record.id}"


def _rights(change: FileChange) -> tuple[bool, bool] | None:
    """Returns whether the file was executable before and is afterwards, or None if an undo need not restore its
    mode."""
    was = change.before is not None and is_executable(change.before.mode)
    if change.after is None:
        return (True, False) if was else None
    if change.executable is None or change.executable == was:
        return None
    return was, change.executable


_OF_CHANGES = ("changes", "not_changed")


def read_agent_work(own: Path, known: Replay, store: Contents, now: TestFiles) -> AgentWork:
    """Returns the changes to the test files `now`: those of the session whose file is `own` and whose replay is
    `known`, and those of all other sessions in its folder. If a session cannot be read, the result says so in `doubt`.
    """
    sessions = [known]
    for path in sorted(own.parent.glob("session-*.jsonl")):
        if path == own:
            continue
        try:
            lines = read_session(path, of=_OF_CHANGES)
        except SessionError as error:
            return AgentWork(doubt=f"{error.what}: {error.why}")
        if lines.bad:
            return AgentWork(doubt=f"`{path.name}`: {lines.problem}")
        sessions.append(replay(lines.records))
    return AgentWork(tuple(change for session in sessions for change in _made(session, store, now.texts)))


def changes_in(records: Iterable[FilesChanged], replayed: Replay) -> Iterator[PastChange]:
    """Yields the changes of these records that were really made."""
    for record in records:
        left = replayed.unchanged.get((record.turn_id, record.id), frozenset[str]())
        for file in record.files:
            if file.path not in left:
                yield PastChange(file.path, file.before, file.after, file.executable, file.moved_from)


def _made(session: Replay, store: Contents, now: Mapping[str, str]) -> Iterator[AgentChange]:
    """Yields the changes of test files by the session, without its undos, which only restore older texts. If a text was
    not kept, the text before counts as empty, and the text after as the present one.
    """
    for change in changes_in((each for each in session.changes if not each.reverts), session):
        if change.path in now:
            before = "" if change.moved_from else _text(change.before, store, "")
            yield AgentChange(change.path, before, _text(change.after, store, now[change.path]))


def _text(digest: str | None, store: Contents, missing: str) -> str:
    data = b"" if digest is None else store.get(digest)
    return missing if data is None else data.decode(errors="surrogateescape")
