"""Parses a unified diff, or a patch in an envelope, into file patches; pure (`apply_diff`; TOOL-05).

The parser is lenient where models are sloppy and no harm can come of it: counts in hunk headers, prose around the diff,
the missing blank of an empty context line. Text that looks like a part of the diff but cannot be understood is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from remit_server.tools.edit.patch.envelope import FilePatch, Hunk, envelope_start, parse_envelope, unusable
from remit_server.tools.edit.patch.headers import Said, header_names, patch_of

MAX_FILES = 100
MAX_HUNKS = 1_000
_UNKNOWN = 1 << 40
"""The line count of a hunk whose header gives none."""

_HUNK = re.compile(r"@@(?: -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*| .*@@.*)?\s*")
_HEADER = re.compile(r"(diff --git |--- |@@).*")
_VERSION = re.compile(r"\d+\.\d+.*|\s*")


def parse_diff(text: str) -> tuple[FilePatch, ...]:
    """Returns the patches in order. Raises ToolError (`invalid_arguments`) that names the line of the diff."""
    lines = _lines(text.removeprefix("\ufeff"))
    start = envelope_start(lines)
    patches = _unified(lines) if start is None else parse_envelope(lines, start)
    if len(patches) > MAX_FILES:
        raise unusable(1, f"it changes more than {MAX_FILES} files")
    if any(len(patch.hunks) > MAX_HUNKS for patch in patches):
        raise unusable(1, f"one file has more than {MAX_HUNKS} hunks")
    if not patches:
        raise unusable(1, "it holds no `--- a/path` line followed by `+++ b/path`")
    for path in (seen := [patch.path for patch in patches]):
        if seen.count(path) > 1:
            raise unusable(1, f"`{path}` comes up twice; put all its hunks under one header")
    return tuple(patches)


def _unified(lines: Sequence[str]) -> list[FilePatch]:
    reader = _Reader(lines)
    patches: list[FilePatch] = []
    while len(patches) <= MAX_FILES and (patch := reader.patch()) is not None:
        patches.append(patch)
    return patches


def _lines(text: str) -> list[str]:
    r"""Returns the lines of a diff. If its headers end with `\r\n`, removes the `\r`, because the files may not have
    it."""
    lines = text.split("\n")
    first = next((line for line in lines if _HEADER.match(line)), "")
    return [line.removesuffix("\r") for line in lines] if first.endswith("\r") else lines


class _Reader:
    """Reads the lines of a diff one after the other."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._in_diff = False
        self.at = 0

    def patch(self) -> FilePatch | None:
        """Returns the next file's patch, or None at the end."""
        said = Said()
        while self.at < len(self._lines) and not self._header_here():
            line = self._lines[self.at]
            self._must_not_be_lost(line)
            if not said.add(self.at + 1, line):
                return patch_of(said, None, (), self.at)
            self.at += 1
        if self.at >= len(self._lines):
            return patch_of(said, None, (), self.at) if said.lines else None
        old, new = (self._lines[self.at + n][4:] for n in (0, 1))
        at = self.at + 1
        header = header_names(old, new, at)
        if said.is_of_another(header):
            return patch_of(said, None, (), at)
        self.at += 2
        hunks = self._hunks()
        self._in_diff = bool(hunks)
        return patch_of(said, header, tuple(hunks), at)

    def _must_not_be_lost(self, line: str) -> None:
        """Raises ToolError if a line after a hunk looks like one of its lines: the counts were too low, or a blank is
        missing."""
        if self._in_diff and (self._signature_here() or line.startswith("diff --git ")):
            self._in_diff = False
        if self._in_diff and line.startswith(("+", "-")):
            raise unusable(
                self.at + 1, "a line with `+` or `-` outside of a hunk; correct the counts before it, or leave it out"
            )
        if self._in_diff and self._lines[self.at - 1].startswith("```"):
            self._in_diff = False

    def _signature_here(self) -> bool:
        """Returns whether git's mail signature is here: `-- ` and the version."""
        here = self._lines[self.at : self.at + 2]
        return here[0].rstrip() == "--" and (len(here) < 2 or _VERSION.fullmatch(here[1]) is not None)

    def _header_here(self) -> bool:
        here = self._lines[self.at : self.at + 2]
        return len(here) == 2 and here[0].startswith("--- ") and here[1].startswith("+++ ")

    def _header_in_hunk(self, left: list[int]) -> bool:
        """Returns whether a file header is here. A removed `-- x` and an added `++ y` look like one; the counts
        decide."""
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
                raise unusable(self.at, f"one file has more than {MAX_HUNKS} hunks")
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
            empty = line.rstrip("\r") == ""
            sign, body = (" ", line) if empty else (line[0], line[1:])
            blanks = blanks + 1 if empty else 0
            if sign in " -":
                old.append(body)
                left[0] -= 1
            if sign in " +":
                new.append(body)
                left[1] -= 1
            self.at += 1
        if blanks and left != [0, 0]:
            # The counts were wrong or missing, and then empty lines at the end more likely do not belong to the file.
            del old[-blanks:], new[-blanks:]
        if old == new and ended[0] == ended[1]:
            raise unusable(first, "this hunk changes nothing")
        stated = tuple(True if side is None and False in ended else side for side in ended)
        return Hunk(int(header[1]) if header[1] else None, tuple(old), tuple(new), (stated[0], stated[1]))

    def _hunk_ends(self, line: str, left: list[int]) -> bool:
        counted = left[0] > 0 or left[1] > 0
        if line.startswith(("@@", "diff --git ")) or self._header_in_hunk(left):
            return True
        if left == [0, 0] and self._signature_here():
            return True
        if line.rstrip("\r") == "":
            # An editor may strip the blank of an empty context line; after the counted lines it is the end of the hunk.
            return not counted
        if line[0] in " +-":
            return False
        if counted and line[0] != "`":
            raise unusable(self.at + 1, "a line of a hunk starts with a blank, `+` or `-`")
        return True
