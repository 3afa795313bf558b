"""Finds what of a commit its failing test did not come before: it was written in another mode, or beside an exemption
(FLW-10).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from remit_governance.workflow.position import Position
from remit_governance.workflow.test_files import locked_files
from remit_server.harness.context import CallContext
from remit_server.tools.spec import FileChange
from remit_server.workspace.history import PastChange


def unproven_paths(changes: Iterable[FileChange], position: Position, ctx: CallContext) -> tuple[str, ...]:
    """Returns the files of a commit that differed from the last one before the tests failed, files of tests aside; or
    all but those that its exemption is for. Where it is not known what they were then, each counts.
    """
    if position.exemption is not None:
        return tuple(path for path in map(_path, changes) if path not in position.exemption.paths)
    if position.red is None:
        return ()
    is_test = locked_files(ctx.parts.rulebook.policy.test_globs)
    since = ctx.turn.history.changes_since(position.red.since)
    return tuple(_path(each) for each in changes if not is_test(_path(each)) and not _is_proven(each, since))


def _path(change: FileChange) -> str:
    return change.path.relative


def _is_proven(change: FileChange, since: Sequence[PastChange] | None) -> bool:
    """Whether a file was what the last commit has when the tests failed: whatever differs was made since then."""
    committed = None if change.before is None else change.before.digest
    path = _path(change)
    first = next((each for each in since or () if path in {each.path, each.moved_from}), None)
    if first is None:
        return False
    moved_here = first.moved_from is not None and first.moved_from != path
    return committed == (None if moved_here else first.before)
