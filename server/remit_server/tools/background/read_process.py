"""`read_process`: returns what a background process has printed since it was last read (BG-03)."""

from __future__ import annotations

from pydantic import Field, JsonValue

from remit_governance.values import Effect
from remit_server.tools.background.seen import Awaited, NewOutput, ProcessSeen
from remit_server.tools.run.command_parts import without_colours
from remit_server.tools.run.run_command import head_and_tail
from remit_server.tools.spec import Arguments, Outcome, Plan, ReadPlan, Tool, ToolContext
from remit_server.tools.targets import process_targets

MAX_SHOWN_CHARS = 16_000


class ReadProcessArguments(Arguments):
    """Arguments of `read_process`."""

    process: str = Field(max_length=20)
    until: str = Field(default="", max_length=200)
    seconds: int = Field(default=5, ge=0, le=300)


async def _prepare(arguments: ReadProcessArguments, ctx: ToolContext) -> Plan:
    async def run() -> Outcome:
        awaited = Awaited(arguments.until, within_s=float(arguments.seconds))
        return render_new(await ctx.processes.read(arguments.process, awaited))

    return ReadPlan(run)


def render_new(new: NewOutput) -> Outcome:
    """Returns the outcome with the new output of a process, and its present state."""
    lost = f"[... {new.lost} bytes before this are not kept ...]\n" if new.lost else ""
    printed = head_and_tail(without_colours(new.text), MAX_SHOWN_CHARS)
    text = f"{new.process.words}\n{lost}{printed}" if printed else f"{new.process.words}\nit has printed nothing new"
    data = data_of(new.process)
    return Outcome(text, new.process.words, {**data, "lost": new.lost, "met": new.met})


def data_of(process: ProcessSeen) -> dict[str, JsonValue]:
    """Returns the data about a process for programs."""
    ending = process.ending
    return {
        "process": process.id,
        "running": ending is None,
        "ports": list(process.ports),
        "exit_code": ending.exit_code if ending else None,
    }


READ_PROCESS = Tool(
    name="read_process",
    summary="Read what a process has printed since the last read.",
    effect=Effect.READ,
    arguments=ReadProcessArguments,
    targets=process_targets("process.read"),
    prepare=_prepare,
    drop_rank=0,
)
