"""What all sessions of a workspace changed in its files of tests, by which a test of the person's is told (FLW-04)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from remit_governance.workflow.proof.runs import AgentChange, AgentWork, TestFiles
from remit_server.contract import FilesChanged
from remit_server.sessions.contents import Contents
from remit_server.sessions.replay import Replay, replay
from remit_server.sessions.session_file import SessionError, read_session
from remit_server.workspace.history import PastChange

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
