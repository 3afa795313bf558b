"""What is known about a command line: the commands it runs, the files it writes and reads, and what is not certain."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from remit_governance.policy.shell.words import Word
from remit_governance.secrets.cutting import shorten

Argv = tuple[str, ...]

UNKNOWN = "…"
"""Stands for a word that is not known."""
STREAMS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
"""Files that can be written without an effect on the disk."""
MOST_FOLDERS = 8
MOST_COMMANDS = 64
"""The most commands in one line. A person could not keep track of more."""


MOST_STEPS = 6_000
"""The most steps for reading one line: one step for each statement and word and `COMMAND_STEPS` for each command, every
time that it is read. A line of `MOST_COMMANDS` long commands takes fewer."""
COMMAND_STEPS = 30


@dataclass(slots=True)
class Budget:
    """The steps that are left for reading a line."""

    left: int = MOST_STEPS

    def spend(self, steps: int) -> bool:
        """Takes this many steps. Returns False if that is more than are left, and from then on always."""
        self.left = self.left - steps if steps <= self.left else -1
        return self.left >= 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one command line.

    `commands` are those that run. `wrappers` are commands that run others (`timeout 5 x`, `env x`); a rule can deny
    them, but they need no rule that allows them. `suspects` are arguments that an unknown program may run as a command
    (`mywrap rm x`). `writes` and `reads` are the files of redirections and of programs that are known to write, either
    absolute or relative to the folder in which the line starts. Each of `doubts` says why something is not certain.
    `replaced` are words of commands in whose place a shell may put others: patterns, and what is known only when it
    runs.
    """

    commands: tuple[Argv, ...] = ()
    wrappers: tuple[Argv, ...] = ()
    suspects: tuple[Argv, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    replaced: frozenset[str] = frozenset()


@dataclass(slots=True)
class Draft:
    """A reading that is being built.

    `folders` are the folders that the line may be in by now, relative to where it starts. `values` are the variables of
    the surrounding loops, `constants` the variables that have one value from here on or are numbers. `looped` are the
    names of loop variables with known words and of all variables that were assigned. `assigned` counts how often each
    name gets a value. `budget` is the budget of the whole line.
    """

    commands: list[Argv] = field(default_factory=list[Argv])
    wrappers: list[Argv] = field(default_factory=list[Argv])
    suspects: list[Argv] = field(default_factory=list[Argv])
    writes: list[str] = field(default_factory=list[str])
    reads: list[str] = field(default_factory=list[str])
    doubts: list[str] = field(default_factory=list[str])
    replaced: set[str] = field(default_factory=set[str])
    folders: frozenset[str] = frozenset({"."})
    constants: dict[str, Word] = field(default_factory=dict[str, Word])
    values: dict[str, Word] = field(default_factory=dict[str, Word])
    assigned: Counter[str] = field(default_factory=Counter[str])
    looped: set[str] = field(default_factory=set[str])
    budget: Budget = field(default_factory=Budget)

    def beside(self) -> Draft:
        """Returns a draft for commands that run here in a shell of their own, as in a substitution: folders and
        constants that they change stay there."""
        return Draft(
            folders=self.folders,
            constants=dict(self.constants),
            values=self.values,
            assigned=self.assigned,
            looped=self.looped,
            budget=self.budget,
        )

    def spend(self, steps: int) -> bool:
        """Takes steps from the budget. If not enough are left, adds a doubt and returns False."""
        if not (enough := self.budget.spend(steps)):
            self.doubt("it is too long or too nested to be read")
        return enough

    def doubt(self, why: str) -> None:
        """Adds a doubt, once."""
        if why not in self.doubts:
            self.doubts.append(why)

    def run(self, argv: Argv) -> None:
        """Adds a command that runs."""
        if argv and len(self.commands) < MOST_COMMANDS:
            self.commands.append(argv)
        elif argv:
            self.doubt(f"it has more than {MOST_COMMANDS} commands")

    def go(self, argv: Argv) -> None:
        """Follows a `cd`, `pushd` or `popd`: the line may then be in the new folder or, if the command failed, in the
        old one."""
        if argv == ("popd",) and len(self.folders) > 1:
            return  # goes to a folder that is in `folders` already
        if argv[0] == "pushd" and len(argv) == 2 and argv[1][:1] not in {"-", "+", UNKNOWN}:
            argv = ("cd", argv[1])
        if argv == ("cd", "-") and len(self.folders) > 1:
            return  # goes to a folder that is in `folders` already
        if argv[0] in {"pushd", "popd"} or (argv[0] == "cd" and (len(argv) != 2 or argv[1] in {"-", UNKNOWN})):
            self.doubt("it changes to a folder that is known only when it runs")
        elif argv[0] == "cd":
            self.folders |= {posixpath.normpath(place) for place in self.places(argv[1])}
            if len(self.folders) > MOST_FOLDERS:
                self.doubt("it changes its folder too often")
                self.folders = frozenset(sorted(self.folders)[:MOST_FOLDERS])

    def write(self, path: str) -> None:
        """Adds a file that a program writes because of its arguments."""
        if UNKNOWN in path or "{}" in path or any(c in path for c in "*?["):
            self.doubt("which files it writes is known only when it runs")
        elif path not in STREAMS and path != "-":
            self.writes.extend(self.places(path))

    def keep(self, name: str, word: Word, *, certain: bool) -> None:
        """Keeps the value of a variable as a constant if the assignment is certain, and if it is the only one or all of
        them are numbers. The name is added to `looped` in any case."""
        self.looped.add(name)
        number = word.vague == "number" or (not word.vague and word.text.isdigit())
        if certain and number and self.assigned[name] == self.assigned[f"{name} number"]:
            self.constants[name] = Word("0", vague="number", why=f"`${shorten(name, 40)}` is known only when it runs")
        elif certain and self.assigned[name] == 1 and not (word.vague or word.counted or word.choices or word.pattern):
            self.constants[name] = word

    def places(self, path: str) -> Iterator[str]:
        """Yields every path that `path` may mean here, depending on which `cd` succeeded."""
        for folder in sorted(self.folders):
            yield path if path.startswith("/") or folder == "." else f"{folder}/{path}"

    def add(self, inner: Draft) -> None:
        """Adds everything that another draft found, except for its folders and variables."""
        for argv in inner.commands:
            self.run(argv)
        self.wrappers.extend(inner.wrappers)
        self.suspects.extend(inner.suspects)
        self.writes.extend(inner.writes)
        self.reads.extend(inner.reads)
        self.replaced |= inner.replaced
        for why in inner.doubts:
            self.doubt(why)

    def done(self) -> Reading:
        """Returns the reading, with each entry once."""
        return Reading(
            commands=tuple(dict.fromkeys(self.commands)),
            wrappers=tuple(dict.fromkeys(self.wrappers)),
            suspects=tuple(dict.fromkeys(self.suspects)),
            writes=tuple(dict.fromkeys(self.writes)),
            reads=tuple(dict.fromkeys(self.reads)),
            doubts=tuple(self.doubts),
            replaced=frozenset(self.replaced),
        )
