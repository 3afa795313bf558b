"""The editor's open documents: while one is open its buffer is the truth, and only its content is believed
(protocol.md §3, Edits)."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pygls.uris import to_fs_path

from remit_server.lsp.edits import Edit, apply_edit, minimal_edit, same_but_for_line_ends
from remit_server.workspace.ports import OpenDocument

if TYPE_CHECKING:  # errors know the contract, which is slow to import
    from remit_server.errors import ToolError

logger = logging.getLogger(__name__)

SETTLE_S = 5.0
"""How long a `didChange` may take to follow an edit that the editor says it applied; Neovim holds it back 0.15 s."""


@dataclass(frozen=True, slots=True)
class EditRequest:
    """One edit of one file, for the editor to apply to exactly this version."""

    uri: str
    version: int | None
    edit: Edit
    label: str


ApplyEdit = Callable[[EditRequest], Awaitable[str | None]]
"""Puts an edit to the editor; returns why it was refused, or None. None proves nothing."""


@dataclass(slots=True)
class Buffer:
    """A document as the editor last told us. `relative` is its path below the workspace, with `/`."""

    uri: str
    relative: str
    version: int | None
    text: str
    expected: tuple[str, asyncio.Future[None]] | None = None

    def settle(self) -> None:
        """Tell who waits for this content that it has arrived."""
        if self.expected is None:
            return
        text, arrived = self.expected
        if not arrived.done() and same_but_for_line_ends(self.text, text):
            arrived.set_result(None)


class EditorDocuments:
    """`Documents` of one editor: the buffers below one workspace root, as text sync reports them."""

    def __init__(self, root: Path, apply: ApplyEdit, settle_s: float = SETTLE_S) -> None:
        self._root = root
        self._apply = apply
        self._settle_s = settle_s
        self._buffers: dict[str, Buffer] = {}
        self._one_edit_at_a_time = asyncio.Lock()

    def opened(self, uri: str, version: int, text: str) -> None:
        """The editor opened a document. One that is not below the root is none of ours."""
        path = to_fs_path(uri)
        relative = self._relative(path) if path else None
        if path and relative is not None:
            self._buffers[path] = Buffer(uri, relative, version, text)

    def changed(self, uri: str, version: int, edits: Iterable[Edit | str]) -> None:
        """The editor changed a document: edits in order, a bare string being the whole new text."""
        buffer = self.at(uri)
        if buffer is None:
            logger.debug("a change of a document that is not open here was ignored")
            return
        text = buffer.text
        for edit in edits:
            text = edit if isinstance(edit, str) else apply_edit(text, edit)
        buffer.text, buffer.version = text, version
        buffer.settle()

    def closed(self, uri: str) -> None:
        """The editor closed a document: its file is the truth again."""
        self._buffers.pop(to_fs_path(uri) or uri, None)

    def at(self, uri: str) -> Buffer | None:
        """The buffer with this URI, however it is percent-encoded."""
        return self._buffers.get(to_fs_path(uri) or uri)

    def get(self, relative: str) -> OpenDocument | None:
        """The buffer of a workspace-relative path, or None where the file is not open."""
        buffer = self._find(relative)
        return None if buffer is None else OpenDocument(buffer.version, buffer.text)

    def paths(self) -> tuple[str, ...]:
        """The workspace-relative paths of all that is open."""
        return tuple(buffer.relative for buffer in list(self._buffers.values()))

    async def replace(self, relative: str, before: OpenDocument, after: str, label: str) -> None:
        """Change the buffer from exactly `before` to exactly `after`, in one versioned edit, and see it done.

        Raises ToolError (`stale`) when the buffer is no longer `before`, or does not become `after`.
        """
        async with self._one_edit_at_a_time:
            buffer = self._find(relative)
            if buffer is None or buffer.text != before.text:
                raise _stale(relative, "its buffer changed after the edit was proposed")
            if buffer.text != after:
                await self._put(buffer, after, label)

    async def _put(self, buffer: Buffer, after: str, label: str) -> None:
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        buffer.expected = (after, arrived)
        edit = minimal_edit(buffer.text, after)
        try:
            refusal = await self._apply(EditRequest(buffer.uri, buffer.version, edit, label))
            if refusal is None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(arrived), self._settle_s)
            if not arrived.done():
                raise _stale(buffer.relative, refusal or "the editor said that it applied the edit, but did not")
        finally:
            buffer.expected = None

    def _find(self, relative: str) -> Buffer | None:
        return next((b for b in self._buffers.values() if b.relative == relative), None)

    def _relative(self, path: str) -> str | None:
        real = Path(os.path.realpath(path))
        return real.relative_to(self._root).as_posix() if real.is_relative_to(self._root) else None


def _stale(relative: str, why: str) -> ToolError:
    from remit_server.contract import ErrorCode
    from remit_server.errors import ToolError

    return ToolError(
        f"cannot edit `{relative}` in the editor",
        why,
        "read the file again and propose the edit anew",
        code=ErrorCode.STALE,
        retryable=True,
    )
