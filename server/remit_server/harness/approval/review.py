"""Applies a person's choice to a proposal: hunks and files that they left out are not written (APP-09); pure.

Hunks are those of the shown diff, counted from 0. A file that is moved, created, removed or not text can only be taken
as a whole.

Proposed changes are shown as unified diffs with hostile characters made visible (APP-03).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

from pydantic import JsonValue

from remit_governance.visible import visible
from remit_server.contract import FileDiff, LeftOut
from remit_server.errors import ToolError
from remit_server.tools.files.read_source import with_one_mark
from remit_server.tools.spec import FileChange, Outcome, Plan, WritePlan
from remit_server.workspace.content.files import digest_of
from remit_server.workspace.content.text import Text
from remit_server.workspace.line_diff import Edit, line_edits

NOT_TEXT = "(not text: only its digest is shown)\n"
ONLY_FORM = "(only line ends, encoding or byte order mark change)\n"
_CONTEXT = 3
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk. Its old lines begin at character `at` of the old text; both sides include the shown context."""

    at: int
    old: str
    new: str


def hunks_between(before: str, after: str) -> tuple[Hunk, ...]:
    """Returns the hunks that `unified` shows for two texts."""
    starts = [0, *(end.end() for end in re.finditer("\n", before))]
    found: list[tuple[int, list[str], list[str]]] = []
    for line in islice(_compared(before, after, ("", "")), 2, None):
        if (header := _HUNK.match(line)) is not None and line.startswith("@@"):
            # If a hunk has no old lines, its header gives the number of the line before it.
            found.append((int(header[1]) - (header[2] != ",0"), [], []))
            continue
        _, old, new = found[-1]
        old += [line[1:]] if line[0] in " -" else []
        new += [line[1:]] if line[0] in " +" else []
    return tuple(Hunk(starts[first], "".join(old), "".join(new)) for first, old, new in found)


def describe_file(change: FileChange) -> FileDiff:
    """Returns one change as a diff, bound by digests to the bytes before and after."""
    return FileDiff(
        path=change.path.relative,
        diff="" if change.moved_from else unified(change),
        before_digest=change.before.digest if change.before else None,
        after_digest=change.digest,
        created=change.before is None,
        deleted=change.after is None,
        moved_from=change.moved_from.relative if change.moved_from else None,
    )


def name_mode(executable: bool) -> str:
    """Returns the name of a file's new mode."""
    return "executable" if executable else "not executable"


def unified(change: FileChange) -> str:
    """Returns a unified diff with three lines of context, in which line ends other than LF are visible."""
    relative = change.path.relative
    if change.before and change.before.left_out:
        return f"(too large to show: only its digest is shown, of {change.before.size} bytes)\n"
    if change.executable is not None and change.before and change.before.data == change.after:
        return f"(only its mode changes: it becomes {name_mode(change.executable)})\n"
    try:
        before = Text.decode(change.before.data, relative).content if change.before else ""
        after = "" if change.after is None else Text.decode(change.after, relative).content
    except ToolError:
        return NOT_TEXT
    if change.before and change.after is not None and before == after:
        return ONLY_FORM
    name = visible(relative, "show")
    files = (f"a/{name}" if change.before else "/dev/null", "/dev/null" if change.after is None else f"b/{name}")
    return "".join(_shown(_compared(before, after, files)))


def _compared(before: str, after: str, files: tuple[str, str]) -> Iterator[str]:
    """Yields the lines of a unified diff."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    yield from (f"--- {files[0]}\n", f"+++ {files[1]}\n")
    for edits in _near(line_edits(old, new)):
        first, last = edits[0], edits[-1]
        lead, more = min(_CONTEXT, first.old, first.new), min(_CONTEXT, len(old) - last.old_end)
        at, end = first.old - lead, last.old_end + more
        yield f"@@ -{_span(at, end)} +{_span(first.new - lead, last.new_end + more)} @@\n"
        for edit in edits:
            yield from (f" {line}" for line in old[at : edit.old])
            yield from (f"-{line}" for line in old[edit.old : edit.old_end])
            yield from (f"+{line}" for line in new[edit.new : edit.new_end])
            at = edit.old_end
        yield from (f" {line}" for line in old[at:end])


def _near(edits: Iterable[Edit]) -> Iterator[list[Edit]]:
    """Yields the edits of each hunk; edits whose contexts would meet are in one hunk."""
    group: list[Edit] = []
    for edit in edits:
        if group and edit.old - group[-1].old_end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _span(start: int, end: int) -> str:
    """Returns the lines `start` to `end`, counted from 0, as a hunk's header spells them. If there are none, the header
    names the line before."""
    count = end - start
    return f"{start + 1}" if count == 1 else f"{start + bool(count)},{count}"


def _shown(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        text = visible(line)
        yield text if text.endswith("\n") else text + "\n\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Review:
    """The details of an answer: which of the shown changes the person left out, and their comment."""

    left_out: tuple[LeftOut, ...] = ()
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A plan as the person accepted it, with `accepted` of the `shown` hunks and whole files."""

    plan: WritePlan
    accepted: int
    shown: int


