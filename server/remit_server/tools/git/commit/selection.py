"""Selects the files of a commit: changes on top of what is staged or, if paths are named, on top of the last commit
(GIT-02).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.git.commit.files import SUBMODULE, Stored, WorkingTree, path_of
from remit_server.tools.git.commit.refusal import commit_refusal
from remit_server.tools.git.commit.repository import Entry, RepositoryNow
from remit_server.tools.git.commit.untracked import (
    NotTaken,
    find_addable,
    find_untracked,
    must_be_addable,
    notices_files_outside,
    outside_sparse,
)
from remit_server.workspace.git_config import is_on
from remit_server.workspace.git_index import NOT_CHECKED_OUT, IndexEntry
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath

_ASSUMED_UNCHANGED = 0x8000
_INTENT_TO_ADD = 0x2000
MAX_FILES = 500
MAX_TOTAL_BYTES = 100_000_000


@dataclass(slots=True)
class Selected:
    """The commit's files, the index after it, and new contents, all by path. `hidden` files may not be read; `left_out`
    are files that the commit does not look at."""

    files: dict[bytes, Entry]
    index: dict[bytes, IndexEntry]
    contents: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    hidden: set[bytes] = field(default_factory=set[bytes])
    left_out: NotTaken = field(default_factory=NotTaken)


def select(
    tree: WorkingTree,
    named: tuple[WorkspacePath, ...],
    committed: Mapping[bytes, Entry],
    readable: Callable[[str], bool],
    *,
    untracked: bool,
    worked_on: Sequence[str] = (),
) -> Selected:
    """Returns everything that a commit is made of. If no path is named, this includes untracked files among
    `worked_on`.

    Raises ToolError if something in it cannot be committed.
    """
    repository = tree.repository
    index = dict(repository.index.entries)
    staged = {name: (each.mode, each.id) for name, each in index.items() if not _only_meant(each)}
    selected = Selected(dict(committed) if named else staged, index)
    known = {*index, *committed} if named else index
    wanted = [os.fsdecode(name) for name in known if _is_named(name, named)]
    wanted += _new(tree.workspace, repository, named, wanted, selected.left_out if untracked else None)
    wanted += () if named else find_addable(tree.workspace, worked_on, repository, selected.left_out)
    is_outside, notices = outside_sparse(repository), notices_files_outside(repository)
    for path in sorted(set(wanted)):
        name, outside = os.fsencode(path), is_outside(path)
        if notices and not outside:
            _take_back(tree, path, selected)
        stays = _staying(tree, path, selected.index.get(name), left=outside and not named)
        if stays is not None:
            if not _only_meant(stays):
                selected.files[name] = (stays.mode, stays.id)
            _note_left_out(tree, path, stays, selected.left_out, outside=outside)
        elif readable(path_of(name)):
            _take(tree, path, selected)
        else:
            selected.hidden.add(name)
    for name in _differing(selected.files, committed):
        if not readable(path_of(name)):
            selected.hidden.add(name)
            _leave(name, selected.files, committed)
    return selected


def _differing(files: Mapping[bytes, Entry], committed: Mapping[bytes, Entry]) -> list[bytes]:
    return sorted(name for name in files.keys() | committed.keys() if files.get(name) != committed.get(name))


def differences(selected: Selected, committed: Mapping[bytes, Entry]) -> list[bytes]:
    """Returns the paths that the commit changes, sorted. Raises ToolError if there are too many, or if one is a
    submodule."""
    found = _differing(selected.files, committed)
    if len(found) > MAX_FILES:
        raise _too_many(len(found))
    for name in found:
        if SUBMODULE in {selected.files.get(name, (0, ""))[0], committed.get(name, (0, ""))[0]}:
            raise commit_refusal(
                f"`{path_of(name)}` is a submodule", "leave it out with `paths`; a person can commit it"
            )
    return found


def _take_back(tree: WorkingTree, path: str, selected: Selected) -> None:
    """Unmarks a file within the sparse checkout that is marked as not checked out but exists, as git does."""
    name = os.fsencode(path)
    known = selected.index.get(name)
    if known is not None and known.is_absent and _is_there(tree, path):
        selected.index[name] = known._replace(extended_flags=known.extended_flags & ~NOT_CHECKED_OUT)


def _is_there(tree: WorkingTree, path: str) -> bool:
    try:
        tree.status(path)
    except FileNotFoundError:
        return False
    return True


def _staying(tree: WorkingTree, path: str, known: IndexEntry | None, *, left: bool) -> IndexEntry | None:
    """Returns the index entry of a file that is unchanged, as far as can be told without reading it. Most files are, so
    policy need not be asked about them. With `left` the entry is returned whether the file changed or not.
    """
    if known is None:
        return None
    if left or known.mode == SUBMODULE or known.flags & _ASSUMED_UNCHANGED or known.is_absent:
        return known
    if _only_meant(known):
        return None
    return known if tree.is_unchanged(path, known) else None


def _note_left_out(tree: WorkingTree, path: str, stays: IndexEntry, left_out: NotTaken, *, outside: bool) -> None:
    """Notes a file that the commit leaves as it is in the index although it may have changed."""
    if stays.mode == SUBMODULE:
        left_out.submodules.add(path)
    elif stays.is_absent and is_on(tree.repository.settings, "core.sparsecheckout"):
        if _is_there(tree, path):
            left_out.sparse.add(path)
    elif outside and not tree.is_unchanged(path, stays) and _is_there(tree, path):
        left_out.sparse.add(path)


def _take(tree: WorkingTree, path: str, selected: Selected) -> None:
    """Puts the working tree's version of the file into the commit and the index."""
    name = os.fsencode(path)
    known = selected.index.get(name)
    try:
        stored = tree.changed(path, None if known is None or _only_meant(known) else known)
    except FileNotFoundError:
        selected.files.pop(name, None)
        selected.index.pop(name, None)
        return
    if stored is not None:
        _put_entry(name, stored, selected)
    elif known is not None:
        selected.files[name] = (known.mode, known.id)


