"""How a search or a listing goes through a tree: the first few hundred files in process, the rest with ripgrep
(TOOL-06).

ripgrep only names files. Each file is judged, opened and matched afterwards as in a small tree, so both ways give the
same matches in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from remit_server.errors import ToolError
from remit_server.tools.search.line_matches import Pattern, ripgrep_expression
from remit_server.tools.search.omissions import by_names, with_made
from remit_server.tools.spec import ToolContext
from remit_server.workspace.paths.workspace_path import WorkspacePath
from remit_server.workspace.trees.exclude import exclude_lists
from remit_server.workspace.trees.ignore import ripgrep_reads_otherwise
from remit_server.workspace.trees.ignore_layers import ripgrep_differs, ripgrep_keeps_case
from remit_server.workspace.trees.ripgrep import Listing, Matching, list_with_ripgrep
from remit_server.workspace.trees.walk import Limits, is_not_too_deep, listing_filter, walk_open

# Paths in no order, and a predicate that says whether `walk` would yield a path.
_Named = tuple[Iterable[str], Callable[[str], bool]]


def files_below(ctx: ToolContext, base: WorkspacePath, limits: Limits, wanted: Callable[[str], bool]) -> Iterator[str]:
    """Returns the paths that `walk_open` yields and that are `wanted`. Raises ToolError if `base` is no folder."""

    def others() -> _Named | None:
        listing = _listing(ctx, base, limits)
        if listing is None:
            return None
        limits.closed.update(filter(is_not_too_deep, listing.closed))
        known.update(filter(wanted, listing.paths))
        return known, _listing_filter(ctx, base)

    known: set[str] = set()
    found = (path for path, _ in with_made(ctx, base, _walk_first(ctx, base, limits, others)))
    return (path for path in found if path in known or wanted(path))


def files_to_search(
    ctx: ToolContext, base: WorkspacePath, pattern: Pattern, max_bytes: int, limits: Limits
) -> Iterator[tuple[str, int | None]]:
    """Returns what `walk_open` yields; in a large tree without descriptors, and without files that hold no match.
    Raises ToolError."""
    expression = ripgrep_expression(pattern.text)

    def others() -> _Named | None:
        listing = _listing(ctx, base, limits, Matching(expression or "", max_bytes))
        if listing is None:
            return None
        folders = {path for path in filter(is_not_too_deep, listing.closed) if _is_folder(ctx, path)}
        limits.closed.update(folders)
        named = {*listing.paths, *listing.closed, *_open_below(ctx, base)} - folders
        return named, listing_filter(ctx.workspace, base)

    found = _walk_first(ctx, base, limits, others) if expression else walk_open(ctx.workspace, base, limits)
    return with_made(ctx, base, found)


def _listing(ctx: ToolContext, base: WorkspacePath, limits: Limits, matching: Matching | None = None) -> Listing | None:
    listing = list_with_ripgrep(ctx.workspace, base, limits, matching)
    limits.stopped = limits.stopped or (listing is not None and not listing.complete)
    return listing


def _walk_first(
    ctx: ToolContext, base: WorkspacePath, limits: Limits, others: Callable[[], _Named | None]
) -> Iterator[tuple[str, int | None]]:
    """Yields what `walk_open` yields for a small tree. For a larger one yields its beginning, and then `others` in the
    same order, without descriptors; if `others` returns None, the walk goes on."""
    few, path = limits.of_small(), ""
    for path, folder in walk_open(ctx.workspace, base, few):
        yield path, folder
    if not few.stopped or limits.spent():
        return
    last, named = by_names(path), others()
    if named is None:
        yield from (place for place in walk_open(ctx.workspace, base, limits) if by_names(place[0]) > last)
        return
    paths, is_listed = named
    rest = [path for path in paths if by_names(path) > last]
    yield from ((path, None) for path in sorted(rest, key=by_names) if is_listed(path))


def _listing_filter(ctx: ToolContext, base: WorkspacePath) -> Callable[[str], bool]:
    """Returns a predicate like `listing_filter`, but cheaper where ripgrep lists the same files as git. It may not for
    a `base` more than one folder deep; in a nested repository, where it does not apply the ignore files outside; and
    where it reads an ignore file, or the case of a list, differently from git, or lacks a file that git knows."""
    is_listed, root = listing_filter(ctx.workspace, base), str(ctx.workspace.root)
    differs = ripgrep_differs(ctx.workspace)
    lists = exclude_lists(ctx.workspace)
    otherwise = any(each.prefix or ripgrep_reads_otherwise(each.data) for each in lists)
    if len(base.names) > 1 or otherwise or ripgrep_keeps_case(ctx.workspace, base):
        return is_listed

    @cache
    def apart(folder: str) -> bool:
        if differs(folder):
            return True
        return folder != "" and (os.path.lexists(f"{root}/{folder}/.git") or apart(folder.rpartition("/")[0]))

    return lambda path: is_not_too_deep(path) and (not apart(path.rpartition("/")[0]) or is_listed(path))


def _open_below(ctx: ToolContext, base: WorkspacePath) -> Iterator[str]:
    """Yields the files below `base` that are open in the editor, because ripgrep does not know their buffers."""
    prefix = "" if base.relative == "." else base.relative + "/"
    for relative in ctx.documents.paths():
        if relative.startswith(prefix):
            try:
                os.close(ctx.workspace.open_read(WorkspacePath(relative, ctx.workspace.root)))
            except ToolError:
                continue
            yield relative


def _is_folder(ctx: ToolContext, relative: str) -> bool:
    return (ctx.workspace.root / relative).is_dir()
