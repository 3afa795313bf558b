"""What is known of one program, as values: what its words do, which options it has, and what it starts.

Beside Remit's own rows stand those of the person, which replace what they name, and those of a project, which only
add to what a program is known to do (CMD-10).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, get_args

Effect = Literal["reads", "asks", "changes", "runs", "loses", "sends", "fetches", "unknown"]
"""What a command does, from the least to the most:

`reads` files and states of this machine; `asks` another machine for something, and tells it nothing but that;
`changes` files, which can be undone; `runs` the project's own code, or what the project names; `loses` what cannot be
had back; `sends` something to where it cannot be taken back from; `fetches` code that the project does not name, and
runs it; `unknown`: nobody knows, or it changes the machine itself.
"""

EFFECTS: tuple[Effect, ...] = get_args(Effect)
ORDER: Mapping[Effect, int] = MappingProxyType({effect: at for at, effect in enumerate(EFFECTS)})
GREATEST = ORDER["runs"]
"""The greatest effect after which an action may still be less than `high`."""

JudgeName = Literal[
    "activate",
    "bun",
    "bundle",
    "cargo",
    "chmod",
    "cloud",
    "copy",
    "curl",
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
    "pnpm",
    "printenv",
    "project_run",
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
"""How words are read: `anywhere`: options may also stand behind a subcommand. `aliases`: a subcommand that is not known
may be anybody's name for another. `cut`: subcommands may be cut short. `stop`: behind the first word that is no option
there is none. `plus`: words with a `+` are none of either. `bare`: the first word is a bundle of letters without its
dash. `refspecs`, `modes`, `signals`: words or values of that kind.
"""

_VERSIONS = frozenset({"--version", "--help", "-v", "-V", "-h", "-version", "-help"})


def strongest(effects: Iterator[Effect] | Sequence[Effect]) -> Effect:
    """Returns the greatest of these effects, at least one."""
    return max(effects, key=ORDER.__getitem__)


def is_option(word: str) -> bool:
    """Tells an option from an operand; `-` alone is an operand, and mostly means the input or the output."""
    return word.startswith("-") and word != "-"


@dataclass(frozen=True, slots=True)
class Entry:
    """Words that have one effect: leading operands, options that must be given, and whether the command ends there.

    An operand `?` is any one.
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
        # Asked for its version, a program does nothing else; with more words the same letter may mean another thing.
        return cls(operands, options, "$" in words or (not operands and options <= _VERSIONS), effect)

    @property
    def raises(self) -> bool:
        """Whether what it names is more than may be less than `high`."""
        return ORDER[self.effect] > GREATEST

    @property
    def lowers(self) -> bool:
        """Whether what it names may be `low`, or nearly: it counts only where it is certain."""
        return ORDER[self.effect] <= ORDER["asks"]

    @property
    def weight(self) -> tuple[int, int, int]:
        """What decides among entries that match: options first, then operands, then the greater effect."""
        return (len(self.options), len(self.operands) + self.ends, ORDER[self.effect])


@dataclass(frozen=True, slots=True)
class Command:
    """The options of one subcommand, or several, or of which other one it is another name.

    `path` are its words, each of which may be several between `|`.
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
    """Options after which a call is not certain, and why."""

    why: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What is known of a program; two are the same only where they are one.

    The entry with the most options decides, then that with the most operands, then the greater effect; an option alone
    that is more than `runs` raises every subcommand; where none matches, `otherwise` does, and nothing is known where
    that is None. An option that is not among `options` makes a command `unlisted` at least, where that is said.
    `writes` are options whose value is a file that is written. `judge`, `doubts` and `written` name functions that say
    what words alone cannot.
    """

    entries: tuple[Entry, ...] = ()
    otherwise: Effect | None = None
    unlisted: Effect | None = None
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
    subject: str = ""
    by_first: Mapping[str, tuple[Entry, ...]] = field(init=False)
    """The entries by the operand that they begin with, empty for none: most are told apart by that."""

    def __post_init__(self) -> None:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.operands[0] if entry.operands else "", []).append(entry)
        object.__setattr__(self, "by_first", {first: tuple(entries) for first, entries in found.items()})

    @property
    def known(self) -> bool:
        """Whether anything is known of what it does."""
        return bool(self.entries or self.otherwise or self.judge)


Rows = Mapping[str, Program]
"""Rows by the name of a program, or by how a file of the project is called: `./scripts/lint.sh`."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnRows:
    """The rows of a person and of a project; two are the same only where they are one.

    `texts` are what they were read from, each with whether it is a project's, and `files` where that lies.
    """

    person: Rows = field(default_factory=dict[str, Program])
    project: Rows = field(default_factory=dict[str, Program])
    texts: tuple[tuple[bool, str], ...] = ()
    files: tuple[str, ...] = ()

    def without_project(self) -> OwnRows:
        """Returns the rows of the person, without those of the project."""
        return replace(self, project={})


NO_ROWS = OwnRows()
"""Remit's own rows alone."""
