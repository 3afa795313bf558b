"""What is known of a command line: the commands it runs, the files it writes and reads, and what is not certain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

Argv = tuple[str, ...]

UNKNOWN = "…"
"""Stands where a word is not known."""
MOST_COMMANDS = 64
"""Commands in one line, of which a person could still have an overview."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One command line, read.

    `commands` run; `wrappers` run them (`timeout 5`, `env`) and can be denied, but need no rule of their own;
    `suspects` are arguments that a program may run of which nothing is known here (`mywrap rm x`); `writes` and `reads`
    are the targets of redirections and of programs that are known to write, relative to the folder that the line starts
    in, or absolute. Each of `doubts` says why something is not certain.
    """

    commands: tuple[Argv, ...] = ()
    wrappers: tuple[Argv, ...] = ()
    suspects: tuple[Argv, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(slots=True)
class Draft:
    """A reading in the making. `folders` are those that the line may be in by now, relative to where it starts."""

    commands: list[Argv] = field(default_factory=list[Argv])
    wrappers: list[Argv] = field(default_factory=list[Argv])
    suspects: list[Argv] = field(default_factory=list[Argv])
    writes: list[str] = field(default_factory=list[str])
    reads: list[str] = field(default_factory=list[str])
    doubts: list[str] = field(default_factory=list[str])
    folders: frozenset[str] = frozenset({"."})

    def doubt(self, why: str) -> None:
        """Say once that something is not certain."""
        if why not in self.doubts:
            self.doubts.append(why)

    def run(self, argv: Argv) -> None:
        """Add a command that runs."""
        if argv and len(self.commands) < MOST_COMMANDS:
            self.commands.append(argv)
        elif argv:
            self.doubt(f"it has more than {MOST_COMMANDS} commands")

    def places(self, path: str) -> Iterator[str]:
        """Every place that `path` may mean here, depending on which `cd` succeeded."""
        for folder in sorted(self.folders):
            yield path if path.startswith("/") or folder == "." else f"{folder}/{path}"

    def done(self) -> Reading:
        """The reading, each thing in it once."""
        return Reading(
            commands=tuple(dict.fromkeys(self.commands)),
            wrappers=tuple(dict.fromkeys(self.wrappers)),
            suspects=tuple(dict.fromkeys(self.suspects)),
            writes=tuple(dict.fromkeys(self.writes)),
            reads=tuple(dict.fromkeys(self.reads)),
            doubts=tuple(self.doubts),
        )
