"""Parses a patch between `*** Begin Patch` and `*** End Patch` into file patches; pure (`apply_diff`; TOOL-05).

Some families of models always write this form. It has no line numbers: a hunk goes to the only place where its lines
are, or is refused, and the text after `@@` is ignored.

Also defines the patch of one file, and the refusal of a diff that cannot be used (`apply_diff`; TOOL-05).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never, cast

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (\S.*)")
_MOVE = re.compile(r"\*\*\* Move to: (\S.*)")
_HUNK = re.compile(r"@@.*")
_LAST = "*** End of File"


def envelope_start(lines: Sequence[str]) -> int | None:
    """Returns the index of the line that begins such a patch, or None. Only blank lines and a fence may come before
    it."""
    before = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("```")), 0)
    return before if lines[before].rstrip() == _BEGIN else None


def parse_envelope(lines: Sequence[str], start: int) -> list[FilePatch]:
    """Returns the patches in order. Raises ToolError (`invalid_arguments`) that names the line of the patch."""
    kept = [line.rstrip("\r") for line in lines]
    end = next((at for at, line in enumerate(kept) if at > start and line.rstrip() == _END), None)
    if end is None:
        raise unusable(len(kept), f"the patch does not end with `{_END}`; give all of it")
    if (
        more := next((at for at in range(end + 1, len(kept)) if kept[at].strip() not in {"", "```"}), None)
    ) is not None:
        raise unusable(more + 1, f"something follows `{_END}`; leave it out")
    heads = [at for at in range(start + 1, end) if _FILE.fullmatch(kept[at])]
    if not heads or heads[0] != start + 1:
        raise unusable(start + 2, "a file begins with `*** Update File: path`, `*** Add File:` or `*** Delete File:`")
    return [_file(kept, at, after) for at, after in zip(heads, [*heads[1:], end], strict=True)]


def _file(lines: Sequence[str], at: int, end: int) -> FilePatch:
    found = _FILE.fullmatch(lines[at])
    assert found is not None
    act, path = cast("Act", found[1]), found[2].strip()
    match act:
        case "Add":
            for number in range(at + 1, end):
                if not lines[number].startswith("+"):
                    raise unusable(number + 1, "each line of a new file starts with `+`")
            new = tuple(line[1:] for line in lines[at + 1 : end])
            return FilePatch(None, path, (Hunk(0, (), new),) if new else ())
        case "Delete":
            if at + 1 != end:
                raise unusable(at + 2, "nothing follows the name of a file that is deleted")
            return FilePatch(path, None, whole=True)
        case "Update":
            moved = _MOVE.fullmatch(lines[at + 1])
            hunks = _hunks(lines, at + (1 if moved is None else 2), end)
            if not hunks and moved is None:
                raise unusable(at + 1, "nothing of this file is changed")
            return FilePatch(path, path if moved is None else moved[1].strip(), hunks)
        case _:
            assert_never(act)


def _hunks(lines: Sequence[str], at: int, end: int) -> tuple[Hunk, ...]:
    """Returns the hunks between two lines. Each begins with one or more `@@` lines, which the first hunk may omit."""
    hunks: list[Hunk] = []
    while at < end:
        while at < end and _HUNK.fullmatch(lines[at]):
            at += 1
        after = next((number for number in range(at, end) if _HUNK.fullmatch(lines[number])), end)
        hunks.append(_hunk(lines, at, after))
        at = after
    return tuple(hunks)


def _hunk(lines: Sequence[str], at: int, end: int) -> Hunk:
    old: list[str] = []
    new: list[str] = []
    for number in range(at, end):
        line = lines[number] or " "
        if line == _LAST and number == end - 1:
            continue
        if line[0] not in " +-":
            raise unusable(number + 1, "a line of a hunk starts with a blank, `+` or `-`")
        old += [line[1:]] if line[0] in " -" else []
        new += [line[1:]] if line[0] in " +" else []
    if old == new:
        raise unusable(at, "this hunk changes nothing")
    return Hunk(None, tuple(old), tuple(new))


Act = Literal["Add", "Update", "Delete"]
"""What a patch in an envelope does with a file."""
NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Hunk:
    r"""The old lines and the new lines in their place, without line ends; a `\r` stays if the diff shows line ends.

    `start` is the first old line, from 1 (for an insertion without context, the line before it); None if the header
    does not say. `ended` says for the old and for the new lines whether the last one has a line end; None: not said.
    """

    start: int | None
    old: tuple[str, ...]
    new: tuple[str, ...]
    ended: tuple[bool | None, bool | None] = (None, None)

    @property
    def at_end(self) -> bool:
        """Whether the hunk's last line is the file's last, which is so if the old or new one has no line end."""
        return False in self.ended

    @property
    def plain(self) -> Hunk:
        r"""The hunk without the `\r` at the ends of lines."""
        old, new = (tuple(line.removesuffix("\r") for line in side) for side in (self.old, self.new))
        return replace(self, old=old, new=new)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What happens to one file. `old` is None if the file is created, `new` if it is removed; if they differ, it moves.

    `copied`: the old file stays too; `whole`: the file is removed, whatever its content. `executable` says whether the
    file becomes executable; None if the diff does not say.
    """

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...] = ()
    copied: bool = False
    executable: bool | None = None
    whole: bool = False

    @property
    def path(self) -> str:
        """The file's new path, or its old one if the file is removed."""
        return self.new or self.old or ""


def unusable(line: int, why: str) -> ToolError:
    """Returns the refusal of a diff, which names a line in it."""
    return ToolError(
        "cannot use the diff",
        f"line {line}: {why}",
        "give a unified diff: `--- a/path`, `+++ b/path`, then hunks of `@@ -1,3 +1,4 @@` with lines that start with a "
        "blank, `-` or `+`",
        code=ErrorCode.INVALID_ARGUMENTS,
    )
