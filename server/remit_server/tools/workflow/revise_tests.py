"""`revise_tests`: a test was wrong, so the code is changed back to its state when the test failed, and tests may be
written again (FLW-13). The changes back are ordinary edits, judged and reviewed like any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import Field

from remit_governance.values import Effect
from remit_governance.workflow.states import State
from remit_server.counted import list_some
from remit_server.errors import ToolError
from remit_server.tools.edit.undo_changes import TakingBack, leads_elsewhere
from remit_server.tools.spec import (
    Arguments,
    FileChange,
    Follows,
    InWorkflow,
    Outcome,
    Plan,
    ReadPlan,
    Target,
    Tool,
    ToolContext,
    WritePlan,
)
from remit_server.workspace.history import PastChange

MOST_NAMED = 5
NOT_KNOWN = "what this session changed since the tests failed is not kept"


class ReviseTestsArguments(Arguments):
    """Arguments of `revise_tests`."""

    reason: str = Field(min_length=1, max_length=500, description="what is wrong with the test")


def take_back_code(ctx: ToolContext) -> tuple[tuple[FileChange, ...], tuple[str, ...]]:
    """Returns the changes that bring the code back to its state when the tests failed, and what cannot be brought back,
    with the reason.

    Both are empty if the session's changes of code since then are already taken back. Files of tests are left alone.
    """
    changes = _changes(ctx)
    if changes is None:
        return (), (NOT_KNOWN,)
    taking = TakingBack(ctx)
    for change in reversed(changes):
        taking.take(change)
    return taking.changes(), tuple(f"{path}: {why}" for path, why in taking.left.items())


def _changes(ctx: ToolContext) -> Sequence[PastChange] | None:
    """Returns the session's changes of code since the tests failed, without files that are as they were then; None if
    the changes are not known."""
    position = ctx.position
    found = None if position.red is None else ctx.history.changes_since(position.red.since)
    if found is None or (position.changed and not found):
        return None
    code = [change for change in found if not ctx.is_locked(change.path)]
    by_path: dict[str, list[PastChange]] = {}
    for change in code:
        by_path.setdefault(change.path, []).append(change)
    moved = any(change.moved_from for change in code)
    same = set[str]() if moved else {path for path, of_path in by_path.items() if _is_as_it_was(of_path, path, ctx)}
    return [change for change in code if change.path not in same]


def _is_as_it_was(changes: Sequence[PastChange], path: str, ctx: ToolContext) -> bool:
    rights_changed = any(change.executable for change in changes)
    return not rights_changed and TakingBack(ctx).digest(path) == changes[0].before


def _targets(arguments: ReviseTestsArguments, ctx: ToolContext) -> tuple[Target, ...]:
    del arguments
    paths = dict.fromkeys(path for each in _changes(ctx) or () for path in (each.path, each.moved_from) if path)
    own = (path for path in paths if not leads_elsewhere(path, ctx))
    return (Target("workflow.revise"), *(Target("fs.write", ctx.resolve(path)) for path in own))


async def _prepare(arguments: ReviseTestsArguments, ctx: ToolContext) -> Plan:
    del arguments
    return await asyncio.to_thread(_plan, ctx)


def _plan(ctx: ToolContext) -> Plan:
    todo, left = take_back_code(ctx)
    if left:
        raise ToolError(
            "the code cannot be brought back to what it was when the tests failed",
            list_some(left, MOST_NAMED, "; "),
            "put these files back as they were then, and call it again; or the person starts the work over",
        )
    if not todo:
        said = "the code is as it was when the tests failed"

        async def run() -> Outcome:
            return Outcome(said, said)

        return ReadPlan(run)
    line = f"taken back: {', '.join(change.path.relative for change in todo)}"
    return WritePlan(todo, Outcome(line, line))


REVISE_TESTS = Tool(
    name="revise_tests",
    summary="Write tests again, as one was wrong. Your code since then is taken back, and a test has to fail again.",
    effect=Effect.CONTROL,
    arguments=ReviseTestsArguments,
    targets=_targets,
    prepare=_prepare,
    workflow=InWorkflow(Follows.REVISION, frozenset({State.CODE_WRITING}), strict_only=True),
)
