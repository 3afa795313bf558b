"""`run_tests`: runs the workspace's tests with its own runner, and reports a result for each test (TOOL-08)."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandSpec
from remit_server.tools.run.command_parts import (
    MOST_S,
    choose_seconds,
    hidden_program,
    host_targets,
    own_folders,
    project_environment,
    timed_out,
    with_hosts,
)
from remit_server.tools.run.testing.report import render_report
from remit_server.tools.run.testing.runners import AIDS, COVERAGE_FILE, COVERAGE_FOLDER, texts_of_aids
from remit_server.tools.run.testing.test_request import Choice, Wanted, choose
from remit_server.tools.spec import Arguments, CommandPlan, Follows, InWorkflow, Plan, Target, Tool, ToolContext

MAX_REPORT_BYTES = 16_000_000
"""Limit for the output. Beyond it the end of the output would be lost, but a report must be whole to be read."""
_GRACE_S = 15.0

# `read_channel` reads standard output. While tests run, they can only append to it, and text that is appended without
# the key is detected. The tests' own output goes to standard error. $1 is `signed` if the report comes by its own
# channel, `keyed` if it is the runner's output with signatures in it, else `printed`. $2 is a folder and $3 a file for
# coverage, $4 the seconds, $5 a folder for our files that the runner finds there: each is a name and a text, up to
# `--`.
_SCRIPT = """how=$1; coverage=$3; limit=$4; aids=$5
mkdir -p "$2" "$aids"
shift 5
while [ "$1" != -- ]; do printf '%s' "$2" > "$aids/$1"; shift 2; done
shift
key=$(od -An -v -N32 -tx1 /dev/urandom | tr -d ' \\n')
printf '\\0'
printf '%s' "$key" | sha256sum | cut -c 1-64
if [ "$how" = signed ]; then timeout -s INT -k 5 "$limit" "$@" 8>&1 >&2 9<<END
$key
END
elif [ "$how" = keyed ]; then timeout -s INT -k 5 "$limit" "$@" 9<<END
$key
END
else timeout -s INT -k 5 "$limit" "$@"
fi
code=$?
printf '\\0%s\\0' "$key"
[ ! -f "$coverage" ] || tr -d '\\000' < "$coverage"
exit "$code"
"""

RunnerName = Literal["pytest", "unittest", "vitest", "jest", "node", "go", "cargo"]


_INSTALLED_BY: Mapping[str, str] = {
    "pytest": "python3 -m venv .venv && .venv/bin/pip install pytest",
    "vitest": "npm install --save-dev vitest",
    "jest": "npm install --save-dev jest",
}
"""Commands of a person that put a runner where a sandbox can look, by the runner's name."""

MOST_PATHS = 50
TestPath = Annotated[str, Field(max_length=4096)]


class RunTestsArguments(Arguments):
    """Arguments of `run_tests`."""

    path: TestPath | Annotated[list[TestPath], Field(max_length=MOST_PATHS)] | None = Field(
        default=None,
        description="file or folder of tests, or several; or a test's id as reported; else all",
    )
    filter: str | None = Field(
        default=None,
        min_length=1,
        max_length=300,
        pattern=r"^[^\x00-\x1f-][^\x00-\x1f]*$",
        description="part of their names",
    )
    runner: RunnerName | None = Field(default=None, description="only where the wrong one is chosen")
    coverage: bool = Field(default=False, description="measure which lines ran")
    timeout: int = Field(default=300, ge=1, le=MOST_S, description="seconds until it is stopped")


def _choose(arguments: RunTestsArguments, ctx: ToolContext) -> Choice:
    paths = [arguments.path] if isinstance(arguments.path, str) else arguments.path or []
    first, *more = dict.fromkeys(paths) or [None]
    return choose(Wanted(first, arguments.filter, arguments.runner, arguments.coverage, tuple(filter(None, more))), ctx)


