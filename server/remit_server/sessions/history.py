"""What the turns of one session changed, as their records and the kept contents have it (SES-05).

What all sessions of a workspace changed in its files of tests, by which a test of the person's is told (FLW-04).
What files held is kept as bytes by their digest (SES-05), of the files of tests that a proof is of each text once, with
their listing (FLW-12).
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
from remit_server.contract import ChangedFile, FilesChanged, WorkflowMoved
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.replay import Replay, replay
from remit_server.sessions.session_file import SessionError, read_session
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import digest_of, is_executable
from remit_server.workspace.history import PastChange, PastTurn

_KIND = "sha256:"
_SAID_WITHIN_S = 3_600


@dataclass(frozen=True, slots=True)
class Contents:
    """A folder that only its owner can read. Nothing in it is redacted: it could not restore a file then."""

    folder: Path

    def keep(self, digest: str, data: bytes, *, durable: bool = True) -> None:
        """Keeps bytes under their digest, once; unless `durable`, a power cut may lose them. Raises OSError."""
        path = self._path(digest)
        with contextlib.suppress(FileNotFoundError):
            os.utime(path)  # it is spoken of anew: nobody removes it meanwhile
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
        """Returns the bytes of a digest; None where they were not kept, or are others by now."""
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            return None
        return data if digest_bytes(data) == digest else None

    def forget_all_but(self, digests: Iterable[str]) -> int:
        """Removes what no session speaks of; returns how many there were. Never raises.

        What was kept in the last hour stays: whoever keeps it has yet to say so.
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
    """Keeps all of them, the listing last. Raises OSError."""
    for path, text in tests.texts.items():
        store.keep(tests.digests[path], text.encode(errors="surrogateescape"), durable=False)
    store.keep(tests.digest, tests.listing)


def read_tests(store: Contents, digest: str) -> TestFiles | None:
    """Returns the files of a listing; None where it or one of them was not kept, or is another by now."""
    texts: dict[str, str] = {}
    for path, of_file in (_listed(store, digest) or {}).items():
        data = store.get(of_file)
        if data is None:
            return None
        texts[path] = data.decode(errors="surrogateescape")
    found = TestFiles(texts)
    return found if found.digest == digest else None


def digests_of(store: Contents, digest: str) -> Iterator[str]:
    """Yields the digest of a listing, and those that it lists."""
    yield digest
    yield from (_listed(store, digest) or {}).values()


def _listed(store: Contents, digest: str) -> dict[str, str] | None:
    data = store.get(digest)
    try:
        return None if data is None else _LISTING.validate_json(data)
    except ValidationError:
        return None


def past_turns(replayed: Replay) -> Sequence[PastTurn]:
    """Returns the turns that changed something, the oldest first."""
    found: dict[str, PastTurn] = {}
    for record in replayed.changes:
        before = found.get(record.turn_id, PastTurn(record.turn_id, ()))
        changes = (*before.changes, *changes_in([record], replayed))
        found[record.turn_id] = PastTurn(record.turn_id, changes, (*before.undoes, *record.reverts))
    return [turn for turn in found.values() if turn.changes]


@dataclass(slots=True)
class SessionHistory:
    """The changes of one session: kept before they are made, and looked up to take them back."""

    recorder: Recorder
    store: Contents
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def keep(self, call_id: str, changes: Sequence[FileChange], undoes: Sequence[str] = ()) -> str:
        """Keeps what files hold and will hold; returns the name of this change set. Raises OSError."""
        files = await asyncio.to_thread(lambda: [self._keep_one(change) for change in changes])
        change = f"{call_id}/{next(self._numbers)}"
        self.recorder.keep_changes(change, call_id, files, undoes)
        return change

    def keep_left(self, change: str, paths: Sequence[str]) -> None:
        """Keeps which files of a change set were left as they were."""
        self.recorder.keep_unchanged(change, paths)

    async def keep_tests(self, tests: TestFiles) -> None:
        """Keeps the files of tests that a proof is of; what the disk does not take is missed when it is looked for."""
        with contextlib.suppress(OSError):
            await asyncio.to_thread(keep_tests, self.store, tests)

    async def agent_work(self, now: TestFiles) -> AgentWork:
        """Returns what this session and all others of the workspace changed in these files of tests."""
        known, own = self.recorder.replayed, self.recorder.file.path
        return await asyncio.to_thread(read_agent_work, own, known, self.store, now)

    def keep_position(self, position: Position) -> None:
        """Keeps where the session is about to stand in the workflow (FLW-12)."""
        self.recorder.keep_position(position)

    def positions(self) -> Sequence[WorkflowMoved]:
        """Returns the last places that were kept, the oldest first."""
        return tuple(self.recorder.replayed.positions)

    def tests(self, digest: str) -> TestFiles | None:
        """Returns the files of tests of a digest; None where not all of them were kept."""
        return read_tests(self.store, digest)

    def turns(self) -> Sequence[PastTurn]:
        """Returns the turns that changed something, the oldest first."""
        return past_turns(self.recorder.replayed)

    def mark(self) -> str:
        """Returns a name for the last change by now."""
        changes = self.recorder.replayed.changes
        return _name(changes[-1]) if changes else ""

    def changes_since(self, mark: str) -> Sequence[PastChange] | None:
        """Returns the changes after a mark, in order; None where it is not known."""
        records = self.recorder.replayed.changes
        names = ["", *map(_name, records)]
        if mark not in names:
            return None
        return [*changes_in(records[names.index(mark) :], self.recorder.replayed)]

    def contents(self, digest: str) -> bytes | None:
        """Returns what a file held; None where that was not kept."""
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
    """Returns whether the file could be executed before, and can be afterwards; None where nothing is to be
    restored."""
    was = change.before is not None and is_executable(change.before.mode)
    if change.after is None:
        return (True, False) if was else None
    if change.executable is None or change.executable == was:
        return None
    return was, change.executable


_OF_CHANGES = ("changes", "not_changed")


def read_agent_work(own: Path, known: Replay, store: Contents, now: TestFiles) -> AgentWork:
    """Returns the changes to files that are tests now: those of the session whose file is `own`, as it is `known`, and
    those of all others in its folder. A session that cannot be read leaves it in doubt.
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
    """Yields the changes of these records that were made."""
    for record in records:
        left = replayed.unchanged.get((record.turn_id, record.id), frozenset[str]())
        for file in record.files:
            if file.path not in left:
                yield PastChange(file.path, file.before, file.after, file.executable, file.moved_from)


def _made(session: Replay, store: Contents, now: Mapping[str, str]) -> Iterator[AgentChange]:
    """Yields what the session brought in: not what it took back, which was there before. Of a text that was not kept
    nothing is taken to have been there before, and all that is there now afterwards.
    """
    for change in changes_in((each for each in session.changes if not each.reverts), session):
        if change.path in now:
            before = "" if change.moved_from else _text(change.before, store, "")
            yield AgentChange(change.path, before, _text(change.after, store, now[change.path]))


def _text(digest: str | None, store: Contents, missing: str) -> str:
    data = b"" if digest is None else store.get(digest)
    return missing if data is None else data.decode(errors="surrogateescape")
