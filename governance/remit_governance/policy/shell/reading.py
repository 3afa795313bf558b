"""What is known of a command line: the commands it runs, the files it writes and reads, and what is not certain."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from remit_governance.policy.shell.words import Word

Argv = tuple[str, ...]

UNKNOWN = "…"
"""Stands where a word is not known."""
STREAMS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
"""Files that are written to without an effect."""
MOST_FOLDERS = 8
MOST_COMMANDS = 64
"""Commands in one line, of which a person could still have an overview."""


MOST_STEPS = 6_000
"""What reading one line may take: a step for each statement and word, `COMMAND_STEPS` for each command, each time that
it is read. A line of `MOST_COMMANDS` long commands takes less."""
COMMAND_STEPS = 30


@dataclass(slots=True)
class Budget:
    """The steps that are left for a line, counted before they are taken."""

    left: int = MOST_STEPS

    def spend(self, steps: int) -> bool:
        """Takes so many steps; false where they are more than are left, and from then on."""
        self.left = self.left - steps if steps <= self.left else -1
        return self.left >= 0


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
    """A reading in the making.

    `folders` are those that the line may be in by now, relative to where it starts; `values` the variables of the loops
    around, `constants` those that have one value from here on or are numbers, `looped` the names of both, `assigned`
    how often each name gets a value; `budget` is that of the whole line.
    """

    commands: list[Argv] = field(default_factory=list[Argv])
    wrappers: list[Argv] = field(default_factory=list[Argv])
    suspects: list[Argv] = field(default_factory=list[Argv])
    writes: list[str] = field(default_factory=list[str])
    reads: list[str] = field(default_factory=list[str])
    doubts: list[str] = field(default_factory=list[str])
    folders: frozenset[str] = frozenset({"."})
    constants: dict[str, Word] = field(default_factory=dict[str, Word])
    values: dict[str, Word] = field(default_factory=dict[str, Word])
    assigned: Counter[str] = field(default_factory=Counter[str])
    looped: set[str] = field(default_factory=set[str])
    budget: Budget = field(default_factory=Budget)

    def beside(self) -> Draft:
        """Returns a draft for what runs here in a shell of its own: what it sets stays there."""
        return Draft(
            folders=self.folders,
            constants=dict(self.constants),
            values=self.values,
            assigned=self.assigned,
            looped=self.looped,
            budget=self.budget,
        )

    def spend(self, steps: int) -> bool:
        """Takes steps of the budget; false, and a doubt, where there are not so many left."""
        if not (enough := self.budget.spend(steps)):
            self.doubt("it is too long or too nested to be read")
        return enough

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

    def go(self, argv: Argv) -> None:
        """After a `cd` the line may be there, or, where it failed, where it was."""
        if argv == ("popd",) and len(self.folders) > 1:
            return  # to one of those that it has been in
        if argv[0] == "pushd" and len(argv) == 2 and argv[1][:1] not in {"-", "+", UNKNOWN}:
            argv = ("cd", argv[1])
        if argv == ("cd", "-") and len(self.folders) > 1:
            return  # to one of those that it has been in
        if argv[0] in {"pushd", "popd"} or (argv[0] == "cd" and (len(argv) != 2 or argv[1] in {"-", UNKNOWN})):
            self.doubt("it goes to a folder that is known only when it runs")
        elif argv[0] == "cd":
            self.folders |= {posixpath.normpath(place) for place in self.places(argv[1])}
            if len(self.folders) > MOST_FOLDERS:
                self.doubt("it changes its folder too often")
                self.folders = frozenset(sorted(self.folders)[:MOST_FOLDERS])

    def write(self, path: str) -> None:
        """Add a file that a program writes by its own arguments."""
        if UNKNOWN in path or "{}" in path or any(c in path for c in "*?["):
            self.doubt("which files it writes is known only when it runs")
        elif path not in STREAMS and path != "-":
            self.writes.extend(self.places(path))

    def keep(self, name: str, word: Word, *, certain: bool) -> None:
        """Keeps what a variable is from here on, where this is certainly its one value, or each of them is a number."""
        self.looped.add(name)
        number = word.vague == "number" or (not word.vague and word.text.isdigit())
        if certain and number and self.assigned[name] == self.assigned[f"{name} number"]:
            self.constants[name] = Word("0", vague="number", why=f"`${name[:40]}` is known only when it runs")
        elif certain and self.assigned[name] == 1 and not (word.vague or word.counted or word.choices or word.pattern):
            self.constants[name] = word

    def places(self, path: str) -> Iterator[str]:
        """Yields every place that `path` may mean here, depending on which `cd` succeeded."""
        for folder in sorted(self.folders):
            yield path if path.startswith("/") or folder == "." else f"{folder}/{path}"

    def add(self, inner: Draft) -> None:
        """Add everything of a command inside this one."""
        for argv in inner.commands:
            self.run(argv)
        self.wrappers.extend(inner.wrappers)
        self.suspects.extend(inner.suspects)
        self.writes.extend(inner.writes)
        self.reads.extend(inner.reads)
        for why in inner.doubts:
            self.doubt(why)

    def done(self) -> Reading:
        """Returns the reading, each thing in it once."""
        return Reading(
            commands=tuple(dict.fromkeys(self.commands)),
            wrappers=tuple(dict.fromkeys(self.wrappers)),
            suspects=tuple(dict.fromkeys(self.suspects)),
            writes=tuple(dict.fromkeys(self.writes)),
            reads=tuple(dict.fromkeys(self.reads)),
            doubts=tuple(self.doubts),
        )
