"""Checks which files a command may have removed or emptied: never one whose content went to where it may not be.

A command that moves a file leaves a new file and a removal. Where the one is dropped, so must be the other, or what the
person had would be nowhere (BOX-05).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from remit_server.tools.spec import FileChange

_MOVED = "its new place was refused"
_PLACE = "what took its place was not taken over"
_PERHAPS = "what it held may be in what was not taken over"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A file of a command's that is not taken over; `data` is None where nobody looked."""

    path: str
    data: bytes | None


def find_held_back(changes: Iterable[FileChange], dropped: Sequence[Dropped]) -> dict[str, str]:
    """Returns the changes that must not be, each with the reason: they would take content away that is nowhere else."""
    if not dropped:
        return {}
    paths = {each.path for each in dropped}
    above = {folder for path in paths for folder in _folders(path)}
    datas = {each.data for each in dropped}
    lines = {line for data in datas if data for line in _lines(data)}
    held: dict[str, str] = {}
    for change in changes:
        path, data = change.path.relative, change.before.data if change.before else b""
        if change.after is None and (path in above or not paths.isdisjoint(_folders(path))):
            held[path] = _PLACE
        elif data and data in datas and _gone(data, change.after):
            held[path] = _MOVED
        elif data and change.after is None and (None in datas or _mostly(data, lines)):
            held[path] = _PERHAPS
    return held


def _gone(data: bytes, after: bytes | None) -> bool:
    """Returns whether a file has lost its content, and is not merely edited beside a copy of what it was."""
    return after is None or not _mostly(data, set(_lines(after)))


def _folders(path: str) -> Iterable[str]:
    """Yields the folders above a path."""
    return (path[:end] for end, letter in enumerate(path) if letter == "/")


def _lines(data: bytes) -> list[bytes]:
    return [line for each in data.splitlines() if (line := each.strip())]


def _mostly(data: bytes, lines: set[bytes]) -> bool:
    """Returns whether half of its lines are among these: it may have been moved, and changed then."""
    own = _lines(data)
    return bool(own) and 2 * sum(line in lines for line in own) >= len(own)
