"""Between stages 5 and 6: collects edits that the person has to review, if they want to review a turn's edits together
(APP-10).
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from remit_governance.policy.matching.paths import fold
from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.collected import CollectedCall
from remit_server.harness.context import CallContext
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.gate import ParsedCall
from remit_server.harness.stages.prepare import Prepared
from remit_server.harness.turn import Turn
from remit_server.harness.writes.collected_plan import has_folder
from remit_server.harness.writes.syntax import describe_broken
from remit_server.tools.spec import FileChange, Outcome, WritePlan
from remit_server.workspace.paths.workspace_path import WorkspacePath

NOT_YET = "This is collected for the person's review at the end of the turn, and in no file yet."


def comes_after_review(parsed: ParsedCall, turn: Turn) -> bool:
    """Returns whether a call works with the files themselves, so that collected edits have to be reviewed before it."""
    return turn.collected.wants and not parsed.tool.sees_collected(parsed.arguments)


def collects(prepared: Prepared, ctx: CallContext) -> bool:
    """Returns whether a call's edits are collected: those that need a question, and those of files with collected
    edits.

    Edits are not collected if nobody can be asked, or if the call came with the request, because no turn of our model
    follows that could review them.
    """
    turn, plan = ctx.turn, prepared.proposal.plan
    if prepared.proposal.tool.effect is Effect.CONTROL:  # what the tool does next depends on what is really written
        return False
    if not turn.collected.wants or turn.own_call or turn.dry_run or turn.asker.style == "never":
        return False
    if not isinstance(plan, WritePlan) or not all(map(_can_wait, plan.changes)):
        return False
    return prepared.judgement.asks or _goes_on(plan, turn)


def needs_review_first(prepared: Prepared, ctx: CallContext) -> bool:
    """Returns whether the collected edits have to be reviewed before this call: because the call cannot be collected
    and either needs a question or changes the same files, or because one review cannot include more."""
    plan, collected = prepared.proposal.plan, ctx.turn.collected
    if not isinstance(plan, WritePlan) or not collected.calls:
        return False
    if collects(prepared, ctx):
        return not collected.has_room(plan.changes)
    return prepared.judgement.asks or _goes_on(plan, ctx.turn)


async def collect(prepared: Prepared, ctx: CallContext, record: CallRecord) -> Outcome:
    """Collects the call's edits, and returns the outcome for the model. Writes no file.

    Raises ToolError if a file could not be written in any case.
    """
    proposal, collected = prepared.proposal, ctx.turn.collected
    assert isinstance(proposal.plan, WritePlan), "`collects` said so"
    await asyncio.to_thread(_require_writable, proposal.plan.changes, ctx)
    collected.review = collected.review or ctx.turn.own_id(f"{ctx.turn.turn_id}-review")
    record.note_collected(collected.review)
    record.record_start()
    collected.take(CollectedCall(ctx.call.id, proposal.actions), proposal.plan.changes)
    done = proposal.plan.outcome
    notes = await asyncio.to_thread(describe_broken, proposal.plan.changes)
    return replace(
        done,
        text="\n".join([done.text, *notes, NOT_YET]),
        summary=f"collected for review: {done.summary}",
        data={**done.data, "collected": True, **({"notes": list(notes)} if notes else {})},
    )


def _can_wait(change: FileChange) -> bool:
    """Returns whether a change can be collected: a file with UTF-8 text, not moved, removed or given another mode."""
    if change.after is None or change.moved_from is not None or change.executable is not None:
        return False
    if change.before is not None and change.before.left_out:
        return False
    try:
        change.after.decode()
    except UnicodeDecodeError:
        return False
    return True


def _goes_on(plan: WritePlan, turn: Turn) -> bool:
    """Returns whether a plan touches a file with collected edits, or a path that is above or below such a file."""
    touched = [path.relative for change in plan.changes for path, _, _ in change.touched]
    return any(_meet(path, other) for path in touched for other in turn.collected.paths())


def _meet(one: str, other: str) -> bool:
    one, other = fold(one), fold(other)
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _require_writable(changes: tuple[FileChange, ...], ctx: CallContext) -> None:
    """Raises ToolError if a change cannot be written later, because that would leave the review's other files half
    done."""
    for change in changes:
        if change.before is not None and not change.before.mode & 0o222:
            raise _cannot(change.path, ErrorCode.READ_ONLY, "the file is marked read-only", "make it writable")
        beside = [other for other in ctx.turn.collected.paths() if fold(other) != fold(change.path.relative)]
        taken = any(_meet(change.path.relative, other) for other in beside)
        if taken or not has_folder(ctx.parts.workspace, change.path):
            why = "a part of its path is a file, or it would be a folder"
            raise _cannot(change.path, ErrorCode.NOT_A_FILE, why, "name another path")


def _cannot(path: WorkspacePath, code: ErrorCode, why: str, fix: str) -> ToolError:
    return ToolError(f"cannot write `{path.relative}`", why, fix, code=code)