def _targets(arguments: RunTestsArguments, ctx: ToolContext) -> tuple[Target, ...]:
    # `command` is as a person would type it, so that a rule about `pytest` matches it. `also` are other ways to type
    # it, and the command that is really started, so that a rule that denies one of them matches too.
    choose_seconds(arguments, arguments.timeout, ctx)
    choice = _choose(arguments, ctx)
    runner, said = choice.runner, choice.runner.said(choice.ask)
    others = ((*runner.through, *said), *((runner.runs(choice.ask),) if runner.runs else ()))
    also = tuple(argv for argv in others if argv != said)
    runs = Target("process.exec", command=said, also=also, cwd=ctx.resolve(choice.folder))
    return (runs, *host_targets(ctx.test_hosts))


async def _prepare(arguments: RunTestsArguments, ctx: ToolContext) -> Plan:
    choice = _choose(arguments, ctx)
    runner, ask, root = choice.runner, choice.ask, ctx.workspace.root
    environment = _environment(choice, root)
    if shutil.which(runner.program, path=environment["PATH"]) is None:
        places = "in the system's folders, a version manager's, `.venv` or `node_modules`"
        by = _INSTALLED_BY.get(runner.name)
        there = f"in the project, with `{by}`" if by else "there"
        install = f"the person can install it {there}; `remit sandbox check` names what it sees of the home folder"
        renew = "the person can recreate the virtual environment with a Python of the system or of a version manager"
        hidden = hidden_program(root, runner.program)
        raise ToolError(
            f"cannot run the tests with {runner.name}",
            hidden or f"`{runner.program}` was not found where a sandbox can look: {places}",
            renew if hidden else install,
            code=ErrorCode.TOOL_UNAVAILABLE,
        )
    seconds = choose_seconds(arguments, arguments.timeout, ctx)
    how = "printed" if not runner.aids else "keyed" if runner.vouch else "signed"
    fixed = (how, COVERAGE_FOLDER, COVERAGE_FILE, str(seconds), AIDS, *texts_of_aids(runner), "--")
    spec = CommandSpec(
        argv=("/bin/sh", "-c", _SCRIPT, "sh", *fixed, *(runner.runs or runner.said)(ask)),
        cwd=root / choice.folder,
        workspace=root,
        environment=environment,
        timeout_s=seconds + _GRACE_S,
        max_output_bytes=MAX_REPORT_BYTES,
        writes=True,
    )
    display = shlex.join(runner.said(ask))
    here = root / choice.folder
    offline = not ctx.test_hosts
    too_long = timed_out(seconds, ctx)
    return CommandPlan(
        with_hosts(spec, ctx.test_hosts),
        display,
        lambda output: render_report(
            output, choice, here, ctx.redact, ctx.is_locked, too_long=too_long, offline=offline
        ),
        streams=True,
        keeps_folders=False,
    )


def _environment(choice: Choice, root: Path) -> dict[str, str]:
    """Returns the environment for a run. The project's own programs come first on PATH, those of the runner's folder
    before those of folders above."""
    environment = project_environment(root, own=True)
    folders = [root / choice.folder, *(root / above for above in PurePosixPath(choice.folder).parents)]
    own = [str(program) for folder in folders if folder != root for program in own_folders(folder)]
    aid = {"REMIT_REPORT": "signed", "PYTHONPATH": AIDS} if choice.runner.aids else {}
    aid |= {"REMIT_LOOK_HERE": "last"} if choice.ask.as_module else {}
    return {**environment, **aid, "PATH": ":".join([*dict.fromkeys(own), environment["PATH"]])}


RUN_TESTS = Tool(
    name="run_tests",
    summary="Run the project's tests in a sandbox; failures first.",
    effect=Effect.EXECUTE,
    arguments=RunTestsArguments,
    targets=_targets,
    prepare=_prepare,
    drop_rank=11,
    workflow=InWorkflow(Follows.TESTS),
)
