"""`run_command`: a shell command in the sandbox, whose changes are merged as policy allows (BOX-05).

Also chooses the shell that runs a command line, and refuses a line that the shell does not understand (CMD-07).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from remit_governance.hosts import Endpoint, parse_endpoint
from remit_governance.policy.matching.command_match import command_words
from remit_governance.policy.shell.bash_words import bash_words
from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput, CommandSpec
from remit_server.sandbox.visible.environment import command_environment
from remit_server.tools.run.command_parts import (
    MOST_S,
    choose_seconds,
    failure_of,
    host_targets,
    lacked_network,
    timed_out,
    way_on,
    with_hosts,
    without_colours,
)
from remit_server.tools.spec import Arguments, CommandPlan, Outcome, Plan, Target, Tool, ToolContext

MAX_SHOWN_CHARS = 20_000
MAX_HOSTS = 16


class RunCommandArguments(Arguments):
    """Arguments of `run_command`."""

    command: str = Field(min_length=1, max_length=20_000, description="command line, for bash if there is one")
    working_dir: str = Field(default=".", max_length=4096, description="folder, relative to the workspace")
    network: list[Annotated[str, Field(max_length=300)]] = Field(
        default=[], max_length=MAX_HOSTS, description="https hosts it needs, each host or host:port"
    )
    timeout: int = Field(default=60, ge=1, le=MOST_S, description="seconds until it is stopped")
    near: str = Field(default="", max_length=20, description="process whose ports it needs")


def _targets(arguments: RunCommandArguments, ctx: ToolContext) -> tuple[Target, ...]:
    folder = ctx.resolve(arguments.working_dir)
    command = check_command(arguments.command)
    shell_argv(command)
    choose_seconds(arguments, arguments.timeout, ctx)
    runs = Target("process.exec", command=command_words(command), script=command, cwd=folder)
    return (runs, *host_targets(_endpoints(arguments.network)))


async def _prepare(arguments: RunCommandArguments, ctx: ToolContext) -> Plan:
    command = check_command(arguments.command)
    folder = ctx.resolve(arguments.working_dir)
    os.close(ctx.workspace.open_folder(folder))
    endpoints = _endpoints(arguments.network)
    seconds = choose_seconds(arguments, arguments.timeout, ctx)
    spec = CommandSpec(
        argv=shell_argv(command),
        cwd=folder.absolute,
        workspace=ctx.workspace.root,
        environment=command_environment(os.environ),
        timeout_s=float(seconds),
        writes=True,
        near=await ctx.processes.near(arguments.near) if arguments.near else None,
    )

    def render(output: CommandOutput) -> Outcome:
        shown = render_output(output, timed_out(seconds, ctx), ctx.redact, offline=not endpoints)
        said = output.stderr.decode(errors="replace")
        own = way_on(said, ctx.workspace.root, folder.absolute) if output.exit_code else None
        return shown if own is None else replace(shown, text=f"{own}\n{shown.text}", summary=f"{shown.summary}; {own}")

    reaches = "it reaches hosts" if endpoints else "it reaches ports of another process" if arguments.near else ""
    return CommandPlan(with_hosts(spec, endpoints), display=command, render=render, streams=True, stays=reaches)


def _endpoints(hosts: Iterable[str]) -> tuple[Endpoint, ...]:
    """Returns each host once, in its canonical form. Raises ToolError for a text that is no host."""
    found: dict[Endpoint, None] = {}
    for host in hosts:
        try:
            found[parse_endpoint(host)] = None
        except ValueError as error:
            raise ToolError(
                f"cannot run the command with network to {host!r}",
                str(error),
                "name each host exactly, such as `pypi.org` or `example.org:8443`",
                code=ErrorCode.INVALID_ARGUMENTS,
            ) from error
    return tuple(found)


OFFLINE = "the sandbox has no network: name each host in `network` (after `!`: `--host HOST`), as your policy allows"


def render_output(
    output: CommandOutput, too_long: ToolError, redact: Callable[[str], str], *, offline: bool = False
) -> Outcome:
    """Returns the outcome for a model: how the command ended, the head and tail of its output, and how much is left
    out.

    `too_long` is the failure of a command that exceeded its time limit. If the command was `offline` and failed because
    of that, the outcome says so.
    """
    failure = failure_of(output, too_long)
    ending = str(failure) if failure else f"exit code {output.exit_code}"
    printed = (output.stdout + output.stderr).decode(errors="replace")
    if offline and output.exit_code and lacked_network(printed):
        ending += f"; {OFFLINE}"
    parts = [] if failure else [ending]
    for name, data in (("stdout", output.stdout), ("stderr", output.stderr)):
        if data:
            said = redact(without_colours(data.decode(errors="replace")))
            parts.append(f"{name}:\n{head_and_tail(said, MAX_SHOWN_CHARS)}")
    return Outcome(
        text="\n".join(parts),
        summary=ending,
        data={
            "exit_code": output.exit_code,
            "timed_out": output.timed_out,
            "truncated": output.truncated or max(len(output.stdout), len(output.stderr)) > MAX_SHOWN_CHARS,
        },
        exit_code=output.exit_code,
        failure=failure,
    )


def head_and_tail(text: str, most: int) -> str:
    """Returns `text`, or its first and last whole lines if it is longer than `most` characters."""
    text = text.rstrip("\n")
    if len(text) <= most:
        return text
    head, tail = text[: most // 2], text[-(most // 2) :]
    # Cut at line ends if there are any, because half a line may read as something else.
    head = head[: head.rfind("\n") + 1] or head + "\n"
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail else tail
    return f"{head}[… {len(text) - len(head) - len(tail)} characters left out …]\n{tail}"


def check_command(command: str) -> str:
    """Returns the command unchanged. Raises ToolError if it is blank or cannot be passed to a program."""
    try:
        usable = "\0" not in command and bool(command.strip()) and bool(command.encode())
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise ToolError(
            f"cannot run the command {command!r}",
            "it is empty or holds characters that no command can have",
            "give a plain shell command",
            code=ErrorCode.INVALID_ARGUMENTS,
        )
    return command


RUN_COMMAND = Tool(
    name="run_command",
    summary=(
        "Run a shell command in a sandbox: no network but the hosts it lists. "
        "What it changes is reviewed before it counts."
    ),
    effect=Effect.EXECUTE,
    arguments=RunCommandArguments,
    targets=_targets,
    prepare=_prepare,
    most_chars=24_000,
    drop_rank=14,
)


_SYSTEM = "/usr/local/bin:/usr/bin:/bin"
_SH = "/bin/sh"


# Only a process inside the person's own image can tell whether it has bash. $1 is the command line, $2 names the words.
_BY_BASH_INSIDE = (
    'command -v bash >/dev/null 2>&1 && exec bash -c "$1"; '
    'echo "not run: the image of REMIT_SANDBOX_IMAGE has no bash, and $2 may mean something else to sh; '
    'write it for sh, as POSIX has it" >&2; exit 127'
)


def shell_argv(command: str, environ: Mapping[str, str] = os.environ, path: str = _SYSTEM) -> tuple[str, ...]:
    """Returns the words that run the command line: by the system's `bash`, which every sandbox shows, or by `sh` if
    there is none.

    What the person's own image has is not known here. In such an image a line with words for bash runs by the bash
    inside, or not at all, and any other line runs by `sh`. Raises ToolError (`invalid_arguments`) if `sh` would run a
    line that is written for bash, because `sh` could do something else without an error.
    """
    image = environ.get("REMIT_SANDBOX_IMAGE", "").strip()
    bash = None if image else shutil.which("bash", path=path)
    named = "" if bash else ", ".join(f"`{word}`" for word in bash_words(command))
    if named and image:
        return (_SH, "-c", _BY_BASH_INSIDE, "sh", command, named)
    if named:
        raise ToolError(
            "cannot run the command",
            f"it would run in `sh`, because there is no bash here, and {named} may mean something else to `sh`",
            "write it for POSIX `sh`",
            code=ErrorCode.INVALID_ARGUMENTS,
        )
    return (bash or _SH, "-c", command)
