"""The editor's workspace folders: each is a workspace with its own policy, audit log, sessions and runtime (LSP-06).

The agent runtime of a folder is opened once, on first use, and tried again after a failure (LSP-06).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from remit_server.transports.lsp.buffers.documents import Buffer, EditorDocuments
from remit_server.transports.lsp.buffers.uris import LocalFolder, NotHere, Root, file_path

if TYPE_CHECKING:
    from remit_server.errors import RemitError
    from remit_server.runtime.opening import Shared
    from remit_server.runtime.runtime import Runtime
    from remit_server.workspace.code import CodeIntelligence
    from remit_server.workspace.ports import Documents


EditorSettings: TypeAlias = Callable[[], Mapping[tuple[str, str], Any]]
"""Returns the current values of those of Remit's settings that the editor sets and may set."""

OpenRuntime: TypeAlias = "Callable[[Path, Documents, CodeIntelligence, EditorSettings, Path], Awaitable[Runtime]]"
"""Opens a workspace's runtime, with its open documents, its editor's code intelligence and settings, and the path by
which the editor named the workspace. Raises SetupError."""


def configured_runtimes() -> OpenRuntime:
    """Returns a function that opens runtimes by the environment and each workspace's settings. The runtimes share one
    model and the sandboxes."""
    shared: list[Shared] = []

    async def open_configured(
        workspace: Path, documents: Documents, code: CodeIntelligence, editor: EditorSettings, named: Path
    ) -> Runtime:
        from remit_server.runtime.opening import Shared, open_runtime
        from remit_server.runtime.settings import Settings, path_through_links

        if not shared:
            shared.append(Shared())

        def read() -> Settings:
            # `named` may be a link that leads elsewhere by now. The folder that was opened stays the workspace.
            opened_as = path_through_links(named, workspace, {})
            return replace(Settings.from_environment(workspace, editor=editor()), opened_as=opened_as)

        return await open_runtime(read(), documents, code, shared[0], read)

    return open_configured


class RuntimeSlot:
    """Holds one workspace's runtime."""

    def __init__(self, open_runtime: Callable[[], Awaitable[Runtime]]) -> None:
        self._open_runtime = open_runtime
        self._opening: asyncio.Task[Runtime] | None = None
        self._closed = False

    @property
    def opened(self) -> Runtime | None:
        """The runtime, if it is open."""
        task = self._opening
        return task.result() if task and task.done() and not task.cancelled() and not task.exception() else None

    @property
    def closed(self) -> bool:
        """Whether the slot has been closed."""
        return self._closed

    @property
    def unopened(self) -> bool:
        """Whether the runtime has never been requested."""
        return self._opening is None

    @property
    def failure(self) -> BaseException | None:
        """The last error of opening, if it failed."""
        task = self._opening
        return task.exception() if task and task.done() and not task.cancelled() else None

    async def get(self) -> Runtime:
        """Returns the runtime, opening it if necessary. If the caller is cancelled, the opening goes on.

        Raises SetupError, and asyncio.CancelledError after `close`.
        """
        if self._closed:
            raise asyncio.CancelledError
        if self._opening is None or (self._opening.done() and self.opened is None):
            self._opening = asyncio.ensure_future(self._open())
        return await asyncio.shield(self._opening)

    async def settle(self) -> None:
        """Waits until an opening under way has ended, successfully or not."""
        if self._opening is not None and not self._opening.done():
            await asyncio.wait((self._opening,))

    async def close(self) -> None:
        """Closes the runtime, or stops opening it. Idempotent."""
        self._closed = True
        if self._opening is None:
            return
        if not self._opening.done():
            self._opening.cancel()
            await asyncio.wait((self._opening,))
        if (runtime := self.opened) is not None:
            await runtime.close()

    async def _open(self) -> Runtime:
        return await self._open_runtime()


@dataclass(frozen=True, slots=True)
class WorkspaceFolder:
    """One folder, its open documents, and its runtime, which is opened on first use."""

    root: Path
    documents: EditorDocuments
    slot: RuntimeSlot


@dataclass(frozen=True, slots=True)
class FolderDocument:
    """An open document of a workspace folder at one moment; `path` is relative to the folder's root, with `/`."""

    folder: WorkspaceFolder
    path: str
    uri: str
    text: str


