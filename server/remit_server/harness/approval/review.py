"""What of a proposal a person takes: hunks, and files, that they left out are not written (APP-09); pure.

A hunk is one of those that the shown diff has; its number counts from 0. What cannot be taken in parts is a file as a
whole: one that is moved, made, removed, or no text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pydantic import JsonValue

from remit_server.contract import FileDiff, LeftOut
from remit_server.errors import ToolError
from remit_server.harness.approval.diffs import Hunk, describe_file, hunks_between
from remit_server.tools.files.read_source import with_one_mark
from remit_server.tools.spec import FileChange, Outcome, Plan, WritePlan
from remit_server.workspace.content.files import digest_of
from remit_server.workspace.content.text import Text


@dataclass(frozen=True, slots=True)
class Review:
    """A yes: what of the shown changes is left out, and what the person has to say."""

    left_out: tuple[LeftOut, ...] = ()
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A plan as the person took it; `accepted` of the `shown` hunks and whole files are in it."""

    plan: WritePlan
    accepted: int
    shown: int


def describe_choices(plan: WritePlan) -> tuple[FileDiff, ...]:
    """Returns the diffs of a plan that may be taken in parts, each with how many hunks it has."""
    return tuple(describe_file(each).model_copy(update={"hunks": len(hunks_of(each))}) for each in plan.changes)


def can_be_chosen(plan: Plan) -> bool:
    """Returns whether a plan has more than one part."""
    return isinstance(plan, WritePlan) and sum(parts_of(change) for change in plan.changes) > 1


def parts_of(change: FileChange) -> int:
    """Returns how many parts of a change can be taken one by one."""
    return max(1, len(hunks_of(change)))


def hunks_of(change: FileChange) -> tuple[Hunk, ...]:
    """Returns the hunks of a text that becomes another one; none of what is taken as a whole."""
    texts = _texts(change)
    return () if texts is None else hunks_between(texts[0].content, texts[1].content)


def not_shown(left_out: Sequence[LeftOut], shown: Mapping[str, int]) -> LeftOut | None:
    """Returns the first part that was not shown; `shown` has each file's number of hunks."""
    return next((each for each in left_out if each.path not in shown or (each.hunk or 0) >= _many(shown, each)), None)


def _many(shown: Mapping[str, int], part: LeftOut) -> int:
    return 1 if part.hunk is None else shown[part.path]


def take(plan: WritePlan, left_out: Sequence[LeftOut]) -> Taken | None:
    """Returns what is left of a plan; None where that is nothing."""
    changes = [(change, take_change(change, left_out)) for change in plan.changes]
    left = tuple(now for _, now in changes if now is not None)
    if not left:
        return None
    shown = sum(parts_of(change) for change in plan.changes)
    accepted = sum(_accepted(change, left_out) for change in plan.changes)
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
    """Returns which parts of a change are left out."""
    mine = [each.hunk for each in left_out if each.path == change.path.relative]
    return frozenset(range(parts_of(change))) if None in mine else frozenset(cast("list[int]", mine))


def _accepted(change: FileChange, left_out: Sequence[LeftOut]) -> int:
    return parts_of(change) - len(_numbers(change, left_out))


def take_change(change: FileChange, left_out: Sequence[LeftOut]) -> FileChange | None:
    """Returns what is left of one change; None where that is nothing."""
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
    """Says what was written in place of what the tool would have said of the whole."""
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
