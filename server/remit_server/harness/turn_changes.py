"""Sums up what a turn has written: for each file the lines added and removed since before the turn (AGT-15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from remit_server.contract import FileOutcome
from remit_server.tools.spec import FileChange
from remit_server.workspace.history import PastChange
from remit_server.workspace.line_diff import line_edits

MAX_BYTES = 200_000
"""The most bytes of a file whose lines are counted."""


@dataclass(frozen=True, slots=True)
class Side:
    """What a file held at one moment. `digest` is None if there was no file, `data` is None if its bytes are not
    known."""

    digest: str | None = None
    data: bytes | None = None


NO_FILE = Side()


@dataclass(slots=True)
class TurnChanges:
    """The files that a turn has written so far, each as it was before and as it is now. `moved` holds the old paths of
    moved files by their new paths."""

    files: dict[str, tuple[Side, Side]] = field(default_factory=dict[str, tuple[Side, Side]])
    moved: dict[str, str] = field(default_factory=dict[str, str])

    def note(self, change: FileChange) -> None:
        """Notes a change that was merged."""
        image, old = change.before, change.moved_from
        before = NO_FILE if image is None else Side(image.digest, None if image.left_out else image.data)
        after = NO_FILE if change.after is None else Side(change.digest, change.after)
        self._note_change(change.path.relative, None if old is None else old.relative, before, after)

    def note_past(self, change: PastChange, contents: Callable[[str], bytes | None]) -> None:
        """Notes a change that a session has kept; `contents` returns what it kept under a digest."""
        before, after = (
            NO_FILE if digest is None else Side(digest, contents(digest)) for digest in (change.before, change.after)
        )
        self._note_change(change.path, change.moved_from, before, after)

    def forget_unchanged(self, now: Mapping[str, str | None]) -> None:
        """Forgets the files that are as before the turn; `now` has their digests by path, None for no file."""
        self.files = {path: sides for path, sides in self.files.items() if now[path] != sides[0].digest}
        self.moved = {path: old for path, old in self.moved.items() if path in self.files and old in self.files}

    def _note_change(self, path: str, old: str | None, before: Side, after: Side) -> None:
        if old is None:
            self._note(path, before, after)
            return
        self._note(old, before, NO_FILE)
        self._note(path, NO_FILE, before)
        self.moved[path] = self.moved.pop(old, old)

    def _note(self, path: str, before: Side, after: Side) -> None:
        first, _ = self.files.get(path, (before, after))
        self.files[path] = (first, after)

    def summary(self, redact: Callable[[str], str] = str) -> tuple[FileOutcome, ...]:
        """Returns the files that differ from before the turn, sorted by path. `redact` removes secrets from their
        names."""
        named = (self._changed(path, before, after) for path, (before, after) in sorted(self.files.items()))
        return tuple(
            changed.model_copy(
                update={"path": redact(changed.path), "moved_from": changed.moved_from and redact(changed.moved_from)}
            )
            for changed in named
            if changed is not None
        )

    def _changed(self, path: str, before: Side, after: Side) -> FileOutcome | None:
        source = self._source(path)
        if source is not None:
            added, removed = _count(self.files[source][0], after)
            return FileOutcome(path=path, how="moved", moved_from=source, added=added, removed=removed)
        if before.digest == after.digest or self._is_now_elsewhere(path, after):
            return None
        added, removed = _count(before, after)
        how = "created" if before == NO_FILE else "deleted" if after == NO_FILE else "changed"
        return FileOutcome(path=path, how=how, added=added, removed=removed)

    def _is_now_elsewhere(self, path: str, after: Side) -> bool:
        """Returns whether a file that is gone was moved to another path, whose outcome names it already."""
        return after == NO_FILE and any(self._source(place) == path for place in self.moved)

    def _source(self, path: str) -> str | None:
        """Returns the path that the file at `path` had before the turn, or None if it was not moved there, did not
        exist before the turn, or is gone."""
        before, after = self.files[path]
        source = self.moved.get(path)
        if source is None or before != NO_FILE or after == NO_FILE:
            return None
        return source if self.files[source][0] != NO_FILE else None


def _count(before: Side, after: Side) -> tuple[int | None, int | None]:
    """Returns how many lines were added and removed, or None for both if a side is not text, not known, or too
    large."""
    old, new = _lines(before), _lines(after)
    if old is None or new is None:
        return None, None
    edits = line_edits(old, new)
    return sum(edit.new_end - edit.new for edit in edits), sum(edit.old_end - edit.old for edit in edits)


def _lines(side: Side) -> list[str] | None:
    if side.digest is None:
        return []
    if side.data is None or len(side.data) > MAX_BYTES:
        return None
    try:
        return side.data.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
