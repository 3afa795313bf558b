"""`search_files`: finds lines that match a regular expression in the files that may be read (TOOL-06)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from pydantic import Field

from remit_governance.policy.matching.paths import MAX_GLOB_CHARS
from remit_governance.values import Effect
from remit_server.tools.search.file_search import MAX_SEARCHED_BYTES, Place, Query, Search, search_each, search_named
from remit_server.tools.search.large_trees import files_below, files_to_search
from remit_server.tools.search.line_matches import MAX_PATTERN_CHARS, as_data, parse_pattern, render_matches
from remit_server.tools.search.omissions import (
    Ignored,
    describe_cut,
    describe_ignored,
    describe_unsearched,
    find_ignored_below,
    policy_name,
    that_may_be_told,
)
from remit_server.tools.spec import Arguments, Outcome, Plan, ReadPlan, Tool, ToolContext, always
from remit_server.tools.targets import path_targets
from remit_server.workspace.trees.path_globs import parse_glob
from remit_server.workspace.trees.walk import Limits

MOST_CHARS = 24_000
# The result is redacted once more, which may make it longer.
_ROOM_CHARS = 1_500
MAX_SHOWN_PATTERN = 60
"""How many characters of the pattern a summary shows; the model knows the rest."""
_LINE_END = re.compile(r"\n|(?<!\\)(?:\\\\)*\\n")


class SearchFilesArguments(Arguments):
    """Arguments of `search_files`."""

    pattern: str = Field(min_length=1, max_length=MAX_PATTERN_CHARS, description="regular expression (RE2), per line")
    path: str = Field(default=".", max_length=4096, description="folder or file, relative to the workspace")
    file_pattern: str | None = Field(default=None, max_length=MAX_GLOB_CHARS, description="glob of files: `*.py`")
    context_lines: int = Field(default=2, ge=0, le=10, description="lines to show around each match")
    max_results: int = Field(default=50, ge=1, le=500, description="how many matches to return")


def search(ctx: ToolContext, query: Query, limits: Limits) -> Outcome:
    """Searches the file at `query.base`, or the files below it. Raises ToolError if neither exists."""
    found = Search(ctx, query, limits)
    try:
        if ctx.documents.get(query.base.relative) is not None or query.base.absolute.is_file():
            search_named(found)
        else:
            search_each(found, _files(ctx, query, limits))
    except TimeoutError:
        limits.stopped = True
    return _outcome(found)


def _files(ctx: ToolContext, query: Query, limits: Limits) -> Iterator[Place]:
    base, glob = query.base, query.glob
    found = files_to_search(ctx, base, query.pattern, MAX_SEARCHED_BYTES, limits)
    prefix = 0 if base.relative == "." else len(base.relative) + 1
    return found if glob is None else (each for each in found if glob.matches(each[0][prefix:]))


def _outcome(found: Search) -> Outcome:
    ctx, query, complete = found.ctx, found.query, not found.limits.stopped
    total = f"{found.total}{'' if complete else ' or more'}"
    pattern = query.pattern.text
    shown = pattern if len(pattern) <= MAX_SHOWN_PATTERN else f"{pattern[:MAX_SHOWN_PATTERN]}…"
    matches, files = ("match" if total == "1" else "matches"), ("file" if found.files == 1 else "files")
    below = "" if query.base.relative == "." else f" below {query.base.relative}"
    head = f"{total} {matches} for `{shown}` in {found.files} {files}{below}"
    closed = that_may_be_told(found.limits.closed, lambda path: ctx.permits("fs.read", path))
    none = not found.total and complete
    ignored = (
        find_ignored_below(ctx, query.base, query.glob, lambda path: ctx.permits("fs.read", path))
        if none
        else Ignored()
    )
    notes = [
        "" if complete else "stopped early",
        *describe_unsearched(found.left_out, closed, f"{MAX_SEARCHED_BYTES >> 20} MB"),
        *describe_cut(that_may_be_told(found.limits.cut, lambda path: ctx.permits("fs.read", path))),
        *describe_ignored(ignored),
        *(_why_none(found) if none else []),
    ]
    notes = list(filter(None, notes))
    body, fitted = render_matches(found.matches, MOST_CHARS - _ROOM_CHARS - len("; ".join([head, *notes])))
    if fitted < found.total:
        others = ", more do not fit: narrow the pattern or the path" if fitted < len(found.matches) else ""
        notes.insert(0, f"the first {fitted} are shown{others}")
    summary = "; ".join([head, *notes])
    return Outcome(
        text="\n".join([summary, *body]),
        summary=summary,
        data={
            "path": query.base.relative,
            "matches": as_data(found.matches[:fitted]),
            "total_matches": found.total,
            "files": found.files,
            "ignored": len(ignored.paths) if none else None,
            "truncated": fitted < found.total or not complete,
        },
        retried=tuple(found.limits.retries.noted),
    )


def _why_none(found: Search) -> list[str]:
    """Returns the obvious reasons why nothing matched."""
    ctx, query, limits = found.ctx, found.query, found.limits
    why: list[str] = []
    if _LINE_END.search(query.pattern.text):
        why.append("each line is searched by itself, so a line end in the pattern matches nothing")
    glob, base = query.glob, query.base
    if glob is not None and base.absolute.is_dir():
        prefix = 0 if base.relative == "." else len(base.relative) + 1
        below = files_below(ctx, base, limits, lambda path: glob.matches(path[prefix:]))
        seen = any(ctx.permits("fs.read", policy_name(path)) for path in below)
        if not seen and not limits.stopped:
            why.append(f"no file below {base.relative} matches the file_pattern `{glob.text}`{glob.hint}")
    return why


async def _prepare(arguments: SearchFilesArguments, ctx: ToolContext) -> Plan:
    query = Query(
        pattern=parse_pattern(arguments.pattern),
        base=ctx.resolve(arguments.path),
        glob=None if arguments.file_pattern is None else parse_glob(arguments.file_pattern),
        context=arguments.context_lines,
        most=arguments.max_results,
    )

    async def run() -> Outcome:
        return await Limits().look(partial(search, ctx, query))

    return ReadPlan(run)


SEARCH_FILES = Tool(
    name="search_files",
    summary="Search text files for a regular expression, leaving out what .gitignore excludes.",
    effect=Effect.READ,
    arguments=SearchFilesArguments,
    targets=path_targets("fs.read"),
    prepare=_prepare,
    only_resolves=True,
    most_chars=MOST_CHARS,
    sees_collected=always,
    drop_rank=13,
)
