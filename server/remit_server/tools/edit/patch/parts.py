"""What a unified diff says of one file, and the refusal of a diff that cannot be used (`apply_diff`; TOOL-05)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError

Act = Literal["Add", "Update", "Delete"]
"""What `*** Begin Patch` does with a file."""
NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Hunk:
    r"""Lines that are there, and what they become, without line ends; a `\r` stays where the diff shows line ends.

    `start` is the first old line, from 1 (of an insertion without context, the line before it); None where the header
    does not say. `ended` says of the old and of the new lines whether the last one has a line end; None: not said.
    """

    start: int | None
    old: tuple[str, ...]
    new: tuple[str, ...]
    ended: tuple[bool | None, bool | None] = (None, None)

    @property
    def at_end(self) -> bool:
        """Whether its last line is the file's: one of the two has no line end."""
        return False in self.ended

    @property
    def plain(self) -> Hunk:
        r"""The same with `\n` for every line end."""
        old, new = (tuple(line.removesuffix("\r") for line in side) for side in (self.old, self.new))
        return replace(self, old=old, new=new)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What happens to one file. `old` is None where it is made, `new` where it is removed; both where it moves.

    `copied`: the old one stays, too; `whole`: it is removed whatever it holds. `executable` says whether it becomes so;
    None where the diff does not say.
    """

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...] = ()
    copied: bool = False
    executable: bool | None = None
    whole: bool = False

    @property
    def path(self) -> str:
        """The path it is known by: the new one, unless it is removed."""
        return self.new or self.old or ""


def unusable(line: int, why: str) -> ToolError:
    """The refusal of a diff, naming the line in it."""
    return ToolError(
        "cannot use the diff",
        f"line {line}: {why}",
        "give a unified diff: `--- a/path`, `+++ b/path`, then hunks of `@@ -1,3 +1,4 @@` with lines that start with a "
        "blank, `-` or `+`",
        code=ErrorCode.INVALID_ARGUMENTS,
    )
