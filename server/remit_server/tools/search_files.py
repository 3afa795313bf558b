"""`search_files`: lines that match a regular expression, in the files that may be read (001 §3.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import Field, JsonValue

from remit_governance.values import Effect
from remit_server.errors import ToolError
from remit_server.tools.large_trees import Sieve, files_to_search
from remit_server.tools.matching import (
    MAX_PATTERN_CHARS,
    Match,
    Pattern,
    matching_lines,
    parse_pattern,
    with_context,
)
from remit_server.tools.spec import Arguments, Outcome, Plan, ReadPlan, Target, Tool, ToolContext
from remit_server.workspace.contents import Content, Found, found_in
from remit_server.workspace.files import image_of_text, read_bytes
from remit_server.workspace.globs import MAX_GLOB_CHARS, Glob, parse_glob
from remit_server.workspace.paths import WorkspacePath
from remit_server.workspace.walk import Limits

MAX_SEARCHED_BYTES = 2 * 1024 * 1024
MAX_SHOWN_CHARS = 300
MAX_RESULT_CHARS = 100_000
_MAX_COUNTED = 10_000

# A file, and a descriptor of its folder where there is one, good until the next file is asked for.
_Place = tuple[str, int | None]


class SearchFilesArguments(Arguments):
    """Arguments of `search_files`."""

    pattern: str = Field(min_length=1, max_length=MAX_PATTERN_CHARS, description="regular expression, per line")
    path: str = Field(default=".", max_length=4096, description="folder or file, relative to the workspace")
    file_pattern: str | None = Field(default=None, max_length=MAX_GLOB_CHARS, description="glob of files: `*.py`")
    context_lines: int = Field(default=2, ge=0, le=10, description="lines to show around each match")
    max_results: int = Field(default=50, ge=1, le=500, description="how many matches to return")


@dataclass(slots=True)
class _Found:
    """What a search has come to so far."""

    matches: list[tuple[str, Match]] = field(default_factory=list[tuple[str, Match]])
    files: int = 0
    total: int = 0
    complete: bool = True


@dataclass(frozen=True)
class Query:
    """A search as parsed: what to look for, where, and how much to show."""

    pattern: Pattern
    base: WorkspacePath
    glob: Glob | None = None
    context: int = 2
    most: int = 50

    @cached_property
    def sieve(self) -> Sieve:
        """What tells that a file holds no match."""
        return Sieve(self.pattern)


def search(ctx: ToolContext, query: Query, limits: Limits) -> Outcome:
    """Search the file at `query.base`, or the files below it. Raises ToolError where there is none."""
    found = _Found()
    for place in _files(ctx, query, limits):
        try:
            _search_one(ctx, place, query, limits, found)
        except TimeoutError:
            limits.stopped = True
        if limits.spent() or found.total >= _MAX_COUNTED:
            found.complete = False
            break
    found.complete = found.complete and not limits.stopped
    return _outcome(found, query)


def _files(ctx: ToolContext, query: Query, limits: Limits) -> Iterator[_Place]:
    base, glob = query.base, query.glob
    if ctx.documents.get(base.relative) is not None or base.absolute.is_file():
        return iter([(base.relative, None)])
    found = files_to_search(ctx, base, query.sieve, MAX_SEARCHED_BYTES, limits)
    prefix = 0 if base.relative == "." else len(base.relative) + 1
    return found if glob is None else (each for each in found if glob.matches(each[0][prefix:]))


def _search_one(ctx: ToolContext, place: _Place, query: Query, limits: Limits, found: _Found) -> None:
    """Raises TimeoutError."""
    relative, sieve = place[0], query.sieve
    read = _read(ctx, place)
    # Policy is asked last, as most files hold no match; how many files it hides is not told, nor would it be told in a
    # large tree, where that number would be one of files that match.
    if read is None or sieve.rules_out(read.content.data) or not ctx.permits("fs.read", relative):
        return

    def left_s() -> float:
        return 0.0 if limits.stopped else limits.left_s

    content = read.content.decoded(relative)
    lines = content.lines
    numbers = matching_lines(lines, query.pattern, left_s, sieve.lines(content.data)) if lines else []
    if numbers:
        content = content.redacted(ctx.redact, ctx.policy_version)
        if content.shown is not None:
            # Matched again without secrets: whether a guess matches would give a secret away letter by letter.
            lines = content.shown.split("\n")
            numbers = matching_lines(lines, query.pattern, left_s)
    if read.was is not None and content is not read.content:
        ctx.workspace.contents.keep(relative, read.was, "", content)
    found.files += bool(numbers)
    found.total += len(numbers)
    room = query.most - len(found.matches)
    found.matches += [(relative, with_context(lines, n, query.context)) for n in numbers[:room]]


def _read(ctx: ToolContext, place: _Place) -> Found | None:
    """What a file holds; None of one that is too large, gone, or not to be read."""
    relative, folder = place
    try:
        if (document := ctx.documents.get(relative)) is not None:
            return Found(Content(image_of_text(document.text).data))
        if folder is not None:
            return found_in(folder, relative, MAX_SEARCHED_BYTES, ctx.workspace.contents)
        path = WorkspacePath(relative, ctx.workspace.root)
        return Found(Content(read_bytes(ctx.workspace, path, MAX_SEARCHED_BYTES)))
    except (ToolError, OSError):
        return None


def _outcome(found: _Found, query: Query) -> Outcome:
    shown = len(found.matches)
    total = f"{found.total}{'' if found.complete else ' or more'}"
    head = f"{total} matches for `{query.pattern.text}` in {found.files} files below {query.base.relative}"
    notes = [
        f"the first {shown} are shown" if shown < found.total else "",
        "" if found.complete else "stopped early",
    ]
    summary = "; ".join([head, *filter(None, notes)])
    body, cut = _rendered(found.matches)
    return Outcome(
        text="\n".join([summary, *body]),
        summary=summary,
        data={
            "path": query.base.relative,
            "matches": [_as_data(relative, match) for relative, match in found.matches[:shown]],
            "total_matches": found.total,
            "files": found.files,
            "truncated": cut or shown < found.total or not found.complete,
        },
    )


def _rendered(matches: list[tuple[str, Match]]) -> tuple[list[str], bool]:
    """As ripgrep prints them: `12:` is a match, `11-` a line beside it. The flag says that some did not fit."""
    lines: list[str] = []
    room = MAX_RESULT_CHARS
    current = ""
    for relative, match in matches:
        block = [relative] if relative != current else ["--"] if match.before or match.after else []
        current = relative
        first = match.line - len(match.before)
        block += [f"{n}-{_cut(line)}" for n, line in enumerate(match.before, first)]
        block.append(f"{match.line}:{_cut(match.content)}")
        block += [f"{n}-{_cut(line)}" for n, line in enumerate(match.after, match.line + 1)]
        room -= sum(len(line) + 1 for line in block)
        if room < 0:
            return [*lines, "… (more matches than fit; narrow the search)"], True
        lines += block
    return lines, False


def _as_data(relative: str, match: Match) -> dict[str, JsonValue]:
    return {
        "file": relative,
        "line": match.line,
        "content": _cut(match.content),
        "context_before": [_cut(line) for line in match.before],
        "context_after": [_cut(line) for line in match.after],
    }


def _cut(line: str) -> str:
    over = len(line) - MAX_SHOWN_CHARS
    return line if over <= 0 else f"{line[:MAX_SHOWN_CHARS]}… ({over} more characters)"


def _targets(arguments: SearchFilesArguments, ctx: ToolContext) -> tuple[Target, ...]:
    return (Target("fs.read", ctx.resolve(arguments.path)),)


async def _prepare(arguments: SearchFilesArguments, ctx: ToolContext) -> Plan:
    query = Query(
        pattern=parse_pattern(arguments.pattern),
        base=ctx.resolve(arguments.path),
        glob=None if arguments.file_pattern is None else parse_glob(arguments.file_pattern),
        context=arguments.context_lines,
        most=arguments.max_results,
    )

    async def run() -> Outcome:
        limits = Limits()
        try:
            return await asyncio.to_thread(search, ctx, query, limits)
        finally:
            limits.stopped = True

    return ReadPlan(run)


SEARCH_FILES = Tool(
    name="search_files",
    summary="Search text files up to 2 MB for a regular expression, leaving out what .gitignore excludes.",
    effect=Effect.READ,
    arguments=SearchFilesArguments,
    targets=_targets,
    prepare=_prepare,
    only_resolves=True,
    most_chars=24_000,
)
