"""The folders that sessions of one client work in, each with its runtime; a session names its folder (TRN-12)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from remit_server.contract import ErrorCode
from remit_server.errors import RemitError, SetupError
from remit_server.runtime.opening import Shared, open_runtime
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings, existing_folder
from remit_server.runtime.turns.turn_streams import TurnStreams
from remit_server.sessions.folder import SessionFolder
from remit_server.workspace.ports import Documents

ReadSettings = Callable[[Path], Settings]
"""Returns the settings of a folder as they are now."""
OpenDocuments = Callable[[Path], Documents]
"""Returns what the client has open in a folder."""


@dataclass(frozen=True, slots=True)
class Folder:
    """One open folder."""

    root: Path
    settings: Settings
    runtime: Runtime
    turns: TurnStreams


class Folders:
    """The folders that are open, by their resolved paths."""

    def __init__(self, read: ReadSettings, documents: OpenDocuments, here: Path) -> None:
        self._read, self._documents = read, documents
        self._open: dict[Path, Folder] = {}
        self._named: dict[Path, SessionFolder] = {here: SessionFolder(Settings.of_places(here).session_folder)}
        self._shared = Shared()
        self._one_at_a_time = asyncio.Lock()

    async def open(self, named: str) -> Folder:
        """Returns the folder of an absolute path, opening it if necessary. Raises RemitError if there is none."""
        root = await self._name(named)
        async with self._one_at_a_time:
            if root not in self._open:
                self._open[root] = await self._begin(root)
            return self._open[root]

    async def kept(self, named: str | None = None) -> tuple[SessionFolder, ...]:
        """Returns the kept sessions of a folder, or else of all folders named so far and of the one that the agent was
        started in. Opens no runtime. Raises RemitError if there is no such folder."""
        return tuple(self._named.values()) if named is None else (self._named[await self._name(named)],)

    async def _name(self, named: str) -> Path:
        root = await asyncio.to_thread(_resolve, named)
        if root not in self._named:
            self._named[root] = SessionFolder((await asyncio.to_thread(Settings.of_places, root)).session_folder)
        return root

    def __iter__(self) -> Iterator[Folder]:
        return iter(tuple(self._open.values()))

    def cancel(self) -> None:
        """Cancels all running turns."""
        for folder in self:
            folder.runtime.cancel()

    async def close(self) -> None:
        """Closes the runtimes of all folders."""
        for folder in self:
            await folder.runtime.close()

    async def _begin(self, root: Path) -> Folder:
        settings = await asyncio.to_thread(self._read, root)
        runtime = await open_runtime(
            settings, self._documents(root), shared=self._shared, read_again=lambda: self._read(root)
        )
        return Folder(root, settings, runtime, TurnStreams(runtime))


def _resolve(named: str) -> Path:
    """Returns the resolved folder. Raises RemitError, which does not repeat the path, because it may be anything."""
    what, fix = "the session's folder cannot be opened", "name an existing folder by its absolute path"
    if not named.startswith("/") or "\0" in named:
        raise RemitError(what, "`cwd` is not an absolute path", fix, code=ErrorCode.INVALID_REQUEST)
    try:
        return existing_folder(Path(named))
    except SetupError as error:
        raise RemitError(what, error.why, fix, code=ErrorCode.INVALID_REQUEST) from None
