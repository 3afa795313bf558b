"""Proposed changes as a person reviews them: unified diffs with hostile characters made visible (governance.md §4)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from remit_governance.visible import visible
from remit_server.contract import FileDiff
from remit_server.errors import ToolError
from remit_server.tools.spec import FileChange
from remit_server.workspace.files import digest_of
from remit_server.workspace.text import Text

NOT_TEXT = "(not text: only its digest is shown)\n"
ONLY_FORM = "(only line ends, encoding or byte order mark change)\n"


def file_diff(change: FileChange) -> FileDiff:
    """One change as a diff, bound by digests to the bytes before and after."""
    return FileDiff(
        path=change.path.relative,
        diff=unified(change),
        before_digest=change.before.digest if change.before else None,
        after_digest=digest_of(change.after),
        created=change.before is None,
    )


def unified(change: FileChange) -> str:
    """A unified diff with three lines of context; line ends other than LF are seen as such."""
    relative = change.path.relative
    try:
        before = Text.decode(change.before.data, relative).content if change.before else ""
        after = Text.decode(change.after, relative).content
    except ToolError:
        return NOT_TEXT
    if change.before and before == after:
        return ONLY_FORM
    name = visible(relative, "show")
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{name}" if change.before else "/dev/null",
        f"b/{name}",
    )
    return "".join(_shown(lines))


def _shown(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        text = visible(line)
        yield text if text.endswith("\n") else text + "\n\\ No newline at end of file\n"
