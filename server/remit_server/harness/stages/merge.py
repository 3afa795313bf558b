"""Stage 9: the first stage that changes the workspace: by the call's own writes, its commit, or the changes that its
command left (INT-01).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from pydantic import JsonValue

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.approval.proposal import measure_actions
from remit_server.harness.commands.read_only import explain_refused
from remit_server.harness.context import CallContext
from remit_server.harness.judgement import decide_actions
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.command_changes import merge_command
from remit_server.harness.stages.execute import CommandEnded, Executed
from remit_server.harness.stages.write import JudgedWrite, write_judged
from remit_server.harness.writes.commit import write_commit
from remit_server.harness.writes.rebase import rebase_plan
from remit_server.tools.spec import CommitPlan, Outcome, WritePlan
from remit_server.uninterrupted import finish_uninterrupted

MAX_TRIES = 3
"""How often a write is tried if the person types elsewhere in the file meanwhile."""
OTHER_LINES_CHANGED = "the person had changed other lines of it since; they are kept"


@dataclass(frozen=True, slots=True)
class Merged:
    """The outcome of the call, not yet redacted. The model sees at most `most_chars` characters of it.

    `written` are the paths that a command wrote, whether they were merged or not.
    """

    outcome: Outcome
    most_chars: int
    written: tuple[str, ...] = ()


async def merge(executed: Executed, ctx: CallContext, record: CallRecord) -> Merged:
    """Changes the workspace as the plan and its permit say. A cancellation waits until a write that has begun is
    finished.

    Raises ToolError: `stale` if a file is not what it was when it was approved; the record then names what was changed.
    """
    written: tuple[str, ...] = ()
    match executed.result:
        case Outcome() as outcome:
            pass
        case CommandEnded() as ended:
            written = ended.output.written
            outcome = await _merge_command(ended, executed, ctx, record)
        case WritePlan() as plan:
            outcome = await _write(plan, executed, ctx, record)
        case CommitPlan() as plan:
            outcome = await _commit(plan, ctx, record)
        case _:
            assert_never(executed.result)
    return Merged(outcome, executed.proposal.tool.most_chars, written)


async def _merge_command(ended: CommandEnded, executed: Executed, ctx: CallContext, record: CallRecord) -> Outcome:
    report = await merge_command(ended, executed.proposal, ctx, record)
    refused = await asyncio.to_thread(explain_refused, ended.output, ended.spec, ctx.parts.sandbox)
    notes = [text for text in (ended.network, report, *refused) if text]
    text = "\n".join(filter(None, [ended.outcome.text, *notes]))
    return replace(ended.outcome, text=text, data=with_notes(ended.outcome.data, notes))


async def _commit(plan: CommitPlan, ctx: CallContext, record: CallRecord) -> Outcome:
    commit = await finish_uninterrupted(asyncio.to_thread(write_commit, ctx.parts.workspace, plan))
    record.record_commit(plan.where, plan.parent, commit, plan.tree)
    return plan.render(commit)


async def _write(plan: WritePlan, executed: Executed, ctx: CallContext, record: CallRecord) -> Outcome:
    """Writes the changes. If the person types elsewhere in a file at that very moment, fits the changes in and tries
    again, up to `MAX_TRIES` times."""
    tool, judgement, notes = executed.proposal.tool.name, executed.judgement, tuple[str, ...]()
    for left in reversed(range(MAX_TRIES)):
        fitted = _fit_as_judged(plan, executed, ctx)
        record.note_rebase(plan, fitted)
        plan = fitted
        try:
            notes = await write_judged(
                JudgedWrite(plan, tool, judgement.actions, judgement.policy_version), ctx, record
            )
            break
        except ToolError as error:
            moved_on = _fit_as_judged(plan, executed, ctx).changes != plan.changes
            if error.code is not ErrorCode.STALE or record.changed or not left or not moved_on:
                raise
    beside = [OTHER_LINES_CHANGED] if record.rebased else []
    text = "\n".join([plan.outcome.text, *beside, *notes])
    return replace(plan.outcome, text=text, data=with_notes(plan.outcome.data, notes))


def _fit_as_judged(plan: WritePlan, executed: Executed, ctx: CallContext) -> WritePlan:
    """Returns the plan fitted into the present buffers, if it fits and policy decides the same about it; else the plan
    as it is."""
    fitted = rebase_plan(plan, ctx.parts.documents)
    if fitted is None or fitted.changes == plan.changes:
        return plan
    decisions = decide_actions(ctx.parts.rulebook.policy, measure_actions(executed.proposal.actions, fitted))
    verdicts = [decision.verdict for decision in decisions]
    return fitted if verdicts == [decision.verdict for decision in executed.judgement.decisions] else plan


def with_notes(data: Mapping[str, JsonValue], notes: Sequence[str]) -> Mapping[str, JsonValue]:
    """Returns a result's data with the notes that the harness adds to its text, if there are any."""
    return {**data, "notes": list(notes)} if notes else data
