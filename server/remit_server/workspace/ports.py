"""Documents that are open in an editor: while one is, its buffer is the truth, not the file (FILE-03)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A buffer as the editor last told us. `version` is what the next edit has to name."""

    version: int | None
    text: str


class Documents(Protocol):
    """The editor's open documents, by workspace-relative path with `/`."""

    def get(self, relative: str) -> OpenDocument | None:
        """The buffer, or None where the file is not open."""
        ...

    def paths(self) -> tuple[str, ...]:
        """The paths of all that is open. May be asked from any thread."""
        ...

    async def replace(self, relative: str, before: OpenDocument, after: str, label: str) -> None:
        """Change the buffer from exactly `before` to exactly `after`, through the editor, and see it done.

        Raises ToolError: `stale` when the buffer is no longer `before` or the editor refused, `outcome_unknown` when
        the editor may have made the edit and did not show it.
        """
        ...


class NoDocuments:
    """Documents of a client that has none open: a terminal, a test."""

    def get(self, relative: str) -> OpenDocument | None:
        """Nothing is open."""
        del relative
        return None

    def paths(self) -> tuple[str, ...]:
        """Nothing is open."""
        return ()

    async def replace(self, relative: str, before: OpenDocument, after: str, label: str) -> None:
        """Never called: nothing is open."""
        raise AssertionError(f"no document is open: {relative}")
