"""Fits a prepared or approved change into a text that has changed elsewhere since. A hunk is applied only where its old
lines, with the shown context, stand exactly once and within the same enclosing lines (FILE-06)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import cast

from pydantic import JsonValue

from remit_server.errors import ToolError
from remit_server.harness.approval.review import Hunk, hunks_between
from remit_server.tools.files.read_source import with_one_mark
from remit_server.tools.spec import FileChange, WritePlan
from remit_server.workspace.content.files import FileImage, image_of_text
from remit_server.workspace.content.text import Text
from remit_server.workspace.ports import Documents

MAX_HUNKS = 200
"""The most hunks of a change that is fitted. A change with more is shown to the person again instead."""


def rebase_plan(plan: WritePlan, documents: Documents) -> WritePlan | None:
    """Returns the plan fitted into the editor's present buffers, or None if a change does not fit as it was shown.

    Follows only open buffers. If a file changed on disk, the person is asked again.
    """
    changes: list[FileChange] = []
    for change in plan.changes:
        document = documents.get(change.path.relative)
        try:
            now = image_of_text(document.text) if document is not None else None
            fitted = change if now is None or _is_unchanged(change, now) else rebase_change(change, now)
        except ToolError:  # the buffer, or the old content of the file, is not text
            fitted = None
        if fitted is None:
            return None
        changes.append(fitted)
    renamed = {old.digest or "": new.digest or "" for old, new in zip(plan.changes, changes, strict=True)}
    data = cast("Mapping[str, JsonValue]", _replace_digests(dict(plan.outcome.data), renamed))
    return replace(plan, changes=tuple(changes), outcome=replace(plan.outcome, data=data))


def rebase_change(change: FileChange, now: FileImage) -> FileChange | None:
    """Returns the change with the same hunks applied to the present text, or None if a hunk fits nowhere or in more
    than one place.

    Raises ToolError (`binary_file`).
    """
    if change.before is None or change.after is None or change.moved_from is not None or change.before.left_out:
        return None
    name = change.path.relative
    before, after = Text.decode(change.before.data, name), Text.decode(change.after, name)
    current = Text.decode(now.data, name)
    if (before.encoding, before.mark) != (current.encoding, current.mark) or before.content == after.content:
        return None
    merged = apply_hunks(before.content, current.content, hunks_between(before.content, after.content))
    if merged is None:
        return None
    return replace(change, before=now, after=current.encode(with_one_mark(current, merged)))


def apply_hunks(before: str, current: str, hunks: tuple[Hunk, ...]) -> str | None:
    """Returns `current` with the hunks of `before` applied, each where its old lines stand once, in the same enclosing
    lines. Returns None if a hunk has no such place, or if the order of the places differs.
    """
    if not 0 < len(hunks) <= MAX_HUNKS:
        return None
    places = [_find_place(before, current, hunk) for hunk in hunks]
    found = [(at, at + len(hunk.old), hunk.new) for at, hunk in zip(places, hunks, strict=True) if at is not None]
    if len(found) < len(hunks) or any(this[1] > following[0] for this, following in pairwise(found)):
        return None
    pieces, end = list[str](), 0
    for start, stop, new in found:
        pieces += [current[end:start], new]
        end = stop
    return "".join([*pieces, current[end:]])


def _find_place(before: str, current: str, hunk: Hunk) -> int | None:
    if not hunk.old:
        return 0 if not before and not current else None
    at = _find_lines(current, hunk.old, 0)
    if at is None or _find_lines(current, hunk.old, at + 1) is not None:
        return None
    return at if enclosing_lines(current, at) == enclosing_lines(before, hunk.at) else None


def _find_lines(text: str, lines: str, start: int) -> int | None:
    """Returns the first position from `start` on where these whole lines stand, or None."""
    at = text.find(lines, start)
    while at >= 0:
        end = at + len(lines)
        if (at == 0 or text[at - 1] == "\n") and (lines.endswith("\n") or end == len(text)):
            return at
        at = text.find(lines, at + 1)
    return None


def enclosing_lines(text: str, at: int) -> tuple[str, ...]:
    """Returns the lines that enclose a position, innermost first: each is the nearest earlier line with less
    indentation."""
    found: list[str] = []
    first = next((line for line in text[at : at + 10_000].split("\n") if line.strip()), "")
    depth = _depth(first)
    for line in reversed(text[:at].split("\n")[:-1]):
        if depth == 0:
            break
        if line.strip() and _depth(line) < depth:
            found.append(line)
            depth = _depth(line)
    return tuple(found)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _is_unchanged(change: FileChange, now: FileImage) -> bool:
    return change.moved_from is None and change.before is not None and change.before.digest == now.digest


def _replace_digests(data: JsonValue, renamed: Mapping[str, str]) -> JsonValue:
    """Returns an outcome's data with each old digest replaced by the new one in `renamed`."""
    match data:
        case str():
            return renamed.get(data, data) if data else data
        case list():
            return [_replace_digests(each, renamed) for each in data]
        case dict():
            return {key: _replace_digests(value, renamed) for key, value in data.items()}
        case _:
            return data
