"""The port to documents that are open in an editor: an open document's buffer counts, not the file (FILE-03)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A buffer as the editor last reported it. `version` is what the next edit has to name."""

    version: int | None
    text: str


class Documents(Protocol):
    """The editor's open documents, by workspace-relative path with `/`."""

    def get(self, relative: str) -> OpenDocument | None:
        """Returns the buffer, or None if the file is not open."""
        ...

    def paths(self) -> tuple[str, ...]:
        """Returns the paths of all open documents. Any thread may call this."""
        ...

    async def look(self, relatives: Sequence[str]) -> None:
        """Makes `get` return these buffers as they are now, if the editor does not report changes by itself."""
        ...

    async def replace(self, relative: str, before: OpenDocument, after: str, label: str) -> None:
        """Changes the buffer from exactly `before` to exactly `after` through the editor, and returns once it has.

        Raises ToolError: `stale` when the buffer is no longer `before` or the editor refused, `outcome_unknown` when
        the editor may have made the edit and did not show it.
        """
        ...


class NoDocuments:
    """The documents of a client that has none open: a terminal, a test."""

    def get(self, relative: str) -> OpenDocument | None:
        """Returns None."""
        del relative
        return None

    def paths(self) -> tuple[str, ...]:
        """Returns nothing."""
        return ()

    async def look(self, relatives: Sequence[str]) -> None:
        """Does nothing: nothing is open."""

    async def replace(self, relative: str, before: OpenDocument, after: str, label: str) -> None:
        """Is never called: nothing is open."""
        raise AssertionError(f"no document is open: {relative}")
