"""Describes ended calls and turns to a person, on every surface: how long they took, and what they changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from remit_governance.visible import visible
from remit_server.contract import FileOutcome, ToolResultEvent
from remit_server.counted import counted

CUT = "the output was too long to keep; to get all of it, let the command write to a file (`… > FILE`)"


def duration(milliseconds: float) -> str:
    """Returns a time as people say it: `85 ms`, `3.2 s`, `2 min 5 s`."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    return f"{minutes} min {seconds} s"


def remarks(event: ToolResultEvent) -> tuple[str, ...]:
    """Returns what to say of a command besides its output: its changes, its network, and that not all of the output was
    kept."""
    notes = event.data.get("notes")
    told = tuple(str(note) for note in notes) if isinstance(notes, list) else ()
    return (*told, CUT) if event.data.get("truncated") is True and event.ran_program else told


MOST_CHANGED = 20
"""Files of a turn that are named one by one."""


def changed_files(changes: Sequence[FileOutcome]) -> Iterable[str]:
    """Yields the files that a turn has changed, a line each: `src/a.py +3 −1`; and how many more there are."""
    yield from map(_changed_file, changes[:MOST_CHANGED])
    if len(changes) > MOST_CHANGED:
        yield f"and {len(changes) - MOST_CHANGED:,} files more"


def changed_in_all(changes: Sequence[FileOutcome]) -> str:
    """Returns how much a turn has changed: `2 files changed, +5 −3`; lines that could not be counted are left out."""
    count = f"{counted(len(changes), 'file')} changed"
    known = [(each.added or 0, each.removed or 0) for each in changes if each.added is not None]
    lines = [sum(column) for column in zip(*known, strict=True)]
    return f"{count}, +{lines[0]:,} −{lines[1]:,}" if lines else count


def _changed_file(change: FileOutcome) -> str:
    path = visible(change.path, "show")
    name = f"{visible(change.moved_from, 'show')} → {path}" if change.moved_from is not None else path
    lines = "" if change.added is None or change.removed is None else f" +{change.added:,} −{change.removed:,}"
    how = {"created": " (new)", "deleted": " (deleted)"}.get(change.how, "")
    return f"{name}{lines}{how}"
