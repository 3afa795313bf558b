"""Finds the place that a call names: a line, and a name or a column on it (TOOL-07).

Also finds definitions by name with tree-sitter alone, which knows nothing about types, scopes or imports (TOOL-07).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import Field

from remit_server.errors import ToolError
from remit_server.tools.code.index.languages import UnknownLanguages, language_of
from remit_server.tools.code.index.tags import MAX_SOURCE_BYTES, source_of, tags_of
from remit_server.tools.code.language_server.showing import Texts, character_of
from remit_server.tools.code.language_server.wire import MAX_ITEMS, file_uri
from remit_server.tools.files.read_source import read_source
from remit_server.tools.search.large_trees import files_to_search
from remit_server.tools.search.line_matches import parse_pattern
from remit_server.tools.spec import Arguments, ToolContext
from remit_server.workspace.code import Answer, CodeQuery, Place, QueryKind, Symbol
from remit_server.workspace.paths.workspace_path import UNUSABLE
from remit_server.workspace.trees.walk import Limits, walk

_WORD = re.compile(r"\w+")


class PlaceArguments(Arguments):
    """A place in a file."""

    path: str = Field(max_length=4096, description="file")
    line: int = Field(ge=1, le=10_000_000, description="from 1")
    symbol: str | None = Field(default=None, min_length=1, max_length=200, description="the name on that line")
    column: int | None = Field(default=None, ge=1, le=1_000_000, description="or its column, from 1")


@dataclass(frozen=True, slots=True)
class Pointed:
    """The question about a place, and the name at the place, if there is one."""

    query: CodeQuery
    name: str

    @property
    def about(self) -> str:
        """The place in words, for people."""
        at = f"{self.query.path}:{self.query.line + 1}"
        return f"of `{self.name}` at {at}" if self.name else f"at {at}"


def parse_position(kind: QueryKind, arguments: PlaceArguments, ctx: ToolContext) -> Pointed:
    """Returns the place that the arguments name. Raises ToolError if there is no such place."""
    path = ctx.resolve(arguments.path)
    read_source(path, ctx)
    texts = Texts(ctx)
    lines, redacted = texts.lines(path.relative), texts.redacted(path.relative)
    if arguments.line > len(lines):
        raise ToolError(
            f"there is no line {arguments.line} in `{path.relative}`", f"it has {len(lines)} lines", "read it again"
        )
    number = arguments.line - 1
    # Look in the redacted line, because otherwise a guess that is found would give a secret away.
    index, name = _index(redacted[number], arguments, path.relative)
    if name and (raw := _whole(name, lines[number])):
        index = min(raw, key=lambda at: abs(at - index))
    return Pointed(CodeQuery(kind, path.relative, number, character_of(lines[number], index)), name)


def _index(line: str, arguments: PlaceArguments, relative: str) -> tuple[int, str]:
    if arguments.symbol is not None:
        found = _whole(arguments.symbol, line)
        if not found:
            raise ToolError(
                f"`{arguments.symbol}` is not on line {arguments.line} of `{relative}`",
                "the name has to be a whole word there",
                "find the line with search_files",
            )
        return found[0], arguments.symbol
    if arguments.column is None:
        raise ToolError("no place is named", "a line alone is not enough", "name a `symbol` on it, or a `column`")
    index = min(arguments.column - 1, len(line))
    word = next((m for m in _WORD.finditer(line) if m.start() <= index <= m.end()), None)
    return (index, "") if word is None else (max(index, word.start()), word[0])


def _whole(name: str, line: str) -> list[int]:
    """Returns the indexes in the line at which `name` is a whole word."""
    return [found.start() for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", line)]


SOURCE = "tree-sitter"
NOTE = "found by name only: no language server was asked"
MAX_SECONDS = 10.0


def symbols_of(ctx: ToolContext, relative: str) -> Answer:
    """Returns all definitions in one file. Raises ToolError if the file cannot be read or parsed."""
    language = language_of(relative)
    if language is None:
        raise ToolError(
            f"cannot list the symbols of `{relative}`", "Remit does not know its language", "read it with read_file"
        )
    try:
        found = tuple(_find_definitions(ctx, relative, language, lambda _: True, Limits(seconds=MAX_SECONDS)))
    except (TimeoutError, UnicodeEncodeError) as error:
        raise ToolError(f"cannot list the symbols of `{relative}`", "it cannot be parsed", "read it") from error
    return Answer(SOURCE, found, len(found), (NOTE,))


def find_symbols(ctx: ToolContext, part: str, wanted: Callable[[str], bool]) -> Answer:
    """Returns all definitions in the workspace whose name is `wanted`. Such a name contains `part`, in any case."""
    limits = Limits(seconds=MAX_SECONDS)
    found: list[Symbol] = []
    unknown, folded = UnknownLanguages(), part.casefold()
    for relative in _files_with(ctx, part, limits):
        language = language_of(relative)
        if language is None:
            unknown.count(relative, ctx.permits)
            continue
        if not ctx.permits("fs.read", relative):
            continue
        try:
            if folded in source_of(ctx, relative).casefold():  # skip most files without parsing them
                found += _find_definitions(ctx, relative, language, wanted, limits)
        except (ToolError, UnicodeEncodeError, TimeoutError):
            continue
        if len(found) >= MAX_ITEMS or limits.spent():
            break
    early = ["stopped early, there may be more"] if limits.spent() or len(found) >= MAX_ITEMS else []
    notes = (NOTE, *early, *unknown.said())
    return Answer(SOURCE, tuple(found[:MAX_ITEMS]), len(found), notes)


def _files_with(ctx: ToolContext, part: str, limits: Limits) -> Iterator[str]:
    """Yields all files of a small tree, or the files of a large one that hold `part`."""
    base = ctx.workspace.resolve(".")
    if not part.isascii():  # in another case it may have another length
        yield from walk(ctx.workspace, base, limits)
        return
    for relative, _ in files_to_search(ctx, base, parse_pattern(f"(?i){re.escape(part)}"), MAX_SOURCE_BYTES, limits):
        if UNUSABLE.search(relative) is None:
            yield relative


def _find_definitions(
    ctx: ToolContext, relative: str, language: str, wanted: Callable[[str], bool], limits: Limits
) -> Iterator[Symbol]:
    texts = Texts(ctx)
    for each in tags_of(ctx, relative, language, limits).definitions:
        if wanted(each.name):
            lines = texts.lines(relative)
            line = lines[each.line - 1] if each.line <= len(lines) else ""
            character = character_of(line, max(line.find(each.name), 0))
            yield Symbol(Place(file_uri(f"{ctx.workspace.root}/{relative}"), each.line - 1, character), each.name)
