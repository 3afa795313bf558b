"""`list_processes`: lists the processes that the session started, ended ones included (BG-06)."""

from __future__ import annotations

from remit_governance.values import Effect
from remit_server.tools.background.read_process import data_of
from remit_server.tools.spec import Arguments, Outcome, Plan, ReadPlan, Tool, ToolContext
from remit_server.tools.targets import session_targets


class ListProcessesArguments(Arguments):
    """Arguments of `list_processes`."""


async def _prepare(arguments: ListProcessesArguments, ctx: ToolContext) -> Plan:
    del arguments

    async def run() -> Outcome:
        found = ctx.processes.all()
        text = "\n".join(each.words for each in found) or "no process was started"
        running = sum(each.ending is None for each in found)
        return Outcome(text, f"{running} running", {"processes": [data_of(each) for each in found]})

    return ReadPlan(run)


LIST_PROCESSES = Tool(
    name="list_processes",
    summary="List processes.",
    effect=Effect.READ,
    arguments=ListProcessesArguments,
    targets=session_targets("process.read"),
    prepare=_prepare,
    drop_rank=0,
)
