"""`list_files`: lists files that match a glob, in a stable order, without ignored files (TOOL-03)."""

from __future__ import annotations

from functools import partial
from itertools import accumulate, takewhile

from pydantic import Field

from remit_governance.policy.matching.paths import MAX_GLOB_CHARS
from remit_governance.values import Effect
from remit_server.tools.search.large_trees import files_below
from remit_server.tools.search.omissions import (
    Ignored,
    describe_cut,
    describe_ignored,
    describe_unlisted,
    find_ignored_below,
    policy_name,
    that_may_be_told,
)
from remit_server.tools.spec import Arguments, Outcome, Plan, ReadPlan, Tool, ToolContext, always
from remit_server.tools.targets import path_targets
from remit_server.workspace.paths.workspace_path import UNUSABLE, WorkspacePath
from remit_server.workspace.trees.path_globs import Glob, parse_glob
from remit_server.workspace.trees.walk import Limits

MOST_CHARS = 16_000
MAX_COUNTED = 10_000
# The result is redacted once more, which may make it longer.
_ROOM_CHARS = 1_000


class ListFilesArguments(Arguments):
    """Arguments of `list_files`."""

    pattern: str = Field(max_length=MAX_GLOB_CHARS, description="glob: `*.py` at any depth, `src/*.ts`, `**/tests/**`")
    path: str = Field(default=".", max_length=4096, description="folder to start from, relative to the workspace")
    max_results: int = Field(default=100, ge=1, le=1_000, description="how many files to return")


def list_matching(ctx: ToolContext, base: WorkspacePath, glob: Glob, most: int, limits: Limits) -> Outcome:
    """Returns up to `most` files below `base` that match. Raises ToolError if `base` is no folder."""
    prefix = 0 if base.relative == "." else len(base.relative) + 1
    shown: list[str] = []
    total = without_name = 0
    counted_all = True
    for relative in files_below(ctx, base, limits, lambda path: glob.matches(path[prefix:])):
        if ctx.permits("fs.list", policy_name(relative)):
            if UNUSABLE.search(relative):
                without_name += 1
                continue
            if not (counted_all := total < MAX_COUNTED):
                break
            total += 1
            if len(shown) < most:
                shown.append(relative)
    complete = not limits.stopped
    closed = that_may_be_told(limits.closed, lambda path: ctx.permits("fs.list", path))
    none = not total and complete
    ignored = find_ignored_below(ctx, base, glob, lambda path: ctx.permits("fs.list", path)) if none else Ignored()
    notes = [
        "" if complete else "stopped early, there may be more",
        *describe_unlisted(closed, without_name),
        *describe_cut(that_may_be_told(limits.cut, lambda path: ctx.permits("fs.list", path))),
        *describe_ignored(ignored),
        glob.hint.removeprefix(", ") if not total else "",
    ]
    about = "; ".join([f" match `{glob.text}` in {base.relative}", *filter(None, notes)])
    shown = _fitting(shown, MOST_CHARS - _ROOM_CHARS - len(about))
    most_of = f"{'' if counted_all else 'more than '}{total}"
    counted = f"{total} files" if len(shown) == total else f"first {len(shown)} of {most_of} files"
    if total == 1:
        counted = "1 file"
    if len(shown) < total:
        about += "; narrow the pattern or the path to see others"
    return Outcome(
        text="\n".join([counted + about, *shown]),
        summary=counted + about,
        data={
            "path": base.relative,
            "files": list(shown),
            "total_matches": total,
            "ignored": len(ignored.paths) if none else None,
            "truncated": len(shown) < total or not complete,
        },
        retried=tuple(limits.retries.noted),
    )


def _fitting(paths: list[str], room: int) -> list[str]:
    """Returns the first paths, as many as fit."""
    fitting = takewhile(lambda end: end <= room, accumulate(len(path) + 1 for path in paths))
    return paths[: len(list(fitting))]


async def _prepare(arguments: ListFilesArguments, ctx: ToolContext) -> Plan:
    base = ctx.resolve(arguments.path)
    glob = parse_glob(arguments.pattern)

    async def run() -> Outcome:
        return await Limits().look(partial(list_matching, ctx, base, glob, arguments.max_results))

    return ReadPlan(run)


LIST_FILES = Tool(
    name="list_files",
    summary="List files that match a glob, leaving out what .gitignore excludes.",
    effect=Effect.READ,
    arguments=ListFilesArguments,
    targets=path_targets("fs.list"),
    prepare=_prepare,
    only_resolves=True,
    most_chars=MOST_CHARS,
    sees_collected=always,
    drop_rank=12,
)
