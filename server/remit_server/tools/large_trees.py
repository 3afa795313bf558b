"""The way a search or a listing takes: through a small tree in process, with ripgrep through a large one (agent.md §2).

ripgrep only names files. Each is judged, opened and matched afterwards as in a small tree, so both ways come to the
same matches in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

from remit_server.errors import ToolError
from remit_server.tools.matching import Pattern
from remit_server.tools.spec import ToolContext
from remit_server.tools.superset import MARKED, MARKS, superset
from remit_server.workspace.paths import WorkspacePath
from remit_server.workspace.ripgrep import Matching, listed_by_ripgrep
from remit_server.workspace.walk import Limits, entries_below, listed, usable, walk, walk_open

_re2 = cast("Any", re2)
_MAX_EXPRESSION = 20_000
_MAX_EXPRESSION_MEMORY = 16 * 1024 * 1024


class Sieve:
    """Tells in one pass over its bytes that a file holds no match of a pattern.

    `expression` is what such bytes do not match, or None where none is known.
    """

    __slots__ = ("_compiled", "_literal", "expression")

    def __init__(self, pattern: Pattern) -> None:
        self.expression = superset(pattern.text)
        literal = pattern.literal
        self._literal = literal.encode() if literal and literal.isascii() else None
        self._compiled = None if self.expression is None or self._literal else _compiled(self.expression)

    def rules_out(self, data: bytes) -> bool:
        """False where there may be a match."""
        if data.startswith(MARKS):
            return False
        if self._literal is not None:
            return self._literal not in data
        return self._compiled is not None and not self._compiled.search(data)

    def lines(self, data: bytes) -> Iterator[int] | None:
        """Numbers, from 1, of the lines that may match, in order; None where all of them may."""
        if data.startswith(MARKS):
            return None
        if (literal := self._literal) is not None:
            return _numbers(data, lambda at: data.find(literal, at))
        if (compiled := self._compiled) is not None:
            return _numbers(data, lambda at: found.start() if (found := compiled.search(data, at)) else -1)
        return None


def _numbers(data: bytes, next_from: Callable[[int], int]) -> Iterator[int]:
    """Of the lines in which something is found, which reaches over no line's end."""
    number, begun = 1, 0
    while (at := next_from(begun)) >= 0:
        number += data.count(b"\n", begun, at)
        yield number
        begun = data.find(b"\n", at) + 1
        if not 0 < begun < len(data):
            return
        number += 1


@lru_cache(maxsize=16)
def _compiled(expression: str) -> Any:
    options = _re2.Options()
    options.encoding = _re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = _MAX_EXPRESSION_MEMORY
    try:
        return _re2.compile(expression.encode(), options) if len(expression) < _MAX_EXPRESSION else None
    except _re2.error:
        return None


def files_below(ctx: ToolContext, base: WorkspacePath, limits: Limits) -> Iterator[str]:
    """What `walk` yields. Raises ToolError where `base` is no folder."""
    if _is_large(ctx, base, limits):
        listing = listed_by_ripgrep(ctx.workspace, base, limits)
        if listing is not None:
            limits.stopped = limits.stopped or not listing.complete
            is_listed = listed(ctx.workspace, base) if len(base.names) > 1 else usable
            return iter(sorted(filter(is_listed, listing.paths), key=_by_names))
    return walk(ctx.workspace, base, limits)


def files_to_search(
    ctx: ToolContext, base: WorkspacePath, sieve: Sieve, max_bytes: int, limits: Limits
) -> Iterator[tuple[str, int | None]]:
    """What `walk_open` yields, in a large tree without descriptors and files that hold no match. Raises ToolError."""
    if sieve.expression and _is_large(ctx, base, limits):
        listing = listed_by_ripgrep(ctx.workspace, base, limits, Matching(f"{MARKED}|{sieve.expression}", max_bytes))
        if listing is not None:
            limits.stopped = limits.stopped or not listing.complete
            found = {*listing.paths, *_open_below(ctx, base)}
            return ((path, None) for path in filter(listed(ctx.workspace, base), sorted(found, key=_by_names)))
    return walk_open(ctx.workspace, base, limits)


def _is_large(ctx: ToolContext, base: WorkspacePath, limits: Limits) -> bool:
    return entries_below(ctx.workspace, base, limits.small + 1) > limits.small


def _open_below(ctx: ToolContext, base: WorkspacePath) -> Iterator[str]:
    """Files below `base` that are open in the editor, whose buffers ripgrep does not know."""
    prefix = "" if base.relative == "." else base.relative + "/"
    for relative in ctx.documents.paths():
        if relative.startswith(prefix):
            try:
                os.close(ctx.workspace.open_read(WorkspacePath(relative, ctx.workspace.root.joinpath(relative))))
            except ToolError:
                continue
            yield relative


def _by_names(relative: str) -> str:
    """Sorts folder by folder, as `walk` does: what ends a name comes before all that can be in one."""
    return relative.replace("/", "\0")