@dataclass(frozen=True, slots=True)
class WorkspaceFolders:
    """The open folders in the editor's order, and the folders it named that are not on this machine (`elsewhere`)."""

    by_root: Mapping[Path, WorkspaceFolder] = field(default_factory=dict[Path, WorkspaceFolder])
    elsewhere: tuple[NotHere, ...] = ()

    def new_roots(self, roots: Collection[Root]) -> Mapping[Path, Path]:
        """Returns the folders on this machine that are not open yet, each with the first path by which the editor named
        it, which may contain links."""
        named = {Path(os.path.realpath(root.path)): root.path for root in reversed(_local(roots))}
        return {root: named[root] for root in _real(roots) if root not in self.by_root}

    def with_added(self, folders: Iterable[WorkspaceFolder], roots: Collection[Root]) -> WorkspaceFolders:
        """Returns these folders and the added ones, and records those of `roots` that are not on this machine."""
        elsewhere = (root for root in roots if isinstance(root, NotHere))
        by_root = {**self.by_root, **{folder.root: folder for folder in folders}}
        return WorkspaceFolders(by_root, (*self.elsewhere, *elsewhere))

    def without(self, roots: Collection[Root]) -> WorkspaceFolders:
        """Returns these folders without the removed ones."""
        gone = set(_real(roots))
        left = {root: folder for root, folder in self.by_root.items() if root not in gone}
        return WorkspaceFolders(left, tuple(root for root in self.elsewhere if root not in roots))

    def containing(self, path: Path) -> WorkspaceFolder | None:
        """Returns the innermost folder that contains a resolved path."""
        around = [folder for folder in self if path.is_relative_to(folder.root)]
        return max(around, key=lambda folder: len(folder.root.parts), default=None)

    def around(self, uri: str) -> WorkspaceFolder | None:
        """Returns the innermost folder that contains a file, open in the editor or not."""
        path = file_path(uri)
        return self.containing(Path(os.path.realpath(path))) if path else None

    def document(self, buffer: Buffer | None) -> FolderDocument | None:
        """Returns a buffer as a document of its folder, or None if it is in no folder."""
        folder = self.containing(buffer.path) if buffer is not None else None
        if buffer is None or folder is None:
            return None
        return FolderDocument(folder, buffer.path.relative_to(folder.root).as_posix(), buffer.uri, buffer.text)

    def named(self, folder: str | None) -> WorkspaceFolder:
        """Returns the folder of this path or `file:` URI, or the only open folder for None.

        Raises RemitError if that folder is not open, or if `folder` is None and not exactly one is open.
        """
        if not self.by_root:
            raise self.none_open()
        if folder is None:
            if len(self.by_root) > 1:
                raise _which_folder(self)
            return next(iter(self))
        path = file_path(folder) if folder.startswith("file:") else folder
        found = self.by_root.get(Path(os.path.realpath(path))) if path and "\0" not in path else None
        if found is None:
            raise _not_open(folder, self)
        return found

    def none_open(self) -> RemitError:
        """Returns the error for the case that no folder is open on this machine."""
        return self.elsewhere[0].error() if self.elsewhere else _no_folder()

    @property
    def first(self) -> WorkspaceFolder | None:
        """The editor's first folder, if one is open."""
        return next(iter(self), None)

    @property
    def first_root(self) -> Path | None:
        """The root of the editor's first folder, if one is open."""
        return self.first.root if self.first is not None else None

    def root_of(self, path: Path) -> Path | None:
        """Returns the root of the folder that contains a file, or the first folder's root if none contains it."""
        folder = self.containing(Path(os.path.realpath(path)))
        return folder.root if folder is not None else self.first_root

    def __iter__(self) -> Iterator[WorkspaceFolder]:
        return iter(tuple(self.by_root.values()))


def _real(roots: Iterable[Root]) -> list[Path]:
    return [Path(os.path.realpath(root.path)) for root in _local(roots)]


def _local(roots: Iterable[Root]) -> list[LocalFolder]:
    return [root for root in roots if isinstance(root, LocalFolder)]


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
        "it is unclear which folder is meant",
        f"several are open, each with its own policy and audit log: {_list_roots(folders)}",
        "name one as `workspace_folder`, or a document as `uri`",
        code=ErrorCode.INVALID_REQUEST,
    )


def _not_open(folder: str, folders: WorkspaceFolders) -> RemitError:
    from remit_server.contract import ErrorCode
    from remit_server.errors import SetupError

    return SetupError(
        f"`{folder[:200]}` is not open here",
        f"the editor has these workspace folders: {_list_roots(folders)}",
        "name one of them, or add the folder in the editor",
        code=ErrorCode.INVALID_REQUEST,
    )


def _list_roots(folders: WorkspaceFolders) -> str:
    return ", ".join(f"`{folder.root}`" for folder in folders)
