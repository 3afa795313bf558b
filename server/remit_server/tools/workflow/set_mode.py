"""`set_mode`: sets how strictly the session is held to the workflow; only the person can call it (FLW-07)."""

from __future__ import annotations

from typing import Literal

from remit_governance.values import Effect
from remit_server.tools.spec import Arguments, Follows, InWorkflow, Outcome, Plan, ReadPlan, Target, Tool, ToolContext


class SetModeArguments(Arguments):
    """Arguments of `set_mode`."""

    mode: Literal["strict", "explore", "debug"]


def _targets(arguments: SetModeArguments, ctx: ToolContext) -> tuple[Target, ...]:
    del ctx
    return (Target("session.set_mode", mode=arguments.mode),)


async def _prepare(arguments: SetModeArguments, ctx: ToolContext) -> Plan:
    del ctx

    async def run() -> Outcome:
        return Outcome(f"the session is in {arguments.mode} mode", f"{arguments.mode} mode")

    return ReadPlan(run)


SET_MODE = Tool(
    name="set_mode",
    summary="Hold the session to the workflow (strict), or not (explore, debug).",
    effect=Effect.CONTROL,
    arguments=SetModeArguments,
    targets=_targets,
    prepare=_prepare,
    only_resolves=True,
    person_only=True,
    workflow=InWorkflow(Follows.MODE),
)
