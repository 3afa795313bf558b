"""The whole texts of the files that a question is about, as the person is shown them in their editor (LSP-14); pure.

Hidden characters are spelled out, as in the question's diffs; otherwise the texts are exactly what would be written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from remit_governance.visible import visible
from remit_server.contract import LeftOut
from remit_server.errors import ToolError
from remit_server.harness.approval.review import NOT_TEXT, take_change
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.text import Text

MOST_CHARS = 2 << 20
TOO_LARGE = "(too large to show as a whole; the question has the digest)\n"
_LONE_LINE_END = re.compile(r"(?<!\r)\n|\r(?!\n)")


@dataclass(frozen=True, slots=True)
class ProposedText:
    """One file's text before, and as it would be written without the parts that the person has left out so far."""

    path: str
    before: str
    after: str


def proposed_text(changes: Sequence[FileChange], path: str, left_out: Sequence[LeftOut]) -> ProposedText | None:
    """Returns the texts of one file of a proposal, or None if the proposal does not change that file."""
    change = next((each for each in changes if each.path.relative == path), None)
    if change is None:
        return None
    before = _decode(b"" if change.before is None else change.before.data, change)
    taken = take_change(change, left_out)
    after = before if taken is None else _decode(_bytes_after(taken), change)
    if before is None or after is None:
        return ProposedText(path, NOT_TEXT, NOT_TEXT)
    if not any(map(_LONE_LINE_END.search, (before, after))):  # if all line ends are CRLF, do not spell them out
        before, after = before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
    return ProposedText(path, _show(before), _show(after))


def _bytes_after(change: FileChange) -> bytes:
    if change.after is None:
        return change.before.data if change.before is not None and change.moved_from is not None else b""
    return change.after


def _decode(data: bytes, change: FileChange) -> str | None:
    if change.before is not None and change.before.left_out:
        return TOO_LARGE
    try:
        return Text.decode(data, change.path.relative).content if data else ""
    except ToolError:
        return None


def _show(text: str) -> str:
    return visible(text) if len(text) <= MOST_CHARS else TOO_LARGE
