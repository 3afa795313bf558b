"""`plan_complete`: the model says that its plan is complete; in strict mode tests come next (FLW-06)."""

from __future__ import annotations

from pydantic import Field

from remit_governance.values import Effect
from remit_governance.workflow.states import State
from remit_server.tools.spec import Arguments, Follows, InWorkflow, Outcome, Plan, ReadPlan, Tool, ToolContext
from remit_server.tools.targets import session_targets


class PlanCompleteArguments(Arguments):
    """Arguments of `plan_complete`."""

    plan: str = Field(min_length=1, max_length=4_000, description="what will be done, in a few steps")


async def _prepare(arguments: PlanCompleteArguments, ctx: ToolContext) -> Plan:
    del arguments, ctx

    async def run() -> Outcome:
        return Outcome("the plan is complete", "the plan is complete")

    return ReadPlan(run)


PLAN_COMPLETE = Tool(
    name="plan_complete",
    summary="Say that the plan is complete, with what you will do. In strict mode this opens the writing of tests.",
    effect=Effect.CONTROL,
    arguments=PlanCompleteArguments,
    targets=session_targets("workflow.plan"),
    prepare=_prepare,
    only_resolves=True,
    workflow=InWorkflow(Follows.PLAN, frozenset({State.PLANNING}), strict_only=True, gives_up=True),
)
