"""Changes files and folders under the permit in force: for a call, a review, or the changes that a command left.

The old contents are kept before the files change, so that the change can be undone (SES-05). A file that is open is
changed through the editor, any other file as a whole on disk (FILE-03).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from remit_governance.values import Action
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.approval.proposal import mark_repositories
from remit_server.harness.calls import stale
from remit_server.harness.context import CallContext
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.writes.agent_trace import AgentTrace
from remit_server.harness.writes.syntax import describe_broken
from remit_server.tools.spec import FileChange, WritePlan
from remit_server.uninterrupted import finish_uninterrupted
from remit_server.workspace.content.files import if_there, image_of_text, read_image, write_atomically
from remit_server.workspace.content.removal import change_folder, move_file, remove_file
from remit_server.workspace.merges.merge_log import LoggedMerge, MergeLog, Step
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
from remit_server.workspace.ports import Documents


@dataclass(frozen=True, slots=True)
class JudgedWrite:
    """A tool's plan, and its actions as the policy of this version judged them."""

    plan: WritePlan
    tool: str
    actions: tuple[Action, ...]
    policy_version: str


async def write_judged(judged: JudgedWrite, ctx: CallContext, record: CallRecord) -> tuple[str, ...]:
    """Writes the plan; returns remarks on files that are no longer valid JSON. The record names the files that were
    changed, even if the write fails. A cancellation waits until the write is finished.

    Raises ToolError: `stale` if a file is not what it was when it was approved, or lies in a git repository by now;
    `limit_reached` if the old contents cannot be kept, and then nothing is changed.
    """
    if await asyncio.to_thread(mark_repositories, judged.actions, ctx.parts.workspace.root) != judged.actions:
        raise stale(next((action.path for action in judged.actions if action.path), judged.tool))
    await finish_uninterrupted(_write(judged, ctx, record))
    return await asyncio.to_thread(describe_broken, judged.plan.changes)


async def _write(judged: JudgedWrite, ctx: CallContext, record: CallRecord) -> None:
    if judged.plan.changes:
        await _write_files(judged, ctx, record)
    elif judged.plan.undoes:
        await ctx.turn.history.keep(ctx.call.id, (), judged.plan.undoes)
    for folder in judged.plan.folders:
        if await asyncio.to_thread(change_folder, ctx.parts.workspace, folder.path, made=folder.made):
            record.folders.append(folder)


async def _write_files(judged: JudgedWrite, ctx: CallContext, record: CallRecord) -> None:
    """Keeps the old contents, merges the changes, and traces each range that changed (INT-11). If tracing fails, the
    person is warned."""
    parts, turn, call, plan = ctx.parts, ctx.turn, ctx.call, judged.plan
    try:
        kept = await turn.history.keep(call.id, plan.changes, plan.undoes)
    except OSError as error:
        why = f"what the files hold cannot be kept for undo: {(error.strerror or str(error)).lower()}"
        fix = "free some space and try again"
        raise ToolError("nothing was changed", why, fix, code=ErrorCode.LIMIT_REACHED) from error
    try:
        merger = Merger(parts.workspace, parts.documents, parts.merges)
        await merger.merge(plan.changes, f"Remit: {judged.tool}", record.changed, judged.policy_version)
    except BaseException:
        left = [each.path.relative for each in plan.changes if each.path.relative not in record.changed]
        turn.history.keep_left(kept, left)
        raise
    finally:
        for each in plan.changes:
            if each.path.relative in record.changed:
                turn.note_change(each)
        folder = None if parts.rulebook.policy.work_items is None else parts.workspace.root
        trace = AgentTrace(folder, turn, call.id, judged.tool, judged.actions)
        problem = await asyncio.to_thread(trace.append, plan.changes, tuple(record.changed))
        if problem is not None:
            turn.warn(problem)


@dataclass(frozen=True, slots=True)
class Merger:
    """Applies approved changes to the workspace and open documents; the log lets a merge survive a crash between two
    changes."""

    workspace: Workspace
    documents: Documents
    log: MergeLog

    async def merge(self, changes: tuple[FileChange, ...], label: str, changed: list[str], policy_version: str) -> None:
        """Applies the changes in order, and adds each path to `changed` once it is done. A file is changed whole, or
        not at all.

        Raises ToolError `stale` if a file is no longer what it was when its change was approved. If that is seen
        beforehand, nothing is changed; if a later change fails, the earlier ones stay, and the error says so.
        """
        await self.documents.look([change.path.relative for change in changes])
        if len(changes) == 1:
            await self._apply(changes[0], label, changed)
            return
        await asyncio.to_thread(self._require_unchanged, changes)
        logged = await asyncio.to_thread(self._begin, changes, policy_version)
        try:
            for number, change in enumerate(changes):
                await self._apply(change, label, changed)
                await asyncio.to_thread(logged.finished, number)
        except ToolError as error:
            raise _say_partly(error, changed) from error
        finally:
            await asyncio.to_thread(logged.end)

    async def _apply(self, change: FileChange, label: str, changed: list[str]) -> None:
        await _merge_one(change, self.workspace, self.documents, label)
        changed.extend(path.relative for path, _, _ in change.touched)

    def _require_unchanged(self, changes: tuple[FileChange, ...]) -> None:
        for change in changes:
            for path, before, _ in change.touched:
                if self._digest(path) != before:
                    raise stale(path.relative)

    def _digest(self, path: WorkspacePath) -> str | None:
        if (document := self.documents.get(path.relative)) is not None:
            return image_of_text(document.text).digest
        return if_there(lambda: read_image(self.workspace, path).digest)

    def _begin(self, changes: tuple[FileChange, ...], policy_version: str) -> LoggedMerge:
        steps = [(self._step(change), None if change.moved_from else change.after) for change in changes]
        try:
            return self.log.begin(steps, policy_version)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ToolError(
                "nothing was changed", f"the merge log cannot be written: {why}", "free some space and try again"
            ) from error

    def _step(self, change: FileChange) -> Step:
        return Step(
            path=change.path.relative,
            before=change.before.digest if change.before else None,
            after=change.digest,
            moved_from=change.moved_from.relative if change.moved_from else None,
            in_editor=self.documents.get(change.path.relative) is not None,
            executable=change.executable,
        )


def _say_partly(error: ToolError, changed: list[str]) -> ToolError:
    if not changed:
        return error
    done = ", ".join(f"`{path}`" for path in changed)
    return ToolError(
        f"only a part was done: {error.what}",
        f"{error.why}; before that, {done} had been changed, and not changed back",
        error.fix,
        code=error.code,
        retryable=error.retryable,
    )


async def _merge_one(change: FileChange, workspace: Workspace, documents: Documents, label: str) -> None:
    relative = change.path.relative
    if change.before is not None and change.moved_from is not None:
        await asyncio.to_thread(move_file, workspace, change.moved_from, change.before, change.path)
        return
    if change.after is None:
        assert change.before is not None, f"a file that is not there cannot be removed: {relative}"
        await asyncio.to_thread(remove_file, workspace, change.path, change.before)
        return
    document = documents.get(relative)
    if document is None:
        await asyncio.to_thread(
            write_atomically, workspace, change.path, change.before, change.after, change.executable
        )
        return
    if change.before is None or image_of_text(document.text).digest != change.before.digest:
        raise stale(relative)
    await documents.replace(relative, document, change.after.decode("utf-8"), label)
