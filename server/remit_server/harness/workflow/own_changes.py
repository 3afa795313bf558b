"""Tells whether a session made every change of a commit itself: what it did not is never committed unasked (FLW-10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import digest_of
from remit_server.workspace.history import PastTurn

_Step = tuple[str | None, str | None]
"""What a file held before a change of the session's, and behind it: digests, None where there was no file."""


def foreign_paths(changes: Iterable[FileChange], turns: Sequence[PastTurn]) -> tuple[str, ...]:
    """Returns the files of a commit in which anything is not the session's own: somebody else changed them since the
    last commit, before it, between two changes of its or afterwards, or it never changed them.
    """
    steps: dict[str, list[_Step]] = {}
    for path, step in _steps(turns):
        steps.setdefault(path, []).append(step)
    return tuple(change.path.relative for change in changes if not _is_own(change, steps))


def _steps(turns: Sequence[PastTurn]) -> Iterator[tuple[str, _Step]]:
    for change in (change for turn in turns for change in turn.changes):
        if change.moved_from is None:
            yield change.path, (change.before, change.after)
        else:
            yield change.moved_from, (change.before, None)
            yield change.path, (None, change.after)


def _is_own(change: FileChange, steps: dict[str, list[_Step]]) -> bool:
    """Whether changes of the session's lead from the last commit's bytes to these, each going on where one ended."""
    committed = None if change.before is None else change.before.digest
    wanted = None if change.after is None else digest_of(change.after)
    for before, after in reversed(steps.get(change.path.relative, [])):
        if after != wanted:
            return False
        if before == committed:
            return True
        wanted = before
    return False
