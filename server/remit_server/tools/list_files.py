"""`list_files`: files that match a glob, in a stable order, without what the project ignores (001 §3.4)."""

from __future__ import annotations

import asyncio

from pydantic import Field

from remit_governance.values import Effect
from remit_server.tools.large_trees import files_below
from remit_server.tools.spec import Arguments, Outcome, Plan, ReadPlan, Target, Tool, ToolContext
from remit_server.workspace.globs import MAX_GLOB_CHARS, Glob, parse_glob
from remit_server.workspace.paths import WorkspacePath
from remit_server.workspace.walk import Limits


class ListFilesArguments(Arguments):
    """Arguments of `list_files`."""

    pattern: str = Field(max_length=MAX_GLOB_CHARS, description="glob: `*.py` at any depth, `src/*.ts`, `**/tests/**`")
    path: str = Field(default=".", max_length=4096, description="folder to start from, relative to the workspace")
    max_results: int = Field(default=100, ge=1, le=1_000, description="how many files to return")


def list_matching(ctx: ToolContext, base: WorkspacePath, glob: Glob, most: int, limits: Limits) -> Outcome:
    """The files below `base` that match, up to `most` of them. Raises ToolError where it is no folder."""
    prefix = 0 if base.relative == "." else len(base.relative) + 1
    shown: list[str] = []
    total = 0
    for relative in files_below(ctx, base, limits):
        if glob.matches(relative[prefix:]) and ctx.permits("fs.list", relative):
            total += 1
            if len(shown) < most:
                shown.append(relative)
    complete = not limits.stopped
    counted = f"{total} files" if len(shown) == total else f"first {len(shown)} of {total} files"
    if total == 1:
        counted = "1 file"
    ending = "" if complete else "; stopped early, there may be more"
    return Outcome(
        text="\n".join([f"{counted} match `{glob.text}` in {base.relative}{ending}", *shown]),
        summary=f"{counted} match `{glob.text}`{ending}",
        data={
            "path": base.relative,
            "files": list(shown),
            "total_matches": total,
            "truncated": len(shown) < total or not complete,
        },
    )


def _targets(arguments: ListFilesArguments, ctx: ToolContext) -> tuple[Target, ...]:
    return (Target("fs.list", ctx.resolve(arguments.path)),)


async def _prepare(arguments: ListFilesArguments, ctx: ToolContext) -> Plan:
    base = ctx.resolve(arguments.path)
    glob = parse_glob(arguments.pattern)

    async def run() -> Outcome:
        limits = Limits()
        try:
            return await asyncio.to_thread(list_matching, ctx, base, glob, arguments.max_results, limits)
        finally:
            limits.stopped = True

    return ReadPlan(run)


LIST_FILES = Tool(
    name="list_files",
    summary="List files that match a glob, leaving out what .gitignore excludes.",
    effect=Effect.READ,
    arguments=ListFilesArguments,
    targets=_targets,
    prepare=_prepare,
    only_resolves=True,
)
