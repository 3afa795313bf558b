"""A second, obvious implementation of undo, for texts in which no line occurs twice (SES-05)."""

from __future__ import annotations

from dataclasses import dataclass, field

Hunk = tuple[int, int, tuple[str, ...]]
"""The lines from the first number up to the second became these."""


def hunks(old: list[str], new: list[str]) -> list[Hunk]:
    """Returns the hunks that turn `old` into `new`. The common lines must be in the same order in both."""
    found: list[Hunk] = []
    at, added = 0, list[str]()
    for line in [*new, None]:
        if line is not None and line not in old:
            added.append(line)
            continue
        to = len(old) if line is None else old.index(line)
        if to > at or added:
            found.append((at, to, tuple(added)))
        at, added = to + 1, []
    return found


def obvious_take_back(after: list[str], before: list[str], now: list[str]) -> list[str]:
    """Takes hunks out of `now`. Each line of `after`, and each place between two lines, is a slot; a hunk is taken back
    if all its slots are as they were."""
    mine, theirs = hunks(after, before), hunks(after, now)
    taken = [hunk for hunk in mine if not any(meet(hunk, other) for other in theirs)]
    result: list[str] = []
    at = 0
    for start, end, new in sorted([*theirs, *taken]):
        result += [*after[at:start], *new]
        at = max(at, end)
    return result + after[at:]


def meet(one: Hunk, other: Hunk) -> bool:
    slots = [{*range(start, end), *(place + 0.5 for place in range(start, end - 1))} for start, end, _ in (one, other)]
    empty = [not each for each in slots]
    if all(empty):
        return one[0] == other[0]
    if any(empty):
        inserted, changed = (one, other) if empty[0] else (other, one)
        return inserted[0] - 0.5 in (slots[1] if empty[0] else slots[0]) and changed is not inserted
    return bool(slots[0] & slots[1])


@dataclass
class ObviousHistory:
    """Files as lists of lines (None: there is none), turns that changed them, and a stack of undoes."""

    files: dict[str, list[str] | None] = field(default_factory=dict)
    done: dict[int, dict[str, tuple[list[str] | None, list[str] | None]]] = field(default_factory=dict)
    undone: list[tuple[int, dict[str, tuple[list[str] | None, list[str] | None]]]] = field(default_factory=list)

    def change(self, turn: int, files: dict[str, list[str] | None]) -> None:
        self.done[turn] = {path: (self.files.get(path), lines) for path, lines in files.items()}
        self.files |= files

    def undo(self) -> bool:
        """Takes back the last turn that is not undone; returns whether it is undone now."""
        open_turns = sorted(self.done.keys() - {turn for turn, _ in self.undone})
        if not open_turns:
            return False
        wanted = self.done[open_turns[-1]]
        changed = self._take_back(wanted)
        if changed or self._holds(wanted):
            self.undone.append((open_turns[-1], changed))
            return True
        return False

    def redo(self) -> bool:
        """Takes back the last undo that changed something; returns whether it is taken back now."""
        found = [i for i, (_, changed) in enumerate(self.undone) if changed]
        if not found:
            return False
        wanted = self.undone[found[-1]][1]
        if self._take_back(wanted) or self._holds(wanted):
            self.undone.pop(found[-1])
            return True
        return False

    def _holds(self, change: dict[str, tuple[list[str] | None, list[str] | None]]) -> bool:
        """Returns whether the files hold what they held before the change."""
        return all(self.files.get(path) == before for path, (before, _) in change.items())

    def _take_back(
        self, change: dict[str, tuple[list[str] | None, list[str] | None]]
    ) -> dict[str, tuple[list[str] | None, list[str] | None]]:
        changed = {}
        for path, (before, after) in change.items():
            now = self.files.get(path)
            if now == after:
                new = before
            elif now is None or before is None or after is None:
                new = now
            else:
                new = obvious_take_back(after, before, now)
            if new != now:
                changed[path] = (now, new)
                self.files[path] = new
        return changed
