"""The parts of a shown question that a person can leave out (APP-09); pure.

Nothing slow may be imported here, because the language server imports this file before it answers `initialize`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import
    from remit_server.contract import ApprovalRequired, LeftOut, ReviewHunk, ReviewPart

_HUNK = re.compile(r"@@ -(\d+)(,\d+)? ")


@dataclass(frozen=True, slots=True)
class Part:
    """A hunk of a shown diff, counted from 0, or a file that is taken as a whole if `hunk` is None."""

    path: str
    hunk: int | None


@dataclass(frozen=True, slots=True)
class HunkText:
    """One hunk as it is shown. `line` is its first changed line in the old text, counted from 0."""

    line: int
    text: str


def parts_of(question: ApprovalRequired) -> tuple[Part, ...]:
    """Returns the parts that a question offers."""
    if not question.by_hunk:
        return ()
    numbers = ((diff.path, range(diff.hunks) if diff.hunks else (None,)) for diff in question.diffs)
    return tuple(Part(path, number) for path, hunks in numbers for number in hunks)


def wire_parts(left_out: Mapping[Part, str | None]) -> tuple[LeftOut, ...]:
    """Returns the parts that are left out, as an answer carries them."""
    from remit_server.contract import LeftOut

    return tuple(LeftOut(path=part.path, hunk=part.hunk, comment=comment) for part, comment in left_out.items())


def hunk_texts(diff: str) -> Sequence[HunkText]:
    """Returns the hunks of a unified diff."""
    found: list[tuple[int, list[str]]] = []
    for line in diff.splitlines(keepends=True):
        if (header := _HUNK.match(line)) is not None:
            # If a hunk has no old lines, its header gives the number of the line before it.
            found.append((int(header[1]) - (header[2] != ",0"), [line]))
        elif found:
            found[-1][1].append(line)
    return [HunkText(start + _unchanged(lines[1:]), "".join(lines)) for start, lines in found]


def part_text(question: ApprovalRequired, part: Part) -> str:
    """Returns the diff of a part."""
    diff = next(each for each in question.diffs if each.path == part.path)
    return diff.diff if part.hunk is None else hunk_texts(diff.diff)[part.hunk].text


def describe_part(question: ApprovalRequired, part: Part, left_out: Mapping[Part, str | None]) -> ReviewPart:
    """Returns a part as clients see it."""
    from remit_server.contract import ReviewPart

    diff = next(each for each in question.diffs if each.path == part.path)
    line = None if part.hunk is None else hunk_texts(diff.diff)[part.hunk].line
    return ReviewPart(path=part.path, hunk=part.hunk, line=line, left_out=part in left_out, comment=left_out.get(part))


def describe_hunks(question: ApprovalRequired, left_out: Mapping[Part, str | None]) -> tuple[ReviewHunk, ...]:
    """Returns the parts of a question with their texts, or whole files if the question can only be taken as a whole."""
    from remit_server.contract import ReviewHunk

    parts = parts_of(question) or tuple(Part(diff.path, None) for diff in question.diffs)
    shown = ((describe_part(question, part, left_out), part_text(question, part)) for part in parts)
    return tuple(ReviewHunk.model_validate(part.model_dump() | {"text": text}) for part, text in shown)


def _unchanged(lines: Sequence[str]) -> int:
    return next((n for n, line in enumerate(lines) if not line.startswith(" ")), 0)
