"""The agent runtime of a workspace folder: opened once on first use, and again after a failure (LSP-06)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # the port imports the contract, which is slow
    from remit_server.runtime.opening import Shared
    from remit_server.runtime.ports import AgentRuntime
    from remit_server.workspace.code import CodeIntelligence
    from remit_server.workspace.ports import Documents

EditorSettings: TypeAlias = Callable[[], Mapping[tuple[str, str], Any]]
"""Returns those of Remit's settings that the editor has, and may set, as they are now."""

OpenRuntime: TypeAlias = "Callable[[Path, Documents, CodeIntelligence, EditorSettings, Path], Awaitable[AgentRuntime]]"
"""Opens a workspace's runtime, with its open documents, its editor's code intelligence and settings, and the path by
which the editor named the workspace. Raises SetupError."""


def configured_runtimes() -> OpenRuntime:
    """Returns a function that opens runtimes by the environment and each workspace's settings. They share one model and
    the sandboxes."""
    shared: list[Shared] = []

    async def open_configured(
        workspace: Path, documents: Documents, code: CodeIntelligence, editor: EditorSettings, named: Path
    ) -> AgentRuntime:
        from remit_server.runtime.opening import Shared, open_runtime
        from remit_server.runtime.settings import Settings, path_through_links

        if not shared:
            shared.append(Shared())

        def read() -> Settings:
            # The link may lead elsewhere by now; this folder stays the one that was opened.
            opened_as = path_through_links(named, workspace, {})
            return replace(Settings.from_environment(workspace, editor=editor()), opened_as=opened_as)

        return await open_runtime(read(), documents, code, shared[0], read)

    return open_configured


class RuntimeSlot:
    """Holds one workspace's runtime."""

    def __init__(self, open_runtime: Callable[[], Awaitable[AgentRuntime]]) -> None:
        self._open_runtime = open_runtime
        self._opening: asyncio.Task[AgentRuntime] | None = None
        self._closed = False

    @property
    def opened(self) -> AgentRuntime | None:
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

    async def get(self) -> AgentRuntime:
        """Returns the runtime, opening it if necessary. A cancelled caller leaves the opening to the next one.

        Raises SetupError, and asyncio.CancelledError after `close`.
        """
        if self._closed:
            raise asyncio.CancelledError
        if self._opening is None or (self._opening.done() and self.opened is None):
            self._opening = asyncio.ensure_future(self._open())
        return await asyncio.shield(self._opening)

    async def settle(self) -> None:
        """Waits for an opening under way, whatever it comes to."""
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

    async def _open(self) -> AgentRuntime:
        return await self._open_runtime()
