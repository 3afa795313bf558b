"""The editor's open documents. Their buffers count, not the files, and only as the editor reported them (FILE-03)."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remit_server.transports.lsp.buffers.edits import (
    Edit,
    Encoding,
    apply_changes,
    minimal_edit,
    same_but_for_line_ends,
)
from remit_server.transports.lsp.buffers.uris import file_path
from remit_server.workspace.ports import OpenDocument

if TYPE_CHECKING:  # errors import the contract, which is slow
    from remit_server.errors import ToolError

logger = logging.getLogger(__name__)

SETTLE_S = 5.0
"""The seconds to wait for the `didChange` that an applied edit causes; Neovim delays it by 0.15 s."""


_SAID_APPLIED = "the editor said that it applied the edit, but its new text has not arrived yet"
_OTHER_TEXT = "the editor's new text differs from the edit's result; it may contain the edit"
_APPLIED_AFTER_ALL = "the edit has arrived after all: the buffer is changed, as you allowed, and not saved"
_CHANGED_OTHERWISE = "its buffer changed to something other than the edit's result: check whether it contains the edit"
_CLOSED_BEFORE = "it was closed before its new text arrived: check whether it contains the edit"


@dataclass(frozen=True, slots=True)
class EditRequest:
    """One edit of one file, to be applied to exactly this version."""

    uri: str
    version: int | None
    edit: Edit
    label: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The editor did not apply the edit; `for_good` says that it never applies edits."""

    why: str
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The editor gave no usable answer: it may have applied the edit, or may still apply it."""

    why: str


ApplyEdit = Callable[[EditRequest], Awaitable[Refused | Unanswered | None]]
"""Sends an edit to the editor. Returns None if the editor says that it applied the edit, which proves nothing."""

Tell = Callable[[str], None]
"""Shows the person a message outside of any turn."""


@dataclass(slots=True)
class Buffer:
    """A document as the editor last reported it. `path` is the path of its file, with links resolved.

    `expected` is the text after a pending edit, and the future that waits for that text. `unconfirmed` is the path and
    text of an edit that the editor may still have applied although no call waits for it any more.
    """

    uri: str
    path: Path
    version: int | None
    text: str
    expected: tuple[str, asyncio.Future[None]] | None = None
    unconfirmed: tuple[str, str] | None = None

    def has_arrived(self) -> bool:
        """Completes the pending edit's future if its text has arrived. Returns whether the text of the unconfirmed edit
        has arrived.
        """
        if self.expected is not None:
            text, arrived = self.expected
            if not arrived.done() and same_but_for_line_ends(self.text, text):
                arrived.set_result(None)
        return self.unconfirmed is not None and same_but_for_line_ends(self.text, self.unconfirmed[1])


class OpenBuffers:
    """All files that one editor has open, as text sync reports them, in any workspace folder.

    `encoding` is the unit of the editor's positions.
    """

    def __init__(self, tell: Tell = lambda text: logger.info("%s", text)) -> None:
        self._tell = tell
        self._by_path: dict[str, Buffer] = {}
        self.encoding: Encoding = "utf-16"

    def open(self, uri: str, version: int, text: str) -> None:
        """Adds an opened document, unless it is not a file of this machine."""
        path = file_path(uri)
        if path and path.startswith("/") and not path.startswith("//"):
            self._by_path[path] = Buffer(uri, Path(os.path.realpath(path)), version, text)

    def change(self, uri: str, version: int, edits: Iterable[Edit | str]) -> None:
        """Applies the editor's changes to a document, in order; a bare string is the whole new text."""
        buffer = self.at(uri)
        if buffer is None:
            logger.debug("a change of a document that is not open here was ignored")
            return
        arrived, awaited = False, buffer.expected is not None or buffer.unconfirmed is not None
        buffer.version = version
        # While an edit is pending, compare after each step, because the same message may have what was typed after it.
        for step in ([edit] for edit in edits) if awaited else (edits,):
            buffer.text = apply_changes(buffer.text, step, self.encoding)
            arrived = buffer.has_arrived() or arrived
        if buffer.unconfirmed is not None:
            (relative, _), buffer.unconfirmed = buffer.unconfirmed, None
            self._tell(f"`{relative}`: {_APPLIED_AFTER_ALL if arrived else _CHANGED_OTHERWISE}")

    def close(self, uri: str) -> None:
        """Removes a closed document, so that its file counts again."""
        buffer = self._by_path.pop(file_path(uri) or uri, None)
        if buffer is not None and buffer.unconfirmed is not None:
            self._tell(f"`{buffer.unconfirmed[0]}`: {_CLOSED_BEFORE}")

    def at(self, uri: str) -> Buffer | None:
        """Returns the buffer with this URI, in any percent-encoding."""
        return self._by_path.get(file_path(uri) or uri)

    def of(self, path: Path) -> Buffer | None:
        """Returns the buffer of a file's resolved path."""
        return next((buffer for buffer in self if buffer.path == path), None)

    def __iter__(self) -> Iterator[Buffer]:
        return iter(tuple(self._by_path.values()))


