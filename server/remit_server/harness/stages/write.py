"""Changes files and folders under the permit that is in force: for a call, a review, and what a command left.

What the files hold is kept before they change, so that it can be taken back (SES-05).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from remit_governance.values import Action
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.context import CallContext
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.writes.agent_trace import AgentTrace
from remit_server.harness.writes.merger import stale
from remit_server.harness.writes.repositories import mark_repositories
from remit_server.harness.writes.syntax import describe_broken
from remit_server.tools.spec import WritePlan
from remit_server.uninterrupted import finish_uninterrupted
from remit_server.workspace.content.removal import change_folder


@dataclass(frozen=True, slots=True)
class JudgedWrite:
    """A plan of a tool, and its actions as the policy of this version judged them."""

    plan: WritePlan
    tool: str
    actions: tuple[Action, ...]
    policy_version: str


async def write_judged(judged: JudgedWrite, ctx: CallContext, record: CallRecord) -> tuple[str, ...]:
    """Writes what was judged; returns remarks on files that cannot be read any more. What was changed is noted in the
    record, also where it fails; a cancellation waits.

    Raises ToolError: `stale` where a file is not what it was when it was approved, or lies in a repository by now;
    `limit_reached` where what the files hold cannot be kept. Nothing is changed then.
    """
    if await asyncio.to_thread(mark_repositories, judged.actions, ctx.parts.workspace.root) != judged.actions:
        raise stale(next((action.path for action in judged.actions if action.path), judged.tool))
    await finish_uninterrupted(_write(judged, ctx, record))
    return await asyncio.to_thread(describe_broken, judged.plan.changes)


async def _write(judged: JudgedWrite, ctx: CallContext, record: CallRecord) -> None:
    if judged.plan.changes:
        await _write_files(judged, ctx, record)
    for folder in judged.plan.folders:
        if await asyncio.to_thread(change_folder, ctx.parts.workspace, folder.path, made=folder.made):
            record.folders.append(folder)


async def _write_files(judged: JudgedWrite, ctx: CallContext, record: CallRecord) -> None:
    """Keeps what the files hold, merges, and traces each range that changed (INT-11); where that cannot be done, the
    person is told."""
    parts, turn, call, plan = ctx.parts, ctx.turn, ctx.call, judged.plan
    try:
        kept = await turn.history.keep(call.id, plan.changes, plan.undoes)
    except OSError as error:
        why = f"what the files hold cannot be kept for undo: {(error.strerror or str(error)).lower()}"
        fix = "free some space and try again"
        raise ToolError("nothing was changed", why, fix, code=ErrorCode.LIMIT_REACHED) from error
    try:
        await parts.merger.merge(plan.changes, f"Remit: {judged.tool}", record.changed, judged.policy_version)
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
