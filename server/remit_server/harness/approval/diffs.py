"""Proposed changes as a person reviews them: unified diffs with hostile characters made visible (APP-03)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from remit_governance.visible import visible
from remit_server.contract import FileDiff
from remit_server.errors import ToolError
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.text import Text
from remit_server.workspace.line_diff import Edit, line_edits

NOT_TEXT = "(not text: only its digest is shown)\n"
ONLY_FORM = "(only line ends, encoding or byte order mark change)\n"
_CONTEXT = 3
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk: its old lines begin at character `at` of the old text; both sides with the context that is shown."""

    at: int
    old: str
    new: str


def hunks_between(before: str, after: str) -> tuple[Hunk, ...]:
    """Returns the hunks that `unified` shows of two texts."""
    starts = [0, *(end.end() for end in re.finditer("\n", before))]
    found: list[tuple[int, list[str], list[str]]] = []
    for line in islice(_compared(before, after, ("", "")), 2, None):
        if (header := _HUNK.match(line)) is not None and line.startswith("@@"):
            # Where nothing is taken away, the number is that of the line before.
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
    """Names what a file becomes."""
    return "executable" if executable else "not executable"


def unified(change: FileChange) -> str:
    """Returns a unified diff with three lines of context; line ends other than LF are seen as such."""
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
    """Yield the lines of a unified diff."""
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
    """Yield the edits of one hunk each: those whose context would meet."""
    group: list[Edit] = []
    for edit in edits:
        if group and edit.old - group[-1].old_end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _span(start: int, end: int) -> str:
    """Returns lines `start` to `end`, counted from 0, as a hunk's header says them: where there are none, the line
    before."""
    count = end - start
    return f"{start + 1}" if count == 1 else f"{start + bool(count)},{count}"


def _shown(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        text = visible(line)
        yield text if text.endswith("\n") else text + "\n\\ No newline at end of file\n"
