"""A unified diff read into file patches; pure (agent.md §2, `apply_diff`).

Lenient where models are sloppy and nothing can go wrong by it: counts in hunk headers, prose around the diff, the
stripped blank of an empty context line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError

MAX_FILES = 100
MAX_HUNKS = 1_000
_UNKNOWN = 1 << 40
"""The count of lines in a hunk whose header does not say."""

NO_NEWLINE = "\\ No newline at end of file"

_HUNK = re.compile(r"@@(?: -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*| .*@@.*)?\s*")
_ESCAPED = re.compile(r"\\([0-7]{3}|.)")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that are there, and what they become, without line ends.

    `start` is the first old line, from 1 (of an insertion without context, the line before it); None where the header
    does not say. `ended` says of the old and of the new lines whether the last one has a line end; None: not said.
    """

    start: int | None
    old: tuple[str, ...]
    new: tuple[str, ...]
    ended: tuple[bool | None, bool | None] = (None, None)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What happens to one file. `old` is None where it is made, `new` where it is removed; both where it moves."""

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...] = ()

    @property
    def path(self) -> str:
        """The path it is known by: the new one, unless it is removed."""
        return self.new or self.old or ""


def parse_diff(text: str) -> tuple[FilePatch, ...]:
    """The patches in order. Raises ToolError (`invalid_arguments`) naming the line of the diff."""
    lines = text.replace("\r\n", "\n").split("\n")
    reader = _Reader(lines)
    patches: list[FilePatch] = []
    while (patch := reader.patch()) is not None:
        patches.append(patch)
        if len(patches) > MAX_FILES:
            raise _unusable(reader.at, f"it changes more than {MAX_FILES} files")
    if not patches:
        raise _unusable(1, "it holds no `--- a/path` line followed by `+++ b/path`")
    for path in (seen := [patch.path for patch in patches]):
        if seen.count(path) > 1:
            raise _unusable(1, f"`{path}` comes up twice; put all its hunks under one header")
    return tuple(patches)


class _Reader:
    """A place in the lines of a diff."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self.at = 0

    def patch(self) -> FilePatch | None:
        """The next file's patch; None at the end."""
        names: dict[str, str] = {}
        while self.at < len(self._lines) and not self._header_here():
            line = self._lines[self.at]
            if _HUNK.fullmatch(line) and line.startswith("@@ -"):
                raise _unusable(self.at + 1, "a hunk without a `--- a/path` and a `+++ b/path` line before it")
            if names and line.startswith("diff --git "):
                return FilePatch(names.get("from"), names.get("to"))
            for key in ("from", "to"):
                if line.startswith(f"rename {key} "):
                    names[key] = _unquoted(line.removeprefix(f"rename {key} "))
            self.at += 1
        if self.at >= len(self._lines):
            return FilePatch(names["from"], names["to"]) if len(names) == 2 else None
        old, new = (_name(self._lines[self.at + n][4:]) for n in (0, 1))
        old, new = _without_prefixes(old, new)
        at, self.at = self.at + 1, self.at + 2
        hunks = self._hunks()
        if old is None and new is None:
            raise _unusable(at, "both sides are /dev/null")
        if not hunks and old == new:
            raise _unusable(at, "no hunk (`@@ -1,3 +1,4 @@`) follows the header")
        return FilePatch(old, new, tuple(hunks))

    def _header_here(self) -> bool:
        here = self._lines[self.at : self.at + 2]
        return len(here) == 2 and here[0].startswith("--- ") and here[1].startswith("+++ ")

    def _header_in_hunk(self, left: list[int]) -> bool:
        """A removed `-- x` and an added `++ y` look like a header; where both readings are possible, counts decide."""
        if not self._header_here():
            return False
        before_hunk = self.at + 2 < len(self._lines) and self._lines[self.at + 2].startswith("@@")
        return left != [1, 1] if before_hunk else left[0] <= 0

    def _hunks(self) -> list[Hunk]:
        hunks: list[Hunk] = []
        while self.at < len(self._lines):
            header = _HUNK.fullmatch(self._lines[self.at]) if self._lines[self.at].startswith("@@") else None
            if header is None:
                break
            self.at += 1
            hunks.append(self._hunk(header))
            if len(hunks) > MAX_HUNKS:
                raise _unusable(self.at, f"one file has more than {MAX_HUNKS} hunks")
        return hunks

    def _hunk(self, header: re.Match[str]) -> Hunk:
        left = [int(header[2] or 1), int(header[4] or 1)] if header[1] else [_UNKNOWN, _UNKNOWN]
        old: list[str] = []
        new: list[str] = []
        ended: list[bool | None] = [None, None]
        first, blanks = self.at, 0
        while self.at < len(self._lines):
            line = self._lines[self.at]
            if line.startswith("\\"):
                before = self._lines[self.at - 1][:1]
                ended = [False if before != "+" else ended[0], False if before != "-" else ended[1]]
                self.at += 1
                continue
            if self._hunk_ends(line, left):
                break
            sign, body = (line[0], line[1:]) if line else (" ", "")
            blanks = 0 if line else blanks + 1
            if sign in " -":
                old.append(body)
                left[0] -= 1
            if sign in " +":
                new.append(body)
                left[1] -= 1
            self.at += 1
        if blanks and left != [0, 0]:
            # The counts were wrong, or there were none: empty lines at the end are more likely none of the file's.
            del old[-blanks:], new[-blanks:]
        if old == new and ended[0] == ended[1]:
            raise _unusable(first, "this hunk changes nothing")
        stated = tuple(True if side is None and False in ended else side for side in ended)
        return Hunk(int(header[1]) if header[1] else None, tuple(old), tuple(new), (stated[0], stated[1]))

    def _hunk_ends(self, line: str, left: list[int]) -> bool:
        counted = left[0] > 0 or left[1] > 0
        if line.startswith(("@@", "diff --git ")) or self._header_in_hunk(left):
            return True
        if line == "":
            # An editor strips the blank of an empty context line; behind the counted lines it is just the end.
            return not counted
        if line[0] in " +-":
            return False
        if counted and line[0] != "`":
            raise _unusable(self.at + 1, "a line of a hunk starts with a blank, `+` or `-`")
        return True


def _name(text: str) -> str | None:
    name = _unquoted(text.split("\t", maxsplit=1)[0].rstrip())
    return None if name == "/dev/null" else name


def _unquoted(text: str) -> str:
    """Git quotes names with special characters, bytes in octal."""
    text = text.strip()
    if not (text.startswith('"') and text.endswith('"') and len(text) > 1):
        return text

    def meant(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code, 8)) if len(code) == 3 else _SIMPLE.get(code, code)

    raw = _ESCAPED.sub(meant, text[1:-1])
    try:
        return raw.encode("latin-1").decode()
    except UnicodeError:
        return raw


def _without_prefixes(old: str | None, new: str | None) -> tuple[str | None, str | None]:
    """Names without git's `a/` and `b/`, where both sides that are files have them."""
    prefixed = (old is None or old.startswith("a/")) and (new is None or new.startswith("b/"))
    if not prefixed:
        return old, new
    return (None if old is None else old[2:]), (None if new is None else new[2:])


def _unusable(line: int, why: str) -> ToolError:
    return ToolError(
        "cannot use the diff",
        f"line {line}: {why}",
        "give a unified diff: `--- a/path`, `+++ b/path`, then hunks of `@@ -1,3 +1,4 @@` with lines that start with a "
        "blank, `-` or `+`",
        code=ErrorCode.INVALID_ARGUMENTS,
    )
