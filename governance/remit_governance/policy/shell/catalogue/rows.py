"""What is known about one program, as values: what its words do, which options it has, and what it starts.

Besides Remit's own rows there are those of the person, which replace Remit's for what they name, and those of a
project, which can only raise the effect that a program is known to have (CMD-10).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

Effect = Literal["reads", "asks", "changes", "runs", "loses", "sends", "fetches", "unknown"]
"""What a command does, from the least to the greatest effect:

`reads`: it reads files and the state of this machine. `asks`: it asks another machine for something, and tells it
nothing else. `changes`: it changes files in a way that can be undone. `runs`: it runs the project's own code, or code
that the project names. `loses`: it destroys something for good. `sends`: it sends something that cannot be taken back.
`fetches`: it fetches and runs code that the project does not name. `unknown`: its effect is not known, or it changes
the machine itself.
"""

EFFECTS: tuple[Effect, ...] = get_args(Effect)
ORDER: Mapping[Effect, int] = MappingProxyType({effect: at for at, effect in enumerate(EFFECTS)})
GREATEST = ORDER["runs"]
"""The greatest effect with which the risk of an action may still be below `high`."""

JudgeName = Literal[
    "activate",
    "bun",
    "bundle",
    "cargo",
    "chmod",
    "cloud",
    "copy",
    "curl",
    "formula",
    "fzf",
    "git",
    "go",
    "gradle",
    "julia",
    "kill",
    "kubernetes",
    "link",
    "make",
    "maven",
    "media",
    "move",
    "node",
    "npm",
    "npx",
    "pager",
    "perl",
    "php",
    "pip",
    "places",
    "pnpm",
    "printenv",
    "project_run",
    "project_tasks",
    "python",
    "r",
    "remove",
    "rsync",
    "ruby",
    "sbt",
    "shell",
    "sql",
    "sql_file",
    "sysctl",
    "tasks",
    "uv",
    "uvx",
    "wget",
    "yarn",
]
"""The names of the functions in `judging.JUDGES`."""
DoubtName = Literal["awk", "find", "git", "printf", "sed", "set", "tar", "test", "unzip"]
"""The names of the functions in `programs.DOUBTS`."""
WrittenName = Literal["after_first", "dd", "destination", "moves", "operands", "output", "sed", "uniq", "xxd", "yq"]
"""The names of the functions in `programs.WRITTEN`."""
Mark = Literal["anywhere", "aliases", "cut", "stop", "plus", "bare", "refspecs", "modes", "signals"]
"""How a program reads its words. `anywhere`: options may also stand after a subcommand. `aliases`: an unknown
subcommand may be an alias of another command. `cut`: subcommands may be abbreviated. `stop`: no options follow the
first operand. `plus`: words that begin with `+` are neither options nor operands. `bare`: the first word may be a
bundle of option letters without a dash. `refspecs`, `modes`, `signals`: words or values are of that kind.
"""

_VERSIONS = frozenset({"--version", "--help", "-v", "-V", "-h", "-version", "-help"})


def strongest(effects: Iterator[Effect] | Sequence[Effect]) -> Effect:
    """Returns the greatest of these effects; there has to be at least one."""
    return max(effects, key=ORDER.__getitem__)


def is_option(word: str) -> bool:
    """Tells whether a word is an option; `-` alone is an operand, which usually means the standard input or output."""
    return word.startswith("-") and word != "-"


@dataclass(frozen=True, slots=True)
class Entry:
    """Words that have one effect: the leading operands, the options that must be given, and `ends`, which says that no
    further operand may follow.

    An operand `?` stands for any operand.
    """

    operands: tuple[str, ...]
    options: frozenset[str]
    ends: bool
    effect: Effect

    @classmethod
    def of(cls, words: Sequence[str], effect: Effect) -> Entry:
        """Returns the entry of these words; `$` says that no further operand follows."""
        options = frozenset(word for word in words if is_option(word))
        operands = tuple(word for word in words if not is_option(word) and word != "$")
        # A program that shows its version does nothing else, but with more words `-v` may mean something else.
        return cls(operands, options, "$" in words or (not operands and options <= _VERSIONS), effect)

    @property
    def raises(self) -> bool:
        """Whether its effect always makes the risk `high`."""
        return ORDER[self.effect] > GREATEST

    @property
    def lowers(self) -> bool:
        """Whether its effect is so small (`reads`, `asks`) that the entry counts only if its match is certain."""
        return ORDER[self.effect] <= ORDER["asks"]

    @property
    def weight(self) -> tuple[int, int, int]:
        """The rank among entries that match: by the number of options, then of operands, then by the effect."""
        return (len(self.options), len(self.operands) + self.ends, ORDER[self.effect])


@dataclass(frozen=True, slots=True)
class Command:
    """The options of one or several subcommands, or the subcommand for which this one is another name.

    `path` are its words; each word may be several alternatives with `|` between them.
    """

    path: str
    options: str = ""
    marks: frozenset[Mark] = frozenset()
    other_name_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a wrapper is called: options with and without a value, then `operands` words, then the command."""

    valued: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False


@dataclass(frozen=True, slots=True)
class Doubted:
    """Options that make a call not certain, and why."""

    why: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What is known about a program. Two are equal only if they are the same object.

    Of the entries that match, the one with the most options decides, then the one with the most operands, then the one
    with the greater effect. An entry of options alone with an effect above `runs` raises every subcommand. If no entry
    matches, the effect is `otherwise`; if that is None, nothing is known. An option that is not among `options` gives a
    command at least the effect `unlisted`, if that is set; if `strict` is set, it makes a command `unknown` that would
    only read. `writes` are options whose value is a file that is written.
    `judge`, `doubts` and `written` name functions for what words alone cannot tell. `replaced_by` are the files with
    which a project puts a program of its own in this one's place, or makes it load code: it then `runs` whatever its
    words are, `--version` too.
    """

    entries: tuple[Entry, ...] = ()
    otherwise: Effect | None = None
    unlisted: Effect | None = None
    strict: bool = False
    writes: tuple[str, ...] = ()
    options: str | None = None
    marks: frozenset[Mark] = frozenset()
    commands: tuple[Command, ...] = ()
    other_name_of: tuple[str, ...] = ()
    judge: JudgeName | None = None
    doubts: DoubtName | None = None
    doubted: Doubted | None = None
    written: WrittenName | None = None
    any_words: bool = False
    builtin: bool = False
    wraps: Wrapper | None = None
    refused: str | None = None
    replaced_by: str | None = None
    subject: str = ""
    by_first: Mapping[str, tuple[Entry, ...]] = field(init=False)
    """The entries by their first operand (an empty text for none), so that few have to be compared with a command."""

    def __post_init__(self) -> None:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.operands[0] if entry.operands else "", []).append(entry)
        object.__setattr__(self, "by_first", {first: tuple(entries) for first, entries in found.items()})

    @property
    def known(self) -> bool:
        """Whether anything is known about what it does."""
        return bool(self.entries or self.otherwise or self.judge)


Rows = Mapping[str, Program]
"""Rows by the name of a program, or by the path with which a project's file is run, such as `./scripts/lint.sh`."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnRows:
    """The rows of a person and of a project. Two are equal only if they are the same object.

    `texts` are the texts that they were read from, each with whether it is the project's, and `files` are the files of
    these texts.
    """

    person: Rows = field(default_factory=dict[str, Program])
    project: Rows = field(default_factory=dict[str, Program])
    texts: tuple[tuple[bool, str], ...] = ()
    files: tuple[str, ...] = ()


NO_ROWS = OwnRows()
"""No rows besides Remit's own."""
