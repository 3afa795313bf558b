"""`stop_process`: ends a process in the background, with all that it started (BG-05)."""

from __future__ import annotations

from pydantic import Field

from remit_governance.values import Effect
from remit_server.tools.background.read_process import data_of
from remit_server.tools.background.seen import ProcessSeen
from remit_server.tools.spec import Arguments, Outcome, Plan, StopPlan, Target, Tool, ToolContext


class StopProcessArguments(Arguments):
    """Arguments of `stop_process`."""

    process: str = Field(max_length=20)


def _targets(arguments: StopProcessArguments, ctx: ToolContext) -> tuple[Target, ...]:
    ctx.processes.find(arguments.process)
    return (Target("process.end"),)


async def _prepare(arguments: StopProcessArguments, ctx: ToolContext) -> Plan:
    del ctx
    return StopPlan(arguments.process, _render)


def _render(process: ProcessSeen) -> Outcome:
    return Outcome(process.words, process.words, data_of(process))


STOP_PROCESS = Tool(
    name="stop_process",
    summary="End a process.",
    effect=Effect.EXECUTE,
    arguments=StopProcessArguments,
    targets=_targets,
    prepare=_prepare,
    drop_rank=0,
)