def describe_choices(plan: WritePlan) -> tuple[FileDiff, ...]:
    """Returns the diffs of a plan that may be taken in parts, each with its number of hunks."""
    return tuple(describe_file(each).model_copy(update={"hunks": len(hunks_of(each))}) for each in plan.changes)


def can_be_chosen(plan: Plan) -> bool:
    """Returns whether a plan has more than one part."""
    return isinstance(plan, WritePlan) and sum(parts_of(change) for change in plan.changes) > 1


def parts_of(change: FileChange) -> int:
    """Returns how many parts of a change can be taken one by one."""
    return max(1, len(hunks_of(change)))


def hunks_of(change: FileChange) -> tuple[Hunk, ...]:
    """Returns the hunks of a change of a text file, or none if the change can only be taken as a whole."""
    texts = _texts(change)
    return () if texts is None else hunks_between(texts[0].content, texts[1].content)


def not_shown(left_out: Sequence[LeftOut], shown: Mapping[str, int]) -> LeftOut | None:
    """Returns the first part that was not shown, or None. `shown` has each file's number of parts."""
    return next((each for each in left_out if each.path not in shown or (each.hunk or 0) >= _many(shown, each)), None)


def _many(shown: Mapping[str, int], part: LeftOut) -> int:
    return 1 if part.hunk is None else shown[part.path]


def take(plan: WritePlan, left_out: Sequence[LeftOut]) -> Taken | None:
    """Returns the plan without what was left out, or None if nothing remains."""
    changes = [(change, take_change(change, left_out)) for change in plan.changes]
    left = tuple(now for _, now in changes if now is not None)
    if not left:
        return None
    shown = sum(parts_of(change) for change in plan.changes)
    accepted = sum(parts_of(change) - len(_numbers(change, left_out)) for change in plan.changes)
    outcome = _tell(left, left_out, accepted, shown)
    return Taken(replace(plan, changes=left, outcome=outcome), accepted, shown)


def describe_parts(left_out: Sequence[LeftOut]) -> list[str]:
    """Returns the names of parts that were left out."""
    return [each.path if each.hunk is None else f"{each.path} hunk {each.hunk + 1}" for each in left_out]


def _texts(change: FileChange) -> tuple[Text, Text] | None:
    if change.before is None or change.after is None or change.moved_from is not None or change.before.left_out:
        return None
    name = change.path.relative
    try:
        before, after = Text.decode(change.before.data, name), Text.decode(change.after, name)
    except ToolError:
        return None
    same_form = (before.encoding, before.mark) == (after.encoding, after.mark)
    return (before, after) if same_form and before.content != after.content else None


def _numbers(change: FileChange, left_out: Sequence[LeftOut]) -> frozenset[int]:
    """Returns the numbers of the parts of a change that are left out."""
    mine = [each.hunk for each in left_out if each.path == change.path.relative]
    return frozenset(range(parts_of(change))) if None in mine else frozenset(cast("list[int]", mine))


def take_change(change: FileChange, left_out: Sequence[LeftOut]) -> FileChange | None:
    """Returns a change without what was left out, or None if nothing remains."""
    numbers, texts = _numbers(change, left_out), _texts(change)
    if not numbers:
        return change
    if texts is None or len(numbers) == parts_of(change):
        return None
    before, _ = texts
    content = _apply(before.content, [h for n, h in enumerate(hunks_of(change)) if n not in numbers])
    return replace(change, after=before.encode(with_one_mark(before, content)))


def _apply(before: str, hunks: Sequence[Hunk]) -> str:
    pieces, end = list[str](), 0
    for hunk in hunks:
        pieces += [before[end : hunk.at], hunk.new]
        end = hunk.at + len(hunk.old)
    return "".join([*pieces, before[end:]])


def _tell(left: Sequence[FileChange], left_out: Sequence[LeftOut], accepted: int, shown: int) -> Outcome:
    """Returns the outcome that says what was written; it replaces the tool's own, which is about the whole plan."""
    said = [f": {' '.join(each.comment.split())}" if each.comment else "" for each in left_out]
    lines = [
        f"written in part: the person accepted {accepted} of {shown} changes, and left out",
        *(f"- {name}{words}" for name, words in zip(describe_parts(left_out), said, strict=True)),
        "Nothing of what was left out is in the files. Do not write it again as it was.",
    ]
    files: list[JsonValue] = [
        {"path": each.path.relative, "digest": None if each.after is None else digest_of(each.after)} for each in left
    ]
    refused: list[JsonValue] = [each.model_dump(mode="json") for each in left_out]
    data: dict[str, JsonValue] = {"files": files, "accepted": accepted, "shown": shown, "left_out": refused}
    names = ", ".join(each.path.relative for each in left)
    return Outcome("\n".join(lines), f"changed {names} in part: {accepted} of {shown} changes", data)
