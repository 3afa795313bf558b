"""What a search does with each file: read it, look for the pattern, look again without secrets (TOOL-06)."""

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
"""Of a file that was not named itself."""

MAX_COUNTED = 10_000

# A file, and a descriptor of its folder where there is one, good until the next file is asked for.
Place = tuple[str, int | None]


@dataclass(frozen=True)
class Query:
    """A search as parsed: what to look for, where, and how much to show."""

    pattern: Pattern
    base: WorkspacePath
    glob: Glob | None = None
    context: int = 2
    most: int = 50


@dataclass(slots=True)
class Search:
    """A search on its way, and what it has come to so far; `stumbled` are files to be tried once more."""

    ctx: ToolContext
    query: Query
    limits: Limits
    matches: list[tuple[str, Match]] = field(default_factory=list[tuple[str, Match]])
    files: int = 0
    total: int = 0
    left_out: LeftOut = field(default_factory=LeftOut)
    stumbled: list[str] = field(default_factory=list[str])

    def over(self) -> bool:
        """Returns whether it has to end now; then it is not complete."""
        if self.total >= MAX_COUNTED:
            self.limits.stopped = True
        return self.limits.spent()

    def left_s(self) -> float:
        """Returns seconds left."""
        return 0.0 if self.limits.stopped else self.limits.left_s

    def take(self, relative: str, lines: Sequence[str], numbers: Sequence[int], shift: int = 0) -> None:
        """Takes those of a file's lines that match; they are `shift` lines further on in it. Raises TimeoutError."""
        self.files += bool(numbers) and (not self.matches or self.matches[-1][0] != relative)
        self.total += len(numbers)
        query = self.query
        for number in numbers[: query.most - len(self.matches)]:
            line = lines[number - 1]
            at = find_match(line, query.pattern, self.left_s) if len(line) > MAX_SHOWN_CHARS else 0
            match = with_context(lines, number, query.context, at)
            self.matches.append((relative, replace(match, line=number + shift) if shift else match))


def search_named(search: Search) -> None:
    """Searches the file that was asked for, however long it is; that it may be read was judged.

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
    """Searches the files of a tree, once more those that the system failed for a moment. Raises TimeoutError."""
    for place in places:
        _search_one(search, place)
        # As `over` has it; this is for each file of the tree.
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
    # Policy is asked last, as most files hold no match; how many files it hides is not told, nor would it be told in a
    # large tree, where that number would be one of files that match.
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
    """Looks for secrets only in a piece that holds a match; what counts are the matches in the text without them."""
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
    except ToolError:  # it is no text
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
    """Returns whether the bytes alone tell that no line matches, as they do of plain ASCII in most encodings."""
    return pattern.literal is not None and pattern.literal not in data and not data.startswith(MARKS)


def _shown_matches(search: Search, text: str) -> tuple[list[str], list[int]]:
    """Returns a text's lines without secrets, and the numbers of those that match so: whether a guess matches would
    give a secret away letter by letter."""
    shown = search.ctx.redact(text)
    return Text(shown).lines, matching_lines(shown.encode(), search.query.pattern, search.left_s)


def _redact_bytes(ctx: ToolContext, data: bytes) -> bytes:
    """Returns the bytes of a file that is no text: that it may hold a match is told, and would tell of a secret in
    it."""
    return ctx.redact(data.decode("latin-1")).encode("latin-1", "replace")


def _read(ctx: ToolContext, place: Place) -> bytes | None:
    """Returns what a file holds; None where it is none. Raises ToolError, OSError."""
    relative, folder = place
    if (document := ctx.documents.get(relative)) is not None:
        return image_of_text(document.text).data
    if folder is not None:
        return read_in_folder(folder, relative, MAX_SEARCHED_BYTES)
    return read_bytes(ctx.workspace, WorkspacePath(relative, ctx.workspace.root), MAX_SEARCHED_BYTES)


def _why_not(error: ToolError | OSError, left_out: LeftOut) -> list[str] | None:
    """Returns where a file belongs that could not be read; None for one that is gone, or has become something else."""
    if isinstance(error, ToolError) and error.code is ErrorCode.TOO_LARGE:
        return left_out.large
    cause = error if isinstance(error, OSError) else error.__cause__
    if not isinstance(cause, OSError) or cause.errno in GONE:
        return None
    return left_out.large if cause.errno == errno.EFBIG else left_out.unreadable
