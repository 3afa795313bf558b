"""Stage 6: asks the person, if policy or their own configuration wants it, about exactly what would be done
(APP-01)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from remit_governance.approvals import ApprovalSubject
from remit_governance.permissions.remembered import Offer, offer_for
from remit_server.contract import ErrorCode, ReasonPayload, ReviewResolved, Scope
from remit_server.errors import ToolError
from remit_server.harness.approval.desk import one_question, refuse_by_person
from remit_server.harness.approval.proposal import Proposal, changes_of, subject_of
from remit_server.harness.approval.question import Question, describe_question, reasons_to_ask
from remit_server.harness.approval.review import Review, take
from remit_server.harness.calls import stale
from remit_server.harness.context import CallContext
from remit_server.harness.judgement import Judgement, answer_again, answered_by_typing
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.prepare import Prepared, judge_or_refuse, propose, refuse_denied, with_plan
from remit_server.harness.writes.rebase import rebase_plan
from remit_server.tools.spec import DelegatePlan, ReadPlan, WritePlan

MAX_QUESTIONS = 3
"""How often a person is asked about one call if its files change while they decide."""


@dataclass(frozen=True, slots=True)
class Approved:
    """A plan that may be carried out: policy allows it, or the person did, just now (`by_person`) or by a standing
    answer."""

    proposal: Proposal
    judgement: Judgement
    by_person: bool = False

    @property
    def reviewed(self) -> bool:
        """Whether the person allowed the call, just now or by a standing answer, or policy allows it by itself."""
        return self.by_person or self.judgement.answer.word == "allow"


async def approve(prepared: Prepared, ctx: CallContext, record: CallRecord) -> Approved:
    """Asks the person if that is required. Only what was shown may run.

    Raises ToolError: `approval_denied`, `approval_expired`, `approval_unavailable`, `denied`, and `stale` if anything
    but the shown files has changed; RunDenied if nobody can be asked. In a dry run, raises `dry_run` for any plan with
    effects.
    """
    if ctx.turn.dry_run and not isinstance(prepared.proposal.plan, ReadPlan | DelegatePlan):
        raise _only_shown(prepared, ctx)
    if not _asks(prepared):
        return _approve_unasked(prepared, record)
    # Do not ask if only the person can call this tool, or if they typed this very command.
    if prepared.proposal.tool.person_only or (answered_by_typing(prepared.judgement, ctx.turn) and not prepared.review):
        record.record_answer("allow", "person", Scope.ONCE)
        return Approved(prepared.proposal, prepared.judgement, by_person=True)
    async with one_question(record) as others_were_asked:
        if others_were_asked:
            # The person's answers meanwhile may have settled this question too.
            again = await judge_or_refuse(prepared.proposal.actions, ctx, record, prepared.judgement)
            prepared = replace(prepared, judgement=again)
            if not _asks(prepared):
                return _approve_unasked(prepared, record)
        proposal, judgement = await _ask(prepared, ctx, record)
    # Check for a standing deny that the person gave meanwhile. A changed policy shows in the digest.
    judgement = refuse_denied(answer_again(judgement, ctx.parts.rulebook, ctx.turn), record)
    return Approved(proposal, judgement, by_person=True)


def _asks(prepared: Prepared) -> bool:
    return prepared.judgement.asks or bool(prepared.review)


def _reasons(prepared: Prepared, judgement: Judgement) -> tuple[ReasonPayload, ...]:
    said = (*prepared.review, *prepared.remarks)
    review = (ReasonPayload(layer="workflow", action="require_review", reason=reason) for reason in said)
    return (*review, *reasons_to_ask(judgement))


def _only_shown(prepared: Prepared, ctx: CallContext) -> ToolError:
    """Returns the error by which a dry run says what it would do, with the diffs as data for clients that draw them."""
    offer = offer_for(prepared.judgement.pairs, ctx.parts.rulebook.permissions, ctx.parts.rulebook.here)
    shown = _describe(prepared.proposal, offer, _reasons(prepared, prepared.judgement), ctx)
    asked = "after a question" if _asks(prepared) else "without a question"
    error = ToolError(
        "nothing was done in this dry run",
        f"it would {shown.title}, {asked}",
        "go on as if it were done, and say what else there is to do",
        code=ErrorCode.DRY_RUN,
        for_person="",
    )
    diffs: list[JsonValue] = [each.model_dump(mode="json") for each in shown.diffs]
    error.data = {"would": shown.title, "command": shown.command, "diffs": diffs}
    return error


def _approve_unasked(prepared: Prepared, record: CallRecord) -> Approved:
    record.record_standing_answer()
    return Approved(prepared.proposal, prepared.judgement)


async def _ask(prepared: Prepared, ctx: CallContext, record: CallRecord) -> tuple[Proposal, Judgement]:
    """Asks about exactly this proposal, and returns it as it can be carried out now, with its judgement.

    If a file has changed since it was shown, and the shown change no longer fits, the person is asked again about what
    would be done now.
    """
    proposal, judgement, rulebook = prepared.proposal, prepared.judgement, ctx.parts.rulebook
    for _ in range(MAX_QUESTIONS):
        offer = offer_for(judgement.pairs, rulebook.permissions, rulebook.here)
        asked, whole = await _subject(proposal, offer, ctx), proposal
        shown = _describe(proposal, offer, _reasons(prepared, judgement), ctx)
        review = await ctx.parts.desk.ask(asked, shown, record, changes_of(proposal.plan))
        if review.left_out:
            proposal = await _take(proposal, review, ctx, record)
            judgement = await judge_or_refuse(proposal.actions, ctx, record, judgement)
        if (fitted := await _fit(proposal, asked, offer, ctx)) is not None:
            judgement = await judge_or_refuse(fitted.actions, ctx, record, judgement)
            record.note_rebase(proposal.plan, fitted.plan)
            return fitted, judgement
        anew = await propose(proposal.tool, proposal.arguments, proposal.actions, prepared.tool_context, ctx)
        now = await _subject(anew, offer, ctx)
        if now.digest == asked.digest and anew.actions == whole.actions:
            return (proposal if review.left_out else anew), judgement
        if not isinstance(anew.plan, WritePlan) or now.policy_version != asked.policy_version:
            raise stale(proposal.name)
        proposal = anew
        judgement = await judge_or_refuse(proposal.actions, ctx, record, judgement)
        if not judgement.asks:
            return proposal, judgement
    raise stale(proposal.name)


async def ask_by_file(
    proposal: Proposal, reasons: Sequence[ReasonPayload], ctx: CallContext, record: CallRecord
) -> Review:
    """Asks one question about the files of a proposal, each of which can be left out as a whole. Offers no standing
    answer. Raises ToolError on a no, as `approve` does.
    """
    shown = _describe(proposal, Offer(), reasons, ctx).by_file()
    subject = await _subject(proposal, Offer(), ctx)
    async with one_question(record):
        return await ctx.parts.desk.ask(subject, shown, record, changes_of(proposal.plan))


def _describe(proposal: Proposal, offer: Offer, reasons: Sequence[ReasonPayload], ctx: CallContext) -> Question:
    programs = ctx.parts.rulebook.policy.programs
    return describe_question(proposal, ctx.call, ctx.turn, offer, tuple(reasons), programs=programs)


async def _take(proposal: Proposal, review: Review, ctx: CallContext, record: CallRecord) -> Proposal:
    """Returns the proposal without what the person left out. Raises ToolError (`approval_denied`) if nothing
    remains."""
    assert isinstance(proposal.plan, WritePlan), "only the parts of a write are offered"
    taken = take(proposal.plan, review.left_out)
    if taken is None:
        record.note_nothing_taken()
        raise refuse_by_person(review)
    record.note_part(proposal.plan, taken.plan)
    asked, rejected = record.approval_id or "", taken.shown - taken.accepted
    ctx.turn.emit(ReviewResolved(**ctx.turn.stamp(), review_id=asked, accepted=taken.accepted, rejected=rejected))
    return await with_plan(proposal, taken.plan, ctx)


async def _fit(proposal: Proposal, asked: ApprovalSubject, offer: Offer, ctx: CallContext) -> Proposal | None:
    """Returns the proposal fitted into what was typed elsewhere in the files meanwhile, or None if nothing was typed,
    or if it no longer fits."""
    if not isinstance(proposal.plan, WritePlan):
        return None
    plan = rebase_plan(proposal.plan, ctx.parts.documents)
    if plan is None or plan.changes == proposal.plan.changes:
        return None
    fitted = await with_plan(proposal, plan, ctx)
    now = await _subject(fitted, offer, ctx)
    return fitted if replace(now, paths=()).digest == replace(asked, paths=()).digest else None


async def _subject(proposal: Proposal, offer: Offer, ctx: CallContext) -> ApprovalSubject:
    version, workspace = ctx.parts.rulebook.policy.version, ctx.parts.workspace
    return await asyncio.to_thread(subject_of, proposal, ctx.turn, version, workspace, offer)
