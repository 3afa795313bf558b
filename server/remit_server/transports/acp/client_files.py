"""The client's unsaved texts of files in a folder, if the client lets them be read. They count, not the files (TRN-17).

The protocol cannot say which files are open. So the client is asked for a file when a call is about to work with it,
and a text that differs from the disk is an open buffer. Absent: files that no call names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp import schema
from acp.exceptions import RequestError
from acp.meta import CLIENT_METHODS
from pydantic import ValidationError

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.transports.acp.sdk import AcpClient
from remit_server.workspace.content.text import plain
from remit_server.workspace.ports import OpenDocument

READ, WRITE = CLIENT_METHODS["fs_read_text_file"], CLIENT_METHODS["fs_write_text_file"]
WAIT_S = 5.0
MOST_BYTES = 4 << 20


@dataclass(slots=True)
class Access:
    """Whether the client lets the agent read and write its files, and the session that was used last."""

    reads: bool = False
    writes: bool = False
    session: str = ""


@dataclass(slots=True)
class ClientDocuments:
    """`Documents` of one folder, as the client last reported them."""

    root: Path
    access: Access
    client: Callable[[], AcpClient]
    _open: dict[str, OpenDocument] = field(default_factory=dict[str, OpenDocument])

    def get(self, relative: str) -> OpenDocument | None:
        """Returns the unsaved text of a file, or None if the file on disk counts."""
        return self._open.get(relative)

    def paths(self) -> tuple[str, ...]:
        """Returns the paths of all files with unsaved text."""
        return tuple(self._open)

    async def look(self, relatives: Sequence[str]) -> None:
        """Asks the client for these files, if it lets them be read."""
        if self.access.reads:
            await asyncio.gather(*map(self._look, relatives))

    async def replace(self, relative: str, before: OpenDocument, after: str, label: str) -> None:
        """Has the client write the text, if its own is still `before`. Raises ToolError."""
        del label
        if not self.access.writes:
            why = "it has unsaved changes, and this client lets no agent write"
            fix = "a person can save the file there: then it is edited on disk"
            raise ToolError(f"cannot edit `{relative}` in the editor", why, fix, code=ErrorCode.READ_ONLY)
        if not _same(await self._read(relative), before.text):
            fix = "read the file again and propose the edit again"
            why = "its buffer changed after the edit was proposed"
            raise ToolError(f"cannot edit `{relative}` in the editor", why, fix, code=ErrorCode.STALE, retryable=True)
        asked = schema.WriteTextFileRequest(session_id=self.access.session, path=self._path(relative), content=after)
        try:
            async with asyncio.timeout(WAIT_S):
                await self.client().ask(WRITE, asked, schema.WriteTextFileResponse)
        except (RequestError, ValidationError, ConnectionError, TimeoutError):
            pass  # the client's present text, read next, shows whether it wrote
        if not _same(await self._read(relative), after):
            fix = "a person has to look at it in the editor before you try again"
            what = f"it is not known whether `{relative}` was changed in the editor"
            raise ToolError(
                what, "the editor's text differs from the edit's result", fix, code=ErrorCode.OUTCOME_UNKNOWN
            )
        await self._look(relative)

    async def _look(self, relative: str) -> None:
        saved = await asyncio.to_thread(_saved, self.root / relative)
        text = None if saved is None else await self._read(relative)
        if text is None or _same(text, saved):
            self._open.pop(relative, None)
        else:
            self._open[relative] = OpenDocument(None, text)

    async def _read(self, relative: str) -> str | None:
        """Returns the client's text of a file, or None if it has none or does not answer."""
        asked = schema.ReadTextFileRequest(session_id=self.access.session, path=self._path(relative))
        try:
            async with asyncio.timeout(WAIT_S):
                answer = await self.client().ask(READ, asked, schema.ReadTextFileResponse)
        except (RequestError, ValidationError, ConnectionError, TimeoutError):
            return None
        return answer.content

    def _path(self, relative: str) -> str:
        return str(self.root / relative)


def _same(one: str | None, other: str | None) -> bool:
    """Returns whether two texts are equal apart from line ends, which the editor chooses."""
    return one is not None and other is not None and plain(one) == plain(other)


def _saved(path: Path) -> str | None:
    """Returns a file's text, or None if it is no file, too large, or no text."""
    try:
        return path.read_bytes().decode() if path.is_file() and path.stat().st_size <= MOST_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None
