"""The workspace folders that an editor has open: each is a workspace of its own, with its own policy, audit log,
sessions and runtime (002 §4.2; protocol.md §3)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remit_server.lsp.documents import Buffer, EditorDocuments
from remit_server.lsp.runtime_slot import RuntimeSlot
from remit_server.lsp.uris import LocalFolder, NotHere, Root, file_path

if TYPE_CHECKING:  # errors know the contract, which is slow to import
    from remit_server.errors import RemitError


@dataclass(frozen=True, slots=True)
class WorkspaceFolder:
    """One folder, its open documents, and its runtime, which is opened when it is first needed."""

    root: Path
    documents: EditorDocuments
    slot: RuntimeSlot


@dataclass(frozen=True, slots=True)
class FolderDocument:
    """An open document of a workspace folder; `path` is relative to the folder's root, with `/`."""

    folder: WorkspaceFolder
    path: str
    buffer: Buffer


class WorkspaceFolders:
    """The folders that are open, in the editor's order. One that is named twice is there once."""

    def __init__(self, open_folder: Callable[[Path], WorkspaceFolder]) -> None:
        self._open_folder = open_folder
        self._by_root: dict[Path, WorkspaceFolder] = {}
        self._elsewhere: list[NotHere] = []

    def add(self, roots: Collection[Root]) -> list[WorkspaceFolder]:
        """Take note of folders; returns those on this machine that were not open before."""
        self._elsewhere += [root for root in roots if isinstance(root, NotHere)]
        new = [root for root in dict.fromkeys(_real(roots)) if root not in self._by_root]
        self._by_root |= {root: self._open_folder(root) for root in new}
        return [self._by_root[root] for root in new]

    def remove(self, roots: Collection[Root]) -> list[WorkspaceFolder]:
        """Forget folders; returns those that were open, for the caller to close."""
        self._elsewhere = [root for root in self._elsewhere if root not in roots]
        return [self._by_root.pop(root) for root in _real(roots) if root in self._by_root]

    def containing(self, path: Path) -> WorkspaceFolder | None:
        """The innermost folder that a path lies in, whose links are resolved."""
        around = [folder for folder in self if path.is_relative_to(folder.root)]
        return max(around, key=lambda folder: len(folder.root.parts), default=None)

    def around(self, uri: str) -> WorkspaceFolder | None:
        """The innermost folder that a file lies in, whether the editor has it open or not."""
        path = file_path(uri)
        return self.containing(Path(os.path.realpath(path))) if path else None

    def document(self, buffer: Buffer | None) -> FolderDocument | None:
        """A buffer as a document of the folder that it belongs to; None where it belongs to none."""
        folder = self.containing(buffer.path) if buffer is not None else None
        if buffer is None or folder is None:
            return None
        return FolderDocument(folder, buffer.path.relative_to(folder.root).as_posix(), buffer)

    def named(self, folder: str | None) -> WorkspaceFolder:
        """The folder of this path or `file:` URI; where None is given, the only one.

        Raises RemitError where it is not open, or none was named although there are several.
        """
        if not self._by_root:
            raise self.none_open()
        if folder is None:
            if len(self._by_root) > 1:
                raise _which_folder(self)
            return next(iter(self))
        path = file_path(folder) if folder.startswith("file:") else folder
        found = self._by_root.get(Path(os.path.realpath(path))) if path and "\0" not in path else None
        if found is None:
            raise _not_open(folder, self)
        return found

    def none_open(self) -> RemitError:
        """The refusal where there is nothing that an agent could be let into."""
        return self._elsewhere[0].error() if self._elsewhere else _no_folder()

    @property
    def elsewhere(self) -> tuple[NotHere, ...]:
        """The folders that the editor named and that are not on this machine."""
        return tuple(self._elsewhere)

    @property
    def first(self) -> WorkspaceFolder | None:
        """The folder that the editor named first, if one is open."""
        return next(iter(self), None)

    def __iter__(self) -> Iterator[WorkspaceFolder]:
        return iter(tuple(self._by_root.values()))


def _real(roots: Iterable[Root]) -> list[Path]:
    return [Path(os.path.realpath(root.path)) for root in roots if isinstance(root, LocalFolder)]


def _no_folder() -> RemitError:
    from remit_server.errors import SetupError

    return SetupError(
        "there is no workspace to work in",
        "the editor opened no folder on this machine (`workspaceFolders` and `rootUri` are empty)",
        "open a folder in the editor and start the language server again",
    )


def _which_folder(folders: WorkspaceFolders) -> RemitError:
    from remit_server.contract import ErrorCode
    from remit_server.errors import SetupError

    return SetupError(
        "it is not known which folder this is about",
        f"several are open, each with its own policy and audit log: {_listed(folders)}",
        "name one as `workspace_folder`, or a document as `uri`",
        code=ErrorCode.INVALID_REQUEST,
    )


def _not_open(folder: str, folders: WorkspaceFolders) -> RemitError:
    from remit_server.contract import ErrorCode
    from remit_server.errors import SetupError

    return SetupError(
        f"`{folder[:200]}` is not open here",
        f"the editor has these workspace folders: {_listed(folders)}",
        "name one of them, or add the folder in the editor",
        code=ErrorCode.INVALID_REQUEST,
    )


def _listed(folders: WorkspaceFolders) -> str:
    return ", ".join(f"`{folder.root}`" for folder in folders)
