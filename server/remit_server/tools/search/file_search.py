"""The search in one file: read the file, look for the pattern, and look again without secrets (TOOL-06)."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.files.long_files import Piece, pieces_of
from remit_server.tools.search.line_matches import (
    MARKS,
    MAX_SHOWN_CHARS,
    Match,
    Pattern,
    find_match,
    matching_lines,
    with_context,
)
from remit_server.tools.search.omissions import LeftOut, by_names, policy_name
from remit_server.tools.spec import ToolContext
from remit_server.workspace.content.files import image_at, image_of_text, read_bytes
from remit_server.workspace.content.open_files import PAUSE_S, is_transient, read_in_folder
from remit_server.workspace.content.text import Text
from remit_server.workspace.paths.workspace_path import UNUSABLE, WorkspacePath
from remit_server.workspace.trees.path_globs import Glob
from remit_server.workspace.trees.walk import GONE, Limits

MAX_SEARCHED_BYTES = 2 * 1024 * 1024
"""Limit for a file that was not named itself."""

MAX_COUNTED = 10_000

# A file, and a descriptor of its folder if there is one; it is valid until the next file is requested.
Place = tuple[str, int | None]


@dataclass(frozen=True)
class Query:
    """A parsed search: what to look for, where, and how much to show."""

    pattern: Pattern
    base: WorkspacePath
    glob: Glob | None = None
    context: int = 2
    most: int = 50


@dataclass(slots=True)
class Search:
    """A running search and its results so far; `stumbled` are files to try once more."""

    ctx: ToolContext
    query: Query
    limits: Limits
    matches: list[tuple[str, Match]] = field(default_factory=list[tuple[str, Match]])
    files: int = 0
    total: int = 0
    left_out: LeftOut = field(default_factory=LeftOut)
    stumbled: list[str] = field(default_factory=list[str])

    def over(self) -> bool:
        """Returns whether the search has to end now; if so, its result is incomplete."""
        if self.total >= MAX_COUNTED:
            self.limits.stopped = True
        return self.limits.spent()

    def left_s(self) -> float:
        """Returns the seconds left."""
        return 0.0 if self.limits.stopped else self.limits.left_s

    def take(self, relative: str, lines: Sequence[str], numbers: Sequence[int], shift: int = 0) -> None:
        """Adds the lines with these numbers as matches; `shift` is the offset of the lines in the file. Raises
        TimeoutError."""
        self.files += bool(numbers) and (not self.matches or self.matches[-1][0] != relative)
        self.total += len(numbers)
        query = self.query
        for number in numbers[: query.most - len(self.matches)]:
            line = lines[number - 1]
            at = find_match(line, query.pattern, self.left_s) if len(line) > MAX_SHOWN_CHARS else 0
            match = with_context(lines, number, query.context, at)
            self.matches.append((relative, replace(match, line=number + shift) if shift else match))


def search_named(search: Search) -> None:
    """Searches the file that was named, of any length. Policy has already allowed the read.

    Raises ToolError, TimeoutError.
    """
    ctx, path = search.ctx, search.query.base
    if (document := ctx.documents.get(path.relative)) is not None:
        _search_data(search, path.relative, image_of_text(document.text).data)
        return
    fd = ctx.workspace.open_read(path)
    try:
        if os.fstat(fd).st_size <= MAX_SEARCHED_BYTES:
            _search_data(search, path.relative, image_at(fd, path).data)
            return
        for piece in pieces_of(fd, path.relative):
            if search.over():
                return
            _search_piece(search, path.relative, piece)
    except ToolError as error:
        if error.code is not ErrorCode.BINARY_FILE:
            raise
        search.left_out.binary.append(path.relative)
    finally:
        os.close(fd)


def search_each(search: Search, places: Iterable[Place]) -> None:
    """Searches the files of a tree, and tries once more those with a transient error. Raises TimeoutError."""
    for place in places:
        _search_one(search, place)
        # The cheap part of `over` comes first, because this runs for each file of the tree.
        if search.limits.spent() or (search.total >= MAX_COUNTED and search.over()):
            return
    if search.stumbled:
        search.limits.retries.noted.append(f"{len(search.stumbled)} files: {', '.join(search.stumbled)}")
        time.sleep(PAUSE_S)
        for relative in search.stumbled:
            _search_one(search, (relative, None), again=True)
            if search.over():
                break
        search.matches.sort(key=lambda match: by_names(match[0]))


def _search_one(search: Search, place: Place, *, again: bool = False) -> None:
    ctx, relative = search.ctx, place[0]
    # Ask policy last, because most files hold no match. The number of hidden files is not reported, because in a large
    # tree it would be the number of hidden files that match.
    try:
        data = _read(ctx, place)
    except (ToolError, OSError) as error:
        if is_transient(error) and not again:
            search.stumbled.append(relative)
            return
        kind = _why_not(error, search.left_out)
        if kind is not None and ctx.permits("fs.read", policy_name(relative)):
            kind.append(relative)
        return
    if data is not None:
        _search_data(search, relative, data)


def _search_piece(search: Search, relative: str, piece: Piece) -> None:
    """Redacts a piece only if it holds a match; then the matches in the redacted text count."""
    pattern, text = search.query.pattern, piece.text
    if not matching_lines(text.encode(), pattern, search.left_s):
        return
    lines, numbers = _shown_matches(search, text)
    own = piece.own
    search.take(relative, lines, [number for number in numbers if number in own], piece.first - own.start)


def _search_data(search: Search, relative: str, data: bytes) -> None:
    ctx, pattern = search.ctx, search.query.pattern
    if _lacks(data, pattern):
        return
    try:
        text = Text.decode(data, relative).content
    except ToolError:  # the file is no text
        found = matching_lines(_redact_bytes(ctx, data), pattern, search.left_s)
        if found and ctx.permits("fs.read", policy_name(relative)):
            search.left_out.binary.append(relative)
        return
    if not matching_lines(text.encode(), pattern, search.left_s) or not ctx.permits("fs.read", policy_name(relative)):
        return
    lines, numbers = _shown_matches(search, text)
    if UNUSABLE.search(relative):
        search.left_out.nameless += bool(numbers)
    elif numbers:
        search.take(relative, lines, numbers)


def _lacks(data: bytes, pattern: Pattern) -> bool:
    """Returns whether the bytes alone show that no line matches, as they do for plain ASCII in most encodings."""
    return pattern.literal is not None and pattern.literal not in data and not data.startswith(MARKS)


def _shown_matches(search: Search, text: str) -> tuple[list[str], list[int]]:
    """Returns a text's lines without secrets, and the numbers of those that match then. Otherwise a model could guess a
    secret letter by letter, by which guesses match."""
    shown = search.ctx.redact(text)
    return Text(shown).lines, matching_lines(shown.encode(), search.query.pattern, search.left_s)


def _redact_bytes(ctx: ToolContext, data: bytes) -> bytes:
    """Returns the redacted bytes of a file that is no text. Even the report that such a file may match could give a
    secret away."""
    return ctx.redact(data.decode("latin-1")).encode("latin-1", "replace")


def _read(ctx: ToolContext, place: Place) -> bytes | None:
    """Returns the content of a file, or None if it is no file. Raises ToolError, OSError."""
    relative, folder = place
    if (document := ctx.documents.get(relative)) is not None:
        return image_of_text(document.text).data
    if folder is not None:
        return read_in_folder(folder, relative, MAX_SEARCHED_BYTES)
    return read_bytes(ctx.workspace, WorkspacePath(relative, ctx.workspace.root), MAX_SEARCHED_BYTES)


def _why_not(error: ToolError | OSError, left_out: LeftOut) -> list[str] | None:
    """Returns the list for a file that could not be read, or None if the file is gone or has become something else."""
    if isinstance(error, ToolError) and error.code is ErrorCode.TOO_LARGE:
        return left_out.large
    cause = error if isinstance(error, OSError) else error.__cause__
    if not isinstance(cause, OSError) or cause.errno in GONE:
        return None
    return left_out.large if cause.errno == errno.EFBIG else left_out.unreadable
