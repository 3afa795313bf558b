"""`stop_process`: ends a process in the background, with all that it started (BG-05)."""

from __future__ import annotations

from pydantic import Field

from remit_governance.values import Effect
from remit_server.tools.background.read_process import data_of
from remit_server.tools.background.seen import ProcessSeen
from remit_server.tools.spec import Arguments, Outcome, Plan, StopPlan, Tool, ToolContext
from remit_server.tools.targets import process_targets


class StopProcessArguments(Arguments):
    """Arguments of `stop_process`."""

    process: str = Field(max_length=20)


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
    targets=process_targets("process.end"),
    prepare=_prepare,
    drop_rank=0,
)
