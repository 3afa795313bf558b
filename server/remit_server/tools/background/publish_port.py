"""`publish_port`: the person makes a port of a background process reachable on their own machine's loopback (BG-07)."""

from __future__ import annotations

from pydantic import Field

from remit_governance.values import Effect
from remit_server.tools.spec import Arguments, Outcome, Plan, PublishPlan, Tool, ToolContext
from remit_server.tools.targets import process_targets


class PublishPortArguments(Arguments):
    """Arguments of `publish_port`."""

    process: str = Field(max_length=20, description="its id")
    port: int = Field(ge=1, le=65_535, description="a port that it listens on")


async def _prepare(arguments: PublishPortArguments, ctx: ToolContext) -> Plan:
    del ctx

    def render(address: str) -> Outcome:
        text = f"port {arguments.port} of {arguments.process} is at {address}, until it ends"
        return Outcome(text, text, {"address": address})

    return PublishPlan(arguments.process, arguments.port, render)


PUBLISH_PORT = Tool(
    name="publish_port",
    summary="Lead a port of this machine to a started process.",
    effect=Effect.EXECUTE,
    arguments=PublishPortArguments,
    targets=process_targets("process.publish"),
    prepare=_prepare,
    person_only=True,
)
