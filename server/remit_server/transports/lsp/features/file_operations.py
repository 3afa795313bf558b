"""`workspace/willRenameFiles` and its like: what the person does to files while a change to them waits (LSP-15).

`will…` comes before, so that no answer can still be given for the old path; the server adds no edits of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.transports.lsp.moved_files import Moved, follow_pins, still_there, take_back

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection

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
                take_back(connection, (each for each in Moved.of(change.uri, "deleted") if not still_there(each)))
            case lsp.FileChangeType.Created:
                take_back(connection, Moved.of(change.uri, "made"))
            case lsp.FileChangeType.Changed:
                pass  # what it holds is compared when the answer comes (APP-01)


def _renamed(params: lsp.RenameFilesParams) -> Iterator[Moved]:
    return (each for file in params.files for each in Moved.of(file.old_uri, "renamed", file.new_uri))
