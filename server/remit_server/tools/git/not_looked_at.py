"""What git's output leaves uncertain, because nothing of the repository is started (GIT-01).

A clean filter is a program: without it a file that was only touched looks modified. A submodule is a repository with
its own settings, so its files are not looked at.

Also makes an index for commands that see only a part of the working tree: files outside it are marked as not checked
out, so that git does not report them as deleted (GIT-07).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from remit_server.counted import list_some
from remit_server.tools.git.git_repository import GIT, may_be_seen, quote_path
from remit_server.tools.spec import ToolContext
from remit_server.workspace.git_config import MAX_CONFIG_BYTES, parse_config
from remit_server.workspace.git_file import read_git_file
from remit_server.workspace.git_index import EXTENDED, NOT_CHECKED_OUT, read_whole, write_index
from remit_server.workspace.git_linked import Folders

READ_FILTERS = f"{GIT} check-attr -z --stdin filter"
"""Prints the filter of each path on its standard input, for a shell."""

_NO_FILTER = frozenset({"unspecified", "unset"})
_MOST_NAMED = 10


def parse_filters(printed: bytes) -> Mapping[str, str]:
    """Returns the filter's name for each path that has one, from what `READ_FILTERS` printed."""
    words = iter(os.fsdecode(printed).split("\0")[:-1])
    return {path: name for path, _, name in zip(words, words, words, strict=False) if name not in _NO_FILTER}


def describe_filtered(paths: Iterable[str], filters: Mapping[str, str]) -> list[str]:
    """Returns a sentence about changed files that have a filter, because they may not differ at all."""
    named = [f"{quote_path(path)} ({quote_path(filters[path])})" for path in paths if path in filters]
    return [f"filters are not run, so these may only look changed: {list_some(named, _MOST_NAMED)}"] if named else []


def submodules_of(ctx: ToolContext, folders: Folders) -> list[str]:
    """Returns the submodules in the workspace that the model may know of, from `.gitmodules`."""
    try:
        data = read_git_file(folders.top, ".gitmodules", MAX_CONFIG_BYTES) or b""
    except OSError:
        return []
    said = parse_config(data.decode(errors="replace"))
    all_ = (value for name, value in said if name.startswith("submodule.") and name.endswith(".path"))
    paths = {path.removeprefix(folders.prefix) for path in all_ if path.startswith(folders.prefix)}
    root = ctx.workspace.root
    return sorted(path for path in paths if _is_there(root / path / ".git") and may_be_seen(path, ctx))


def describe_submodules(paths: Iterable[str]) -> list[str]:
    """Returns a sentence about submodules, because changes in them are not known."""
    named = [quote_path(path) for path in paths]
    listed = list_some(named, _MOST_NAMED)
    return [f"files in submodules are not looked at: {listed}; open one as the workspace"] if named else []


def _is_there(path: os.PathLike[str]) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False


_MAX_INDEX_BYTES = 50_000_000


def narrow_index(folders: Folders) -> bytes | None:
    """Returns the index with everything outside the workspace marked, or None if the index cannot be read."""
    try:
        status = (folders.own / "index").stat()
        state = (status.st_mtime_ns, status.st_size, status.st_ino)
        return _narrow(folders.own, os.fsencode(folders.prefix), state)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=4)
def _narrow(own: Path, prefix: bytes, state: tuple[int, int, int]) -> bytes:
    """Returns the index for commands, cached for each `state` of the file."""
    del state
    data = read_git_file(own, "index", _MAX_INDEX_BYTES) or b""
    entries, whole = read_whole(data)
    if not whole:
        raise ValueError("it is split or sparse")
    marked = (
        (name, entry)
        if entry.stage or name.startswith(prefix)
        else (name, entry._replace(extended_flags=entry.extended_flags | NOT_CHECKED_OUT))
        for name, entry in entries
    )
    return write_index(marked, EXTENDED)