class EditorDocuments:
    """`Documents` of one workspace folder: the open buffers below its root."""

    def __init__(self, root: Path, buffers: OpenBuffers, apply: ApplyEdit, settle_s: float = SETTLE_S) -> None:
        self._root = root
        self._buffers = buffers
        self._apply = apply
        self._settle_s = settle_s
        self._one_edit_at_a_time = asyncio.Lock()

    def get(self, relative: str) -> OpenDocument | None:
        """Returns the buffer of a workspace-relative path, or None if the file is not open."""
        buffer = self._find(relative)
        return None if buffer is None else OpenDocument(buffer.version, buffer.text)

    def paths(self) -> tuple[str, ...]:
        """Returns the workspace-relative paths of all open documents."""
        below = (buffer.path for buffer in self._buffers if buffer.path.is_relative_to(self._root))
        return tuple(path.relative_to(self._root).as_posix() for path in below)

    async def look(self, relatives: Sequence[str]) -> None:
        """Does nothing, because the editor reports its buffers by itself."""

    async def replace(self, relative: str, before: OpenDocument, after: str, label: str) -> None:
        """Changes the buffer from exactly `before` to exactly `after` by one versioned edit, and waits for the result.

        Raises ToolError: `stale` if the buffer is no longer `before` or the editor refuses, `read_only` if the editor
        never applies edits, `outcome_unknown` if it may have applied the edit but the expected text has not arrived.
        """
        async with self._one_edit_at_a_time:
            buffer = self._find(relative)
            if buffer is None or buffer.text != before.text:
                raise _stale(relative, "its buffer changed after the edit was proposed")
            if buffer.text != after:
                await self._put(buffer, relative, after, label)

    async def _put(self, buffer: Buffer, relative: str, after: str, label: str) -> None:
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        before, buffer.expected = buffer.text, (after, arrived)
        edit = minimal_edit(before, after, self._buffers.encoding)
        try:
            answer = await self._apply(EditRequest(buffer.uri, buffer.version, edit, label))
            if not isinstance(answer, Refused):
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(arrived), self._settle_s)
        finally:
            buffer.expected = None
        if arrived.done():
            return
        if isinstance(answer, Refused):
            raise _never(relative, answer.why) if answer.for_good else _stale(relative, answer.why)
        if same_but_for_line_ends(buffer.text, before):
            buffer.unconfirmed = (relative, after)
            raise _unknown(relative, answer.why if answer else _SAID_APPLIED)
        raise _unknown(relative, _OTHER_TEXT)

    def _find(self, relative: str) -> Buffer | None:
        return self._buffers.of(self._root / relative)


def _stale(relative: str, why: str) -> ToolError:
    from remit_server.contract import ErrorCode
    from remit_server.errors import ToolError

    return ToolError(
        f"cannot edit `{relative}` in the editor",
        why,
        "read the file again and propose the edit again",
        code=ErrorCode.STALE,
        retryable=True,
    )


def _never(relative: str, why: str) -> ToolError:
    from remit_server.contract import ErrorCode
    from remit_server.errors import ToolError

    return ToolError(
        f"cannot edit `{relative}` while it is open in the editor",
        why,
        "a person can close the file there: then it is edited on disk",
        code=ErrorCode.READ_ONLY,
    )


def _unknown(relative: str, why: str) -> ToolError:
    from remit_server.contract import ErrorCode
    from remit_server.errors import ToolError

    return ToolError(
        f"it is not known whether `{relative}` was changed in the editor",
        why,
        "a person has to look at it in the editor before you try again",
        code=ErrorCode.OUTCOME_UNKNOWN,
    )
