"""What is defined under a name, by tree-sitter alone: nothing is known of types, scopes or imports (TOOL-07)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from remit_server.errors import ToolError
from remit_server.tools.code.index.languages import language_of
from remit_server.tools.code.index.looking import source_of, tags_of
from remit_server.tools.code.index.tags import MAX_SOURCE_BYTES
from remit_server.tools.code.index.unknown import UnknownLanguages
from remit_server.tools.code.language_server.showing import Texts, character_of
from remit_server.tools.code.language_server.wire import MAX_ITEMS, file_uri
from remit_server.tools.search.large_trees import files_to_search
from remit_server.tools.search.line_matches import parse_pattern
from remit_server.tools.spec import ToolContext
from remit_server.workspace.code import Answer, Place, Symbol
from remit_server.workspace.paths.workspace_path import UNUSABLE
from remit_server.workspace.trees.walk import Limits, walk

SOURCE = "tree-sitter"
NOTE = "found by name only: no language server was asked"
MAX_SECONDS = 10.0


def symbols_of(ctx: ToolContext, relative: str) -> Answer:
    """All that one file defines. Raises ToolError where it cannot be read or parsed."""
    language = language_of(relative)
    if language is None:
        raise ToolError(
            f"cannot list the symbols of `{relative}`", "its language is not known here", "read it with read_file"
        )
    try:
        found = tuple(_find_definitions(ctx, relative, language, lambda _: True, Limits(seconds=MAX_SECONDS)))
    except (TimeoutError, UnicodeEncodeError) as error:
        raise ToolError(f"cannot list the symbols of `{relative}`", "it cannot be parsed", "read it") from error
    return Answer(SOURCE, found, len(found), (NOTE,))


def find_symbols(ctx: ToolContext, part: str, wanted: Callable[[str], bool]) -> Answer:
    """All definitions of the workspace whose name is wanted, which holds `part`, in whatever case."""
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
            if folded in source_of(ctx, relative).casefold():  # most files are not worth being parsed
                found += _find_definitions(ctx, relative, language, wanted, limits)
        except (ToolError, UnicodeEncodeError, TimeoutError):
            continue
        if len(found) >= MAX_ITEMS or limits.spent():
            break
    early = ["stopped early, there may be more"] if limits.spent() or len(found) >= MAX_ITEMS else []
    notes = (NOTE, *early, *unknown.said())
    return Answer(SOURCE, tuple(found[:MAX_ITEMS]), len(found), notes)


def _files_with(ctx: ToolContext, part: str, limits: Limits) -> Iterator[str]:
    """Paths of a small tree's files, and of those of a large one that hold `part`."""
    base = ctx.workspace.resolve(".")
    if not part.isascii():  # its other cases may be of another length
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
