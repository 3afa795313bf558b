"""`workflow_request_exemption`: asks to change files for which no test can come first, by category (FLW-05)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from remit_governance.values import Effect
from remit_governance.workflow.states import State
from remit_governance.workflow.test_files import Category
from remit_server.tools.spec import (
    Arguments,
    Follows,
    InWorkflow,
    Outcome,
    Plan,
    ReadPlan,
    Target,
    ToExempt,
    Tool,
    ToolContext,
)

MOST_PATHS = 50


class ExemptionArguments(Arguments):
    """Arguments of `workflow_request_exemption`."""

    category: Category
    paths: tuple[Annotated[str, Field(min_length=1, max_length=4096)], ...] = Field(
        strict=False, min_length=1, max_length=MOST_PATHS
    )
    reason: str = Field(min_length=1, max_length=500, description="why no test can come first")


def _targets(arguments: ExemptionArguments, ctx: ToolContext) -> tuple[Target, ...]:
    return tuple(Target("workflow.exempt", ctx.resolve(path)) for path in arguments.paths)


async def _prepare(arguments: ExemptionArguments, ctx: ToolContext) -> Plan:
    paths = tuple(ctx.resolve(path).relative for path in arguments.paths)

    async def run() -> Outcome:
        named = f"{arguments.category} for {', '.join(paths)}"
        return Outcome(f"exempted: {named}", f"exempted: {named}", data={"paths": [*paths]}, facts=ToExempt(paths))

    return ReadPlan(run)


WORKFLOW_REQUEST_EXEMPTION = Tool(
    name="workflow_request_exemption",
    summary="Ask to change files that no test can come before.",
    effect=Effect.CONTROL,
    arguments=ExemptionArguments,
    targets=_targets,
    prepare=_prepare,
    only_resolves=True,
    workflow=InWorkflow(
        Follows.EXEMPTION, frozenset({State.PLANNING, State.TEST_WRITING}), strict_only=True, gives_up=True
    ),
)
