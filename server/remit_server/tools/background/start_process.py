"""`start_process`: starts a server or a watcher that runs beside the session, in its own sandbox (BG-01)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field

from remit_governance.policy.matching.command_match import command_words
from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.environment import command_environment
from remit_server.tools.background.read_process import render_new
from remit_server.tools.background.seen import Awaited, NewOutput
from remit_server.tools.run.run_command import RUN_COMMAND, check_command, shell_argv
from remit_server.tools.spec import Arguments, Outcome, Plan, StartPlan, Target, Tool, ToolContext

LIFE_S = 12 * 3600.0
"""How many seconds a process may run."""
MOST_SCRATCH = 8
_READY_S = 30.0
"""How many seconds to wait until the process is ready. Afterwards it keeps running and can be read."""
_SETTLES_S = 1.0
"""How many seconds to wait for a process that fails right at its start."""
_UNBUFFERED = {"PYTHONUNBUFFERED": "1"}
"""Turns off Python's output buffer, because the output is read while the process runs."""


class StartProcessArguments(Arguments):
    """Arguments of `start_process`."""

    command: str = Field(min_length=1, max_length=20_000)
    scratch: list[Annotated[str, Field(min_length=1, max_length=4096)]] = Field(
        default=[], max_length=MOST_SCRATCH, description="folders it may write to, thrown away"
    )
    until: str = Field(default="", max_length=200, description="wait until it prints this")
    port: int = Field(default=0, ge=0, le=65_535, description="or listens here")


def _targets(arguments: StartProcessArguments, ctx: ToolContext) -> tuple[Target, ...]:
    command = check_command(arguments.command)
    folder = ctx.resolve(".")
    shell_argv(command)
    return (Target("process.exec", command=command_words(command), script=command, cwd=folder),)


async def _prepare(arguments: StartProcessArguments, ctx: ToolContext) -> Plan:
    command = check_command(arguments.command)
    spec = CommandSpec(
        argv=shell_argv(command),
        cwd=ctx.workspace.root,
        workspace=ctx.workspace.root,
        environment={**command_environment(os.environ), **_UNBUFFERED},
        timeout_s=LIFE_S,
        scratch=tuple(dict.fromkeys(_scratch(path, ctx) for path in arguments.scratch)),
        background=True,
    )
    asked = bool(arguments.until or arguments.port)
    awaited = Awaited(arguments.until, arguments.port, _READY_S if asked else _SETTLES_S)

    def render(new: NewOutput) -> Outcome:
        return _render(new, awaited if asked else None)

    return StartPlan(spec, display=command, awaited=awaited, render=render)


def _scratch(path: str, ctx: ToolContext) -> Path:
    """Returns a folder that the process may write to. Raises ToolError if the folder does not exist."""
    folder = ctx.resolve(path)
    os.close(ctx.workspace.open_folder(folder))
    return folder.absolute


def _render(new: NewOutput, awaited: Awaited | None) -> Outcome:
    """Returns how the process began: a failure if it has already ended."""
    ended, name = new.process.ending, new.process.id
    outcome = render_new(new)
    if ended is not None:
        fix = "read its output, correct the cause, and start it again"
        failure = ToolError(f"{name} has already ended", ended.how, fix, code=ErrorCode.COMMAND_FAILED)
        return Outcome(outcome.text, str(failure), outcome.data, ended.exit_code, failure)
    if awaited is None:
        return outcome
    how = "it is ready" if new.met else f"it was not ready within {awaited.within_s:g} s; it goes on"
    return Outcome(f"{how}\n{outcome.text}", f"{name}: {how}", {**outcome.data, "ready": new.met})


START_PROCESS = Tool(
    name="start_process",
    summary=("Start a server or watcher that goes on; it changes no file. run_command reaches it by `near`."),
    effect=Effect.EXECUTE,
    arguments=StartProcessArguments,
    targets=_targets,
    prepare=_prepare,
    drop_rank=0,
    judged_as=RUN_COMMAND.name,
)
