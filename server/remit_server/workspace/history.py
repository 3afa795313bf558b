"""The port to what was changed before: by which turn, and what the files held (SES-05)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PastChange:
    """One file that a turn brought from `before` to `after`: digests, None where there was no file.

    `executable` are its rights before and afterwards, None where they stayed. With `moved_from`, `before` was there.
    """

    path: str
    before: str | None
    after: str | None
    executable: tuple[bool, bool] | None = None
    moved_from: str | None = None


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What one turn changed, in order. `undoes` are the turns that it took back, where it is an undo or a redo."""

    turn_id: str
    changes: tuple[PastChange, ...]
    undoes: tuple[str, ...] = ()


class History(Protocol):
    """What the turns of one session changed, the oldest first, and what the files held."""

    def turns(self) -> Sequence[PastTurn]:
        """Returns the turns that changed something."""
        ...

    def mark(self) -> str:
        """Returns a name for the last change by now."""
        ...

    def changes_since(self, mark: str) -> Sequence[PastChange] | None:
        """Returns the changes after a mark, in order; None where it is not known."""
        ...

    def contents(self, digest: str) -> bytes | None:
        """Returns what a file held; None where that was not kept."""
        ...


class NoHistory:
    """Of a session that keeps nothing."""

    def turns(self) -> Sequence[PastTurn]:
        """Returns no turn."""
        return ()

    def mark(self) -> str:
        """Returns the name of none."""
        return ""

    def changes_since(self, mark: str) -> Sequence[PastChange] | None:
        """Returns no change."""
        del mark
        return ()

    def contents(self, digest: str) -> bytes | None:
        """Returns nothing."""
        del digest
        return None
