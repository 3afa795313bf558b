"""Proposed changes as a person reviews them: unified diffs with hostile characters made visible (governance.md §4)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from remit_governance.visible import visible
from remit_server.contract import FileDiff
from remit_server.errors import ToolError
from remit_server.tools.spec import FileChange
from remit_server.workspace.files import digest_of
from remit_server.workspace.text import Text

NOT_TEXT = "(not text: only its digest is shown)\n"
ONLY_FORM = "(only line ends, encoding or byte order mark change)\n"
MAX_COMPARED = 4_000
"""Changed lines that are compared with each other, which takes time in proportion to their square."""

_CONTEXT = 3
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def file_diff(change: FileChange) -> FileDiff:
    """One change as a diff, bound by digests to the bytes before and after."""
    return FileDiff(
        path=change.path.relative,
        diff="" if change.moved_from else unified(change),
        before_digest=change.before.digest if change.before else None,
        after_digest=None if change.after is None else digest_of(change.after),
        created=change.before is None,
        deleted=change.after is None,
        moved_from=change.moved_from.relative if change.moved_from else None,
    )


def mode_word(executable: bool) -> str:
    """What a file becomes, in a word or two."""
    return "executable" if executable else "not executable"


def unified(change: FileChange) -> str:
    """A unified diff with three lines of context; line ends other than LF are seen as such."""
    relative = change.path.relative
    if change.executable is not None and change.before and change.before.data == change.after:
        return f"(only its mode changes: it becomes {mode_word(change.executable)})\n"
    try:
        before = Text.decode(change.before.data, relative).content if change.before else ""
        after = "" if change.after is None else Text.decode(change.after, relative).content
    except ToolError:
        return NOT_TEXT
    if change.before and change.after is not None and before == after:
        return ONLY_FORM
    name = visible(relative, "show")
    files = (f"a/{name}" if change.before else "/dev/null", "/dev/null" if change.after is None else f"b/{name}")
    return "".join(_shown(_compared(before.splitlines(keepends=True), after.splitlines(keepends=True), files)))


def _compared(old: Sequence[str], new: Sequence[str], files: tuple[str, str]) -> Iterator[str]:
    """The lines of a unified diff; where too much changed, as one hunk that removes all of it and adds it anew."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    skipped = max(0, head - _CONTEXT)
    end = max(0, tail - _CONTEXT)
    old, new = old[skipped : len(old) - end], new[skipped : len(new) - end]
    if len(old) + len(new) <= MAX_COMPARED:
        for line in difflib.unified_diff(old, new, *files):
            yield _HUNK.sub(lambda hunk: _moved(hunk, skipped), line) if line.startswith("@@") else line
        return
    yield from (f"--- {files[0]}\n", f"+++ {files[1]}\n")
    yield f"@@ -{skipped + bool(old)},{len(old)} +{skipped + bool(new)},{len(new)} @@\n"
    before, after = head - skipped, tail - end
    yield from (f" {line}" for line in old[:before])
    yield from (f"-{line}" for line in old[before : len(old) - after])
    yield from (f"+{line}" for line in new[before : len(new) - after])
    yield from (f" {line}" for line in old[len(old) - after :])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _moved(hunk: re.Match[str], lines: int) -> str:
    """A hunk's header for a file with that many more lines before it."""
    return f"@@ -{int(hunk[1]) + lines}{hunk[2] or ''} +{int(hunk[3]) + lines}{hunk[4] or ''} @@"


def _shown(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        text = visible(line)
        yield text if text.endswith("\n") else text + "\n\\ No newline at end of file\n"
