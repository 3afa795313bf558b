"""How long a command may take: as long as was asked for, within what the person allows (BOX-04)."""

from __future__ import annotations

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.spec import Arguments, ToolContext

MOST_S = 3600
SETTING = "limits.command_timeout_s"


def choose_seconds(arguments: Arguments, asked: int, ctx: ToolContext) -> int:
    """Returns the seconds that a command has: `asked`, which is the tool's own where the call names no `timeout`.

    What a person typed has all that they allow, unless it names less. Raises ToolError where it names more than that.
    """
    most = ctx.command_limit_s
    if "timeout" not in arguments.model_fields_set:
        return most if ctx.typed else min(asked, most)
    if asked > most:
        raise ToolError(
            f"cannot run the command for {asked} s",
            f"`{SETTING}` of the person allows {most} s at most",
            f"name a `timeout` up to {most}, or do less at once",
            code=ErrorCode.INVALID_ARGUMENTS,
        )
    return asked


def describe_time_out(seconds: int, ctx: ToolContext) -> str:
    """Says how long a command had that was stopped for it, and how it gets more."""
    most = ctx.command_limit_s
    if seconds < most:
        more = f"--timeout {most} after `!`" if ctx.typed else f"`timeout`: {most}"
        return f"stopped after {seconds} s, its time limit; it may have up to {most} s by {more}"
    return f"stopped after {seconds} s, the most that `{SETTING}` allows; the person can raise that"
