"""Takes a change back out of a text that others have changed since, hunk by hunk; pure (SES-05)."""

from __future__ import annotations

from dataclasses import dataclass

from remit_server.workspace.line_diff import Edit, line_edits


@dataclass(frozen=True, slots=True)
class Merged:
    """A text in which `done` hunks were taken back, and `left` were not: others changed the same lines."""

    data: bytes
    done: int
    left: int


def take_back(after: bytes, before: bytes, now: bytes) -> Merged:
    """Takes the change from `before` to `after` out of `now`. Lines that others changed stay as they are.

    A hunk is taken back whole or not at all. One that is out already counts for neither.
    """
    base, wanted, current = _lines(after), _lines(before), _lines(now)
    theirs = line_edits(base, current)
    out: list[str] = []
    at = done = left = 0
    for mine in line_edits(base, wanted):
        meeting = [edit for edit in theirs if _meet(mine, edit)]
        start = mine.old + _shift(theirs, mine)
        end = start + mine.old_end - mine.old
        piece = wanted[mine.new : mine.new_end]
        if meeting or not _fits(current[start - 1 : start], piece, current[end : end + 1]):
            left += 0 if _is_out(mine, meeting, wanted, current) else 1
            continue
        out += [*current[at:start], *piece]
        at = end
        done += 1
    return Merged("".join([*out, *current[at:]]).encode("latin-1"), done, left)


def _meet(one: Edit, other: Edit) -> bool:
    """Returns whether both change a line, or both put something at the same place."""
    if one.old == one.old_end and other.old == other.old_end:
        return one.old == other.old
    return one.old < other.old_end and other.old < one.old_end


def _is_out(mine: Edit, meeting: list[Edit], wanted: list[str], current: list[str]) -> bool:
    """Returns whether the others did just what taking it back would do."""
    if len(meeting) != 1:
        return False
    (edit,) = meeting
    same = (edit.old, edit.old_end) == (mine.old, mine.old_end)
    return same and current[edit.new : edit.new_end] == wanted[mine.new : mine.new_end]


def _fits(above: list[str], piece: list[str], below: list[str]) -> bool:
    """Returns whether no line runs into the next: the last one of a text may have no end. `above` and `below` are one
    line."""
    return not piece or ((not above or _ends(above)) and (not below or _ends(piece)))


def _ends(lines: list[str]) -> bool:
    return lines[-1].endswith("\n")


def _shift(theirs: list[Edit], mine: Edit) -> int:
    """By how many lines what stands at `mine` has moved. What others put just before a place stays before it."""
    return sum((edit.new_end - edit.new) - (edit.old_end - edit.old) for edit in theirs if edit.old_end <= mine.old)


def _lines(data: bytes) -> list[str]:
    """Returns lines with their ends; each byte is a character, so that no encoding matters."""
    *whole, last = data.decode("latin-1").split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])
