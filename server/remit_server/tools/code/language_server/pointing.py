"""Where a call points to: a line, and a name or a column on it (TOOL-07)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import Field

from remit_server.errors import ToolError
from remit_server.tools.code.language_server.showing import Texts, character_of
from remit_server.tools.files.read_source import read_source
from remit_server.tools.spec import Arguments, ToolContext
from remit_server.workspace.code import CodeQuery, QueryKind

_WORD = re.compile(r"\w+")


class PlaceArguments(Arguments):
    """A place in a file."""

    path: str = Field(max_length=4096, description="file, relative to the workspace")
    line: int = Field(ge=1, le=10_000_000, description="line number, from 1")
    symbol: str | None = Field(default=None, min_length=1, max_length=200, description="the name on that line")
    column: int | None = Field(default=None, ge=1, le=1_000_000, description="instead of `symbol`: column, from 1")


@dataclass(frozen=True, slots=True)
class Pointed:
    """The question about a place, and the name that stands there, if one does."""

    query: CodeQuery
    name: str

    @property
    def about(self) -> str:
        """The place in words."""
        at = f"{self.query.path}:{self.query.line + 1}"
        return f"of `{self.name}` at {at}" if self.name else f"at {at}"


def parse_position(kind: QueryKind, arguments: PlaceArguments, ctx: ToolContext) -> Pointed:
    """What the arguments point to. Raises ToolError where there is nothing."""
    path = ctx.resolve(arguments.path)
    read_source(path, ctx)
    texts = Texts(ctx)
    lines, redacted = texts.lines(path.relative), texts.redacted(path.relative)
    if arguments.line > len(lines):
        raise ToolError(
            f"there is no line {arguments.line} in `{path.relative}`", f"it has {len(lines)} lines", "read it again"
        )
    number = arguments.line - 1
    # Looked for where secrets are out: whether a guess is there would give one away.
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
                "the name has to stand there as a word of its own",
                "find the line with search_files",
            )
        return found[0], arguments.symbol
    if arguments.column is None:
        raise ToolError("no place is named", "a line alone is not one", "name a `symbol` on it, or a `column`")
    index = min(arguments.column - 1, len(line))
    word = next((m for m in _WORD.finditer(line) if m.start() <= index <= m.end()), None)
    return (index, "") if word is None else (max(index, word.start()), word[0])


def _whole(name: str, line: str) -> list[int]:
    """Where `name` stands in the line, not as part of a longer one."""
    return [found.start() for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", line)]
