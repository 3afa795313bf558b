"""The port to past changes: which turn made them, and what the files held (SES-05)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class PastChange:
    """One file that a turn changed from `before` to `after`: digests, None if there was no file.

    `executable` tells whether the file was executable before and afterwards, None if that did not change. `moved_from`
    is the path at which `before` was, if the file was moved.
    """

    path: str
    before: str | None
    after: str | None
    executable: tuple[bool, bool] | None = None
    moved_from: str | None = None


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What one turn changed, in order. `undoes` are the turns that it took back, if it is an undo or a redo; it changed
    nothing if there was nothing left of them to take back."""

    turn_id: str
    changes: tuple[PastChange, ...]
    undoes: tuple[str, ...] = ()


Direction = Literal["undo", "redo"]


def can_take_back(turns: Sequence[PastTurn], direction: Direction, turn_id: str | None = None) -> Sequence[PastTurn]:
    """Returns the turns whose changes can be taken back, the oldest first: a redo takes back an undo that changed
    something.

    `turn_id` selects one turn. A turn that was undone can be selected again, because it may have been undone in part
    only.
    """
    undone = _undone(turns)
    if direction == "undo":
        own = [turn for turn in turns if not turn.undoes]
        return [turn for turn in own if (turn.turn_id not in undone if turn_id is None else turn.turn_id == turn_id)]
    originals = {turn.turn_id for turn in turns if not turn.undoes}
    wanted = originals if turn_id is None else originals & {turn_id}
    undoes = [turn for turn in turns if turn.changes and wanted.intersection(turn.undoes)]
    return [turn for turn in undoes if turn.turn_id not in undone]


def _undone(turns: Sequence[PastTurn]) -> set[str]:
    """Returns the turns that are undone now: an undo that was redone does not count."""
    undone: set[str] = set()
    for turn in reversed(turns):
        if turn.turn_id not in undone:
            undone.update(turn.undoes)
    return undone


def taken_back_by(turns: Sequence[PastTurn], turn_id: str) -> Direction | None:
    """Returns the direction that takes a turn's changes back: a redo for an undo, an undo for every other turn; None if
    the turn changed nothing that was kept.
    """
    undoes = {turn.turn_id: turn.undoes for turn in turns if turn.changes}
    if turn_id not in undoes:
        return None
    is_undo = any(not undoes.get(each) for each in undoes[turn_id])
    return "redo" if is_undo else "undo"


class History(Protocol):
    """What the turns of one session changed, the oldest first, and what the files held."""

    def turns(self) -> Sequence[PastTurn]:
        """Returns the turns that changed something, or took one back."""
        ...

    def mark(self) -> str:
        """Returns a name for the last change so far."""
        ...

    def changes_since(self, mark: str) -> Sequence[PastChange] | None:
        """Returns the changes after a mark, in order; None if the mark is unknown."""
        ...

    def contents(self, digest: str) -> bytes | None:
        """Returns the contents with this digest; None if they were not kept."""
        ...


class NoHistory:
    """The history of a session that keeps nothing."""

    def turns(self) -> Sequence[PastTurn]:
        """Returns no turn."""
        return ()

    def mark(self) -> str:
        """Returns an empty name."""
        return ""

    def changes_since(self, mark: str) -> Sequence[PastChange] | None:
        """Returns no change."""
        del mark
        return ()

    def contents(self, digest: str) -> bytes | None:
        """Returns nothing."""
        del digest
        return None
