"""How long a command may take: as long as was asked for, within what the person allows; and the failure of one that
was stopped (BOX-04).
"""

from __future__ import annotations

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput
from remit_server.tools.spec import Arguments, ToolContext

MOST_S = 3600
SETTING = "limits.command_timeout_s"
WAS_STOPPED = "the command was stopped"


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


def timed_out(seconds: int, ctx: ToolContext) -> ToolError:
    """Returns the failure of a command that was stopped after its `seconds`, with how it gets more."""
    most, why = ctx.command_limit_s, f"it took {seconds} s, its time limit"
    if seconds >= most:
        why = f"it took {seconds} s, the most that `{SETTING}` allows"
        fix = f"do less at once; {'you' if ctx.typed else 'the person'} can raise `{SETTING}`"
    elif ctx.typed:
        fix = f"begin with `!--timeout {most}`, the most that it may have, or do less at once"
    else:
        fix = f"call it with `timeout`: {most}, the most that it may have, or do less at once"
    return ToolError(WAS_STOPPED, why, fix, code=ErrorCode.TIMED_OUT)


def failure_of(output: CommandOutput, too_long: ToolError) -> ToolError | None:
    """Returns why a command failed that Remit stopped: `too_long` where its time was over; None where it ended by
    itself.
    """
    if output.timed_out:
        return too_long
    if output.stopped is None:
        return None
    why = f"it reached a limit of the sandbox: {output.stopped}"
    return ToolError(WAS_STOPPED, why, "do less at once, or let it print and keep less", code=ErrorCode.STOPPED)
