"""Stages 4 and 5: first policy and the person's standing answers judge a call, before any of its files is read; then
the tool reads what it needs and returns a plan, which is judged again with what only a plan can tell.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from pydantic import BaseModel

from remit_governance.values import Action
from remit_server.harness.approval.proposal import Proposal, mark_repositories, measure_actions
from remit_server.harness.commands.read_only import describe_read_only
from remit_server.harness.context import CallContext, Parts
from remit_server.harness.judgement import Judgement, judge_actions
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.resolve import ResolvedCall
from remit_server.sandbox.advice import no_sandbox
from remit_server.sandbox.outcome import refuse_ways_out
from remit_server.tools.spec import AnyTool, CommandPlan, Plan, StartPlan, ToolContext, WritePlan
from remit_server.workspace.content.open_files import retry_read


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A call that nothing denies, and its judgement. The person may still have to be asked."""

    call: ResolvedCall
    judgement: Judgement


async def judge(resolved: ResolvedCall, ctx: CallContext, record: CallRecord) -> JudgedCall:
    """Judges the call's actions. Raises ToolError (`denied`), or RunDenied if the deny is final."""
    return JudgedCall(resolved, await judge_or_refuse(resolved.actions, ctx, record))


async def judge_or_refuse(
    actions: tuple[Action, ...], ctx: CallContext, record: CallRecord, known: Judgement | None = None
) -> Judgement:
    """Judges actions under the rules in force and notes the judgement; returns `known` if its basis has not changed.

    Raises ToolError (`denied`), or RunDenied if the deny is final.
    """
    judgement = await judge_actions(actions, ctx.parts.rulebook, ctx.turn, known)
    return judgement if judgement is known else refuse_denied(judgement, record)


def refuse_denied(judgement: Judgement, record: CallRecord) -> Judgement:
    """Notes a judgement, and returns it if it denies nothing. Raises ToolError, or RunDenied if the deny is final."""
    record.note_judgement(judgement)
    denial = judgement.denial(record.tool, record.turn.memory.position)
    if denial is not None:
        record.record_standing_answer()
        raise denial
    return judgement


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan that nothing denies. `judgement` is about the actions with what only the plan can tell.

    `review` are the reasons why the person has to look at the plan even if policy allows it. `remarks` are shown to the
    person before the reasons of policy, if they are asked.
    """

    proposal: Proposal
    judgement: Judgement
    tool_context: ToolContext
    review: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


async def prepare(judged: JudgedCall, ctx: CallContext, record: CallRecord) -> Prepared:
    """Lets the tool prepare its plan, and judges the actions again with what the plan tells.

    Raises ToolError, as the tool's `prepare` does; `sandbox_unavailable` for a command that nothing isolates; `denied`.
    """
    call = judged.call
    # Preparing only reads, for every tool, so that trying it again cannot write anything twice.
    proposal = await retry_read(
        lambda: propose(call.tool, call.arguments, call.actions, call.tool_context, ctx), record.record_retry
    )
    judgement = await judge_or_refuse(proposal.actions, ctx, record, judged.judgement)
    remarks: tuple[str, ...] = ()
    if isinstance(proposal.plan, CommandPlan) and proposal.plan.spec.writes:
        remarks = await asyncio.to_thread(describe_read_only, proposal.actions, ctx.parts.sandbox.name)
    return Prepared(proposal, judgement, call.tool_context, remarks=remarks)


async def propose(
    tool: AnyTool, arguments: BaseModel, actions: tuple[Action, ...], tool_context: ToolContext, ctx: CallContext
) -> Proposal:
    """Lets the tool prepare a plan for the present contents of its files. Raises ToolError, as its `prepare` does."""
    plan = await tool.prepare(arguments, tool_context)
    return await with_plan(Proposal(tool, arguments, actions, plan), plan, ctx)


async def with_plan(proposal: Proposal, plan: Plan, ctx: CallContext) -> Proposal:
    """Returns the proposal with this plan, and its actions with what only the plan can tell. Raises ToolError."""
    actions = measure_actions(proposal.actions, plan, layers=await _has_layers(plan, ctx.parts))
    if isinstance(plan, WritePlan):
        actions = await asyncio.to_thread(mark_repositories, actions, ctx.parts.workspace.root)
    return replace(proposal, actions=actions, plan=plan)


async def _has_layers(plan: Plan, parts: Parts) -> bool:
    """Returns whether the writes of this plan's command go to a layer, and are judged after it has run.

    Raises ToolError if nothing isolates the command, or keeps a process, so that nobody is asked about what cannot run.
    """
    if not isinstance(plan, CommandPlan | StartPlan):
        return False
    isolation = await asyncio.to_thread(parts.sandbox.isolation)
    if not isolation.available:
        raise no_sandbox(isolation)
    if isinstance(plan, StartPlan) and not isolation.background:
        because = f" here: {isolation.offline}" if isolation.offline else ", which bubblewrap can"
        why = f"`{isolation.name}` cannot keep a process in the background{because}"
        fix = "run it with `run_command`, or have the person run `remit sandbox check` or install bubblewrap"
        raise no_sandbox(replace(isolation, why=why, fix=fix))
    if isinstance(plan, CommandPlan):
        refuse_ways_out(plan.spec, isolation.name, isolation)
    return isolation.layers
