"""Proposed changes as a person reviews them: unified diffs with hostile characters made visible (governance.md §4)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from remit_governance.visible import visible
from remit_server.contract import FileDiff
from remit_server.errors import ToolError
from remit_server.tools.spec import FileChange
from remit_server.workspace.text import Text

NOT_TEXT = "(not text: only its digest is shown)\n"
ONLY_FORM = "(only line ends, encoding or byte order mark change)\n"
MAX_COMPARED = 4_000
"""Changed lines that are compared with each other, which takes time in proportion to their square."""

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
    """The hunks that `unified` shows of two texts."""
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
        after_digest=change.touched[-1][2],
        created=change.before is None,
        deleted=change.after is None,
        moved_from=change.moved_from.relative if change.moved_from else None,
    )


def name_mode(executable: bool) -> str:
    """Names what a file becomes."""
    return "executable" if executable else "not executable"


def unified(change: FileChange) -> str:
    """A unified diff with three lines of context; line ends other than LF are seen as such."""
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
    """The lines of a unified diff; where too much changed, as one hunk that removes all of it and adds it anew."""
    head, tail = _same(before, after)
    start, first = _lines_before(before, head, _CONTEXT)
    end = _lines_after(before, len(before) - tail, _CONTEXT)
    skipped = before.count("\n", 0, start)
    old = _LINE.findall(before, start, end)
    new = _LINE.findall(after, start, len(after) - (len(before) - end))
    if len(old) + len(new) <= MAX_COMPARED:
        for line in difflib.unified_diff(old, new, *files):
            yield _HUNK.sub(lambda hunk: _moved(hunk, skipped), line) if line.startswith("@@") else line
        return
    last = len(_LINE.findall(before, len(before) - tail, end))
    yield from (f"--- {files[0]}\n", f"+++ {files[1]}\n")
    yield f"@@ -{skipped + bool(old)},{len(old)} +{skipped + bool(new)},{len(new)} @@\n"
    yield from (f" {line}" for line in old[:first])
    yield from (f"-{line}" for line in old[first : len(old) - last])
    yield from (f"+{line}" for line in new[first : len(new) - last])
    yield from (f" {line}" for line in old[len(old) - last :])


def _same(one: str, other: str) -> tuple[int, int]:
    """How many characters of whole lines two texts have in common at the beginning, and at the end after that."""
    head = one.rfind("\n", 0, _common(one, other, min(len(one), len(other)))) + 1
    most = min(len(one), len(other)) - head
    tail = _common(one, other, most, from_end=True)
    start = one.find("\n", len(one) - tail) + 1
    # Whole lines: what is the same at the end counts from the first line end in it, or before it.
    whole = tail == most and _at_line(one, len(one) - tail) and _at_line(other, len(other) - tail)
    return head, tail if whole else len(one) - start if start else 0


def _at_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] == "\n"


def _common(one: str, other: str, most: int, *, from_end: bool = False) -> int:
    """How many of the first, or last, `most` characters are the same: by halves, each compared as a whole."""
    low, step = 0, most
    while step:
        size = low + step
        at, there = (len(one) - size, len(other) - size) if from_end else (low, low)
        if size <= most and other.startswith(one[at : at + step], there):
            low = size
        else:
            step //= 2
    return low


def _lines_before(text: str, at: int, count: int) -> tuple[int, int]:
    """Where up to `count` lines before the line start `at` begin, and how many there are."""
    found = 0
    while found < count and at > 0:
        at = text.rfind("\n", 0, at - 1) + 1
        found += 1
    return at, found


def _lines_after(text: str, at: int, count: int) -> int:
    """Where up to `count` lines from the line start `at` end."""
    for _ in range(count):
        at = text.find("\n", at) + 1 or len(text)
    return at


def _moved(hunk: re.Match[str], lines: int) -> str:
    """A hunk's header for a file with that many more lines before it."""
    return f"@@ -{int(hunk[1]) + lines}{hunk[2] or ''} +{int(hunk[3]) + lines}{hunk[4] or ''} @@"


def _shown(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        text = visible(line)
        yield text if text.endswith("\n") else text + "\n\\ No newline at end of file\n"
