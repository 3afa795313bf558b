"""`run_tests`: the workspace's tests by its own runner, each as a result (agent.md §2)."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from pathlib import PurePosixPath
from typing import Literal

from pydantic import Field

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandSpec
from remit_server.tools.programs import project_environment
from remit_server.tools.spec import Arguments, CommandPlan, Plan, Target, Tool, ToolContext
from remit_server.tools.testing.finding import Facts, fitting, node_tests, python_tests, written_for_pytest
from remit_server.tools.testing.report import rendered
from remit_server.tools.testing.runners import AIDS, COVERAGE_FOLDER, REPORT, RUNNERS, Ask, Runner, aid_of
from remit_server.workspace.files import read_image
from remit_server.workspace.walk import Limits, walk

MAX_REPORT_BYTES = 16_000_000
"""Of which the half at its end would be lost first: a report is whole or cannot be read."""
_MAX_TEXT_BYTES = 256 * 1024
_MAX_LOOKED_AT = 20
_MAX_FILES = 1_000
_GRACE_S = 15.0

_TEXTS = (
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "package.json",
    "requirements.txt",
    "requirements-dev.txt",
)
# The tests' own output goes to standard error, and only when they are over is the report printed, to where they could
# not print: $1 is the report, $2 a folder, $3 the coverage report, $4 what standard output is, $5 seconds, $6 a folder
# for a file of ours that the runner finds there, $7 its name and $8 what it holds.
_SCRIPT = """report=$1; folder=$2; coverage=$3; stream=$4; limit=$5
mkdir -p "$folder" "$6"
[ -z "$7" ] || printf '%s' "$8" > "$6/$7"
shift 8
if [ "$stream" = stream ]; then timeout -s INT -k 5 "$limit" "$@" > "$report"
else timeout -s INT -k 5 "$limit" "$@" >&2
fi
code=$?
[ ! -f "$report" ] || cat "$report"
printf '\\0'
[ ! -f "$coverage" ] || cat "$coverage"
exit "$code"
"""

RunnerName = Literal["pytest", "unittest", "vitest", "jest", "node", "go", "cargo"]


class RunTestsArguments(Arguments):
    """Arguments of `run_tests`."""

    path: str | None = Field(default=None, max_length=4096, description="file or folder of tests; else all")
    filter: str | None = Field(
        default=None,
        min_length=1,
        max_length=300,
        pattern=r"^[^\x00-\x1f-][^\x00-\x1f]*$",
        description="part of the tests' names",
    )
    runner: RunnerName | None = Field(default=None, description="only where the wrong one would be chosen")
    coverage: bool = Field(default=False, description="also measure which lines ran")
    timeout: int = Field(default=300, ge=1, le=1800, description="seconds until it is stopped")


def _chosen(arguments: RunTestsArguments, ctx: ToolContext) -> tuple[Runner, Ask]:
    """The runner, and what it is asked to run. Raises ToolError where none fits."""
    path = None if arguments.path is None else ctx.resolve(arguments.path)
    if path is not None and not path.absolute.exists():
        raise ToolError(f"cannot test `{path.relative}`", "there is no such file", "find it with list_files")
    is_folder = path is None or path.absolute.is_dir()
    facts = _facts(ctx)
    suffix = "" if path is None or is_folder else PurePosixPath(path.relative).suffix
    names = (arguments.runner,) if arguments.runner else fitting(facts, suffix)
    if not names:
        raise ToolError(
            "cannot run tests",
            "no runner is configured for them, and no files look like tests",
            f"name a `runner` ({', '.join(r.name for r in RUNNERS)}), or use run_command",
            code=ErrorCode.NOT_FOUND,
        )
    runner = next(each for each in RUNNERS if each.name == names[0])
    if arguments.coverage and runner.coverage is None:
        raise ToolError("cannot measure coverage", f"{runner.name} does not measure it", "leave `coverage` out")
    relative = None if path is None else path.relative
    # A leading sign would make an option of it.
    named = f"./{relative}" if relative and relative.startswith("-") else relative
    return runner, Ask(
        named, is_folder, arguments.filter, arguments.coverage, _each(runner, relative, is_folder, facts)
    )


def _each(runner: Runner, relative: str | None, is_folder: bool, facts: Facts) -> tuple[str, ...]:
    if not runner.per_file or relative is None:
        return ()
    if not is_folder:
        return (f"./{relative}",)
    below = (file for file in node_tests(facts.files) if relative == "." or file.startswith(f"{relative}/"))
    return tuple(f"./{file}" for file in below)[:_MAX_FILES]


def _facts(ctx: ToolContext) -> Facts:
    root = ctx.workspace.root
    files = tuple(walk(ctx.workspace, ctx.resolve("."), Limits()))
    tests = python_tests(files)[:_MAX_LOOKED_AT]
    return Facts(
        top=frozenset(entry.name for entry in os.scandir(root)),
        files=files,
        texts={name: _text(name, ctx) for name in _TEXTS if (root / name).is_file()},
        for_pytest=any(written_for_pytest(_text(name, ctx)) for name in tests),
    )


def _text(relative: str, ctx: ToolContext) -> str:
    with contextlib.suppress(ToolError):
        return read_image(ctx.workspace, ctx.resolve(relative), _MAX_TEXT_BYTES).data.decode(errors="replace")
    return ""


def _targets(arguments: RunTestsArguments, ctx: ToolContext) -> tuple[Target, ...]:
    # As a person would type it: who has a rule about `pytest` means this too.
    runner, ask = _chosen(arguments, ctx)
    return (Target("process.exec", command=runner.said(ask), cwd=ctx.resolve(".")),)


async def _prepare(arguments: RunTestsArguments, ctx: ToolContext) -> Plan:
    runner, ask = _chosen(arguments, ctx)
    root = ctx.workspace.root
    environment = project_environment(root, own=True)
    if shutil.which(runner.program, path=environment["PATH"]) is None:
        raise ToolError(
            f"cannot run the tests with {runner.name}",
            f"`{runner.program}` is not where a sandbox can see it: "
            "in the system's folders, a version manager's, `.venv` or `node_modules`",
            "ask the person to install it there (`remit sandbox check` names what is seen of the home)",
            code=ErrorCode.TOOL_UNAVAILABLE,
        )
    said = runner.said(ask)
    stream = "stream" if runner.streams else "file"
    aid = aid_of(runner)
    fixed = (REPORT, COVERAGE_FOLDER, runner.coverage_file, stream, str(arguments.timeout), AIDS, runner.aid, aid)
    spec = CommandSpec(
        argv=("/bin/sh", "-c", _SCRIPT, "sh", *fixed, *(runner.runs or runner.said)(ask)),
        cwd=root,
        workspace=root,
        environment={**environment, **({"REMIT_REPORT": REPORT, "PYTHONPATH": AIDS} if aid else {})},
        timeout_s=arguments.timeout + _GRACE_S,
        max_output_bytes=MAX_REPORT_BYTES,
        writes=True,
    )
    return CommandPlan(spec, shlex.join(said), lambda output: rendered(output, runner, ask, root, ctx.redact))


RUN_TESTS = Tool(
    name="run_tests",
    summary="Run the project's tests (pytest, unittest, vitest, jest, node, go, cargo) in a sandbox; failures first.",
    effect=Effect.EXECUTE,
    arguments=RunTestsArguments,
    targets=_targets,
    prepare=_prepare,
)
