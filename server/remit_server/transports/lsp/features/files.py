"""Files that are renamed, deleted or made while a change to them waits for an answer (LSP-15).

The question is withdrawn, because an answer to it would be about a different file. The model is told, and may propose
the change again; the person is told that nothing was written. The client sends `will…` before it changes the file, so
that by then no answer can be given for the old path. The server adds no edits of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.uris import file_path
from remit_server.transports.lsp.connection.reviews import Review

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection


How: TypeAlias = Literal["renamed", "deleted", "made"]


@dataclass(frozen=True, slots=True)
class Moved:
    """A file or folder that was renamed, deleted or made. `new` is its new path if it was renamed."""

    path: Path
    how: How
    new: Path | None = None

    @staticmethod
    def of(uri: str, how: How, new: str | None = None) -> Iterator[Moved]:
        """Yields the change of a file on this machine, and nothing for a file elsewhere."""
        path = _local(uri)
        if path is not None:
            yield Moved(path, how, None if new is None else _local(new))


def take_back(connection: Connection, moved: Iterable[Moved]) -> None:
    """Withdraws the questions about these files, and tells the person."""
    for each in moved:
        for review in tuple(connection.reviews.values()):
            path = next((path for path in _paths(review, each) if _is_at(review.root / path, each)), None)
            if path is not None:
                _withdraw(connection, review, f"`{path}` was {each.how} while a change to it waited for an answer")


def follow_pins(connection: Connection, moved: Iterable[Moved]) -> None:
    """Updates the paths of renamed files that are pinned for the next message of a chat."""
    for each in moved:
        for chat in connection.chats.values():
            root = chat.settings.workspace
            if each.new is not None and each.path.is_relative_to(root) and each.new.is_relative_to(root):
                old, new = (path.relative_to(root).as_posix() for path in (each.path, each.new))
                chat.pinned[:] = [
                    pin.model_copy(update={"path": new}) if pin.path == old else pin for pin in chat.pinned
                ]


def _paths(review: Review, moved: Moved) -> Iterator[str]:
    """Yields the paths of a question that a change of this kind affects."""
    for diff in review.question.diffs:
        if moved.how != "made" or diff.created or diff.moved_from is not None:
            yield diff.path
        if moved.how != "made" and diff.moved_from is not None:
            yield diff.moved_from


def _is_at(path: Path, moved: Moved) -> bool:
    """Returns whether `path` is the old or the new path, or lies in a folder that was renamed or deleted."""
    return path in {moved.path, moved.new} or (moved.how != "made" and path.is_relative_to(moved.path))


def _withdraw(connection: Connection, review: Review, why: str) -> None:
    name = review.question.approval_id
    runtime = next((each for each in connection.opened_runtimes if each.asked(name)), None)
    if runtime is not None and runtime.withdraw(name, why) and not review.drawn:
        connection.show(lsp.MessageType.Warning, f"Remit: {why}: nothing was written, and the model is told")


def _local(uri: str) -> Path | None:
    path = file_path(uri)
    if path is None or not path.startswith("/") or "\0" in path:
        return None
    named = Path(path)
    return Path(os.path.realpath(named.parent), named.name)


OPTIONS = lsp.FileOperationRegistrationOptions(
    filters=[lsp.FileOperationFilter(scheme="file", pattern=lsp.FileOperationPattern(glob="**/*"))]
)


def will_rename(connection: Connection, params: lsp.RenameFilesParams) -> None:
    """Handles `workspace/willRenameFiles`."""
    take_back(connection, _renamed(params))


def did_rename(connection: Connection, params: lsp.RenameFilesParams) -> None:
    """Handles `workspace/didRenameFiles`."""
    take_back(connection, _renamed(params))
    follow_pins(connection, _renamed(params))


def deleted(connection: Connection, params: lsp.DeleteFilesParams) -> None:
    """Handles `workspace/willDeleteFiles` and `workspace/didDeleteFiles`."""
    take_back(connection, (each for file in params.files for each in Moved.of(file.uri, "deleted")))


def created(connection: Connection, params: lsp.CreateFilesParams) -> None:
    """Handles `workspace/didCreateFiles`."""
    take_back(connection, (each for file in params.files for each in Moved.of(file.uri, "made")))


def watched(connection: Connection, params: lsp.DidChangeWatchedFilesParams) -> None:
    """Handles `workspace/didChangeWatchedFiles`, which is registered for the files of a question while it waits."""
    for change in params.changes:
        match change.type:
            case lsp.FileChangeType.Deleted:
                gone = (each for each in Moved.of(change.uri, "deleted") if not os.path.lexists(each.path))
                take_back(connection, gone)  # a file that is there again was only replaced, as some editors save
            case lsp.FileChangeType.Created:
                take_back(connection, Moved.of(change.uri, "made"))
            case lsp.FileChangeType.Changed:
                pass  # the file's text is compared when the answer comes (APP-01)


def _renamed(params: lsp.RenameFilesParams) -> Iterator[Moved]:
    return (each for file in params.files for each in Moved.of(file.old_uri, "renamed", file.new_uri))