def _put_entry(name: bytes, stored: Stored, selected: Selected) -> None:
    if name not in selected.index:
        _make_room(name, selected)
    selected.contents[name] = stored.data
    if len(selected.contents) > MAX_FILES:
        raise _too_many(len(selected.contents))
    if sum(map(len, selected.contents.values())) > MAX_TOTAL_BYTES:
        raise commit_refusal(f"it is more than {MAX_TOTAL_BYTES} bytes", "commit fewer files", ErrorCode.TOO_LARGE)
    selected.index[name] = stored.entry
    selected.files[name] = (stored.entry.mode, stored.entry.id)


def _make_room(name: bytes, selected: Selected) -> None:
    """Removes entries that a new file replaces: files in the place of its folders, and files below its own path."""
    parts = name.split(b"/")
    above = {b"/".join(parts[:length]) for length in range(1, len(parts))}
    for files in (selected.files, selected.index):
        for other in [each for each in files if each in above or each.startswith(name + b"/")]:
            del files[other]


def _too_many(count: int) -> ToolError:
    return commit_refusal(
        f"it would change at least {count} files, but only {MAX_FILES} are allowed",
        "commit fewer at once, with `paths`",
        ErrorCode.LIMIT_REACHED,
    )


def _leave(name: bytes, files: dict[bytes, Entry], committed: Mapping[bytes, Entry]) -> None:
    if name in committed:
        files[name] = committed[name]
    else:
        del files[name]


def _new(
    workspace: Workspace,
    repository: RepositoryNow,
    named: tuple[WorkspacePath, ...],
    known: list[str],
    left_out: NotTaken | None,
) -> Iterator[str]:
    """Yields untracked files that were named, and those in a folder if `left_out` is given, which notes the others.

    Raises ToolError if a named path does not exist.
    """
    for path in named or (workspace.resolve("."),):
        if path.absolute.is_dir():
            if left_out is not None:
                yield from find_untracked(workspace, path, repository, left_out)
        elif not any(each == path.relative or each.startswith(path.relative + "/") for each in known):
            if not path.absolute.exists():
                raise commit_refusal(f"there is no `{path.relative}`", "find it with git_status", ErrorCode.NOT_FOUND)
            must_be_addable(workspace, path.relative, repository)
            yield path.relative


def _is_named(name: bytes, named: tuple[WorkspacePath, ...]) -> bool:
    if not named:
        return True
    texts = [path.relative.encode() for path in named]
    return any(text in {b".", name} or name.startswith(text + b"/") for text in texts)


def _only_meant(entry: IndexEntry) -> bool:
    return bool(entry.extended_flags & _INTENT_TO_ADD)
