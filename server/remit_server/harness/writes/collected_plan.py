"""Makes the plan that writes a turn's collected edits: each file from its present content to the collected one
(APP-10).

It is a tool of the harness's own, which no model can call. Like any plan, it is prepared again if files change while
the person decides.
"""

from __future__ import annotations

import asyncio
import os
import stat
from functools import partial

from remit_governance.values import Action, Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.calls import stale
from remit_server.harness.collected import REVIEW, Batch, CollectedFile
from remit_server.harness.writes.rebase import rebase_change
from remit_server.tools.files.read_source import image_if_there
from remit_server.tools.spec import Arguments, FileChange, Outcome, Plan, Target, Tool, ToolContext, WritePlan
from remit_server.workspace.content.files import digest_of
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath

CHANGED_SINCE = "it has changed since, and the collected edit no longer fits"


class ReviewArguments(Arguments):
    """What a review is of: files, and the calls that collected them."""

    files: tuple[str, ...]
    calls: tuple[str, ...]


def arguments_of(batch: Batch) -> ReviewArguments:
    """Returns the arguments of a review's call: the files that it changes, and the calls that collected edits."""
    files = tuple(path for path, file in batch.files.items() if file.changes)
    return ReviewArguments(files=files, calls=tuple(call.call_id for call in batch.calls))


def actions_of(batch: Batch) -> tuple[Action, ...]:
    """Returns the actions of the calls that collected a review's files, each once."""
    files = set(arguments_of(batch).files)
    calls = (call.actions for call in batch.calls if not files.isdisjoint(each.path for each in call.actions))
    return tuple(dict.fromkeys(each for actions in calls for each in actions))


def review_tool(batch: Batch, left: dict[str, str]) -> Tool[ReviewArguments]:
    """Returns the tool whose plan writes the collected edits. It notes in `left` the files that it cannot change, each
    with the reason."""
    return Tool(
        name=REVIEW,
        summary="Write what a turn has collected, after its review.",
        effect=Effect.WRITE,
        arguments=ReviewArguments,
        targets=_no_targets,
        prepare=partial(_prepare, batch, left),
    )


def has_folder(workspace: Workspace, path: WorkspacePath) -> bool:
    """Returns whether the nearest existing ancestor of a path is a folder."""
    for number in range(len(path.names) - 1, 0, -1):
        try:
            return stat.S_ISDIR(os.lstat(workspace.root.joinpath(*path.names[:number])).st_mode)
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True


def _no_targets(arguments: ReviewArguments, ctx: ToolContext) -> tuple[Target, ...]:
    """Raises AssertionError: never called, because a review uses the actions of the calls that collected its edits."""
    raise AssertionError(f"a review has its calls' actions: {arguments.calls}, {ctx.workspace.root}")


async def _prepare(batch: Batch, left: dict[str, str], arguments: ReviewArguments, ctx: ToolContext) -> Plan:
    del arguments
    return await asyncio.to_thread(_plan, batch, left, ctx)


def _plan(batch: Batch, left: dict[str, str], ctx: ToolContext) -> WritePlan:
    """Returns the plan. Raises ToolError if it would be empty: with `stale` if edits no longer fit, else because the
    files hold all edits already."""
    left.clear()
    changes: list[FileChange] = []
    for file in batch.files.values():
        if file.changes:
            try:
                changes += _change(file, ctx)
            except ToolError as error:
                left[file.path.relative] = error.why
    if not changes:
        raise (
            stale(", ".join(left))
            if left
            else ToolError(
                "nothing was written", "the files already hold exactly what was collected", "nothing has to be done"
            )
        )
    names = ", ".join(change.path.relative for change in changes)
    return WritePlan(
        changes=tuple(changes),
        outcome=Outcome(
            text=f"written: {names}",
            summary=f"wrote {names}",
            data={"files": [{"path": c.path.relative, "digest": digest_of(c.after or b"")} for c in changes]},
        ),
    )


def _change(file: CollectedFile, ctx: ToolContext) -> tuple[FileChange, ...]:
    """Returns the change from a file's present content to the collected one, or none if they are equal. Raises
    ToolError if the collected edit no longer fits."""
    path, now = file.path, image_if_there(file.path, ctx)
    if not has_folder(ctx.workspace, path):
        raise _left(path)
    if now is not None and now.data == file.after:
        return ()
    if (now and now.digest) == (file.before and file.before.digest):
        return (FileChange(path, now, file.after),)
    fitted = None if now is None else rebase_change(FileChange(path, file.before, file.after), now)
    if fitted is None:
        raise _left(path)
    return (fitted,)


def _left(path: WorkspacePath) -> ToolError:
    return ToolError(f"`{path.relative}` was left as it is", CHANGED_SINCE, "read it again", code=ErrorCode.STALE)
