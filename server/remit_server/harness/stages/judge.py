"""Stage 4: policy and the person's standing answers, before anything of a call's files is read."""

from __future__ import annotations

from dataclasses import dataclass

from remit_governance.values import Action
from remit_server.harness.context import CallContext
from remit_server.harness.judgement import Judgement, judge_actions
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.resolve import ResolvedCall


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A call that nothing denies, and how it was judged; it may have to be asked about."""

    call: ResolvedCall
    judgement: Judgement


async def judge(resolved: ResolvedCall, ctx: CallContext, record: CallRecord) -> JudgedCall:
    """Judges the call's actions. Raises ToolError (`denied`), RunDenied where the deny is final."""
    return JudgedCall(resolved, await judge_or_refuse(resolved.actions, ctx, record))


async def judge_or_refuse(
    actions: tuple[Action, ...], ctx: CallContext, record: CallRecord, known: Judgement | None = None
) -> Judgement:
    """Judges actions under the rules in force and notes it; returns `known` where nothing that led to it has changed.

    Raises ToolError (`denied`), RunDenied where the deny is final.
    """
    judgement = await judge_actions(actions, ctx.parts.rulebook, ctx.turn, known)
    return judgement if judgement is known else refuse_denied(judgement, record)


def refuse_denied(judgement: Judgement, record: CallRecord) -> Judgement:
    """Notes a judgement and returns it where it denies nothing. Raises ToolError, RunDenied where the deny is final."""
    record.note_judgement(judgement)
    denial = judgement.denial(record.tool, record.turn.memory.position)
    if denial is not None:
        record.record_standing_answer()
        raise denial
    return judgement
