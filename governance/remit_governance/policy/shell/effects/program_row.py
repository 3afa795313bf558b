"""The form of a table's rows, and how a command is looked up in one.

A row names for each effect the subcommands and options that have it; what it does not name has its `other` effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice, product
from types import MappingProxyType
from typing import Literal, get_args

from remit_governance.policy.shell.options.parse_options import MOST_READINGS, Call, calls_of, row_of

Effect = Literal["reads", "asks", "changes", "runs", "loses", "sends", "fetches", "unknown"]
"""What a command does, from the least to the most:

`reads` files and states of this machine; `asks` another machine for something, and tells it nothing but that;
`changes` files, which can be undone; `runs` the project's own code, or what the project names; `loses` what cannot be
had back; `sends` something to where it cannot be taken back from; `fetches` code that the project does not name, and
runs it; `unknown`: nobody knows, or it changes the machine itself.
"""

ORDER: Mapping[Effect, int] = MappingProxyType({effect: at for at, effect in enumerate(get_args(Effect))})
GREATEST = ORDER["runs"]
"""The greatest effect after which an action may still be less than `high`."""


def strongest(effects: Iterator[Effect] | Sequence[Effect]) -> Effect:
    """The greatest of these effects, at least one."""
    return max(effects, key=ORDER.__getitem__)


@dataclass(frozen=True, slots=True)
class Program:
    """One program. Each effect lists entries between commas: leading operands, and options that must be given.

    In an entry `a|b` is either word, `?` any one operand,
    and `$` says that no further operand follows. The entry with
    the most options decides, then that with the most operands, then the greater effect; an option alone that is more
    than `runs` raises every subcommand. How options are read is `option_table`'s. `files` are options whose value is a
    file that is written.
    """

    reads: str = ""
    asks: str = ""
    changes: str = ""
    runs: str = ""
    loses: str = ""
    sends: str = ""
    fetches: str = ""
    unknown: str = ""
    files: str = ""
    other: Effect = "unknown"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a row: its operands, its options, whether it ends there, and its effect."""

    operands: tuple[str, ...]
    options: frozenset[str]
    ends: bool
    effect: Effect

    @property
    def raises(self) -> bool:
        """Whether what it names is more than may be less than `high`."""
        return ORDER[self.effect] > GREATEST

    @property
    def weight(self) -> tuple[int, int, int]:
        """What decides among entries that match: options first, then operands, then the greater effect."""
        return (len(self.options), len(self.operands) + self.ends, ORDER[self.effect])


@dataclass(frozen=True, slots=True)
class Given:
    """One way to read a command's arguments: its operands, by their one name and as written, options and their values.

    Options are by their one name, too; `raw` are all words as written, up to an equals sign.
    """

    forms: tuple[tuple[str, ...], ...]
    options: frozenset[str]
    unknown: frozenset[str]
    values: frozenset[tuple[str, str]]
    raw: frozenset[str]
    known: bool
    names: Callable[[str], str]

    @property
    def operands(self) -> tuple[str, ...]:
        """Subcommands and operands, as written."""
        return self.forms[-1]


_VERSIONS = frozenset({"--version", "--help", "-v", "-V", "-h", "-version", "-help"})


@lru_cache(maxsize=256)
def entries_of(program: Program) -> tuple[Entry, ...]:
    """The entries of a row."""
    return tuple(
        _entry(words, effect)
        for effect in ORDER
        for text in getattr(program, effect).split(",")
        if text.strip()
        for words in product(*(word.split("|") for word in text.split()))
    )


@lru_cache(maxsize=256)
def _by_first(program: Program) -> tuple[tuple[str, Entry], ...]:
    """The entries, each with the operand that it begins with: most are told apart by that."""
    return tuple((entry.operands[0] if entry.operands else "", entry) for entry in entries_of(program))


def _entry(words: Sequence[str], effect: Effect) -> Entry:
    options = frozenset(word for word in words if word.startswith("-"))
    operands = tuple(word for word in words if not word.startswith("-") and word != "$")
    # Asked for its version, a program does nothing else; with more words the same letter may mean another thing.
    return Entry(operands, options, "$" in words or (not operands and options <= _VERSIONS), effect)


def readings(name: str, arguments: Sequence[str]) -> tuple[Given, ...]:
    """The ways to read the arguments of the program of this name; none where they are too many."""
    calls = tuple(islice(calls_of((name, *arguments)), MOST_READINGS + 1))
    if len(calls) > MOST_READINGS or any(call.open and len(call.spelled) == 1 for call in calls):
        return ()
    raw = frozenset(word.partition("=")[0] for word in arguments)
    return tuple(dict.fromkeys(given for call in calls for given in _given(call, raw)))


def _given(call: Call, raw: frozenset[str]) -> Iterator[Given]:
    """The reading, and where a word may be an unknown option's value, the one in which it is."""
    row = row_of(call.path)
    for certain in (False, True):
        operands = [min(each.spellings) for each in call.operands if not (certain and each.after is not None)]
        forms = tuple((*path[1:], *operands) for path in (call.path, call.spelled))
        yield Given(
            forms,
            call.options,
            call.unknown,
            call.values,
            raw,
            row_of(call.spelled[:1]) is not None,
            _one_names(row.path) if row else _same,
        )


def _same(option: str) -> str:
    return option


@lru_cache(maxsize=512)
def _one_names(path: tuple[str, ...]) -> Callable[[str], str]:
    """The one name of an option of this program and subcommand."""
    row = row_of(path)
    known = {} if row is None else {name: option.name for name, option in row.options.items()}
    return lambda option: known.get(option, option)


def effect_in(program: Program, name: str, arguments: Sequence[str]) -> Effect:
    """What a row says of this command."""
    return in_every_reading(name, arguments, partial(_effect_of, program))


def in_every_reading(name: str, arguments: Sequence[str], judge: Callable[[Given], Effect]) -> Effect:
    """The most that a command does in any way to read it."""
    ways = readings(name, arguments)
    return strongest([judge(given) for given in ways]) if ways else "unknown"


def _effect_of(program: Program, given: Given) -> Effect:
    begun = {"", "?", *(form[0] for form in given.forms if form)}
    matching = [entry for first, entry in _by_first(program) if first in begun and _matches(entry, given)]
    # An option that raises does so whatever the subcommand; any other speaks where no subcommand says more.
    raising: list[Effect] = [
        entry.effect for entry in matching if entry.raises and not entry.operands and not entry.ends
    ]
    speaking = [entry for entry in matching if not entry.raises or entry.operands or entry.ends]
    said = max(speaking, key=lambda entry: entry.weight).effect if speaking else program.other
    writing: tuple[Effect, ...] = ("changes",) if any(_files_of(program, given)) else ()
    return strongest((said, *raising, *writing))


def written_by(program: Program, name: str, arguments: Sequence[str]) -> Iterator[str]:
    """The files that its options name to be written."""
    if program.files:
        for given in readings(name, arguments):
            yield from _files_of(program, given)


def _files_of(program: Program, given: Given) -> Iterator[str]:
    files = {given.names(option) for option in program.files.split()}
    yield from (value for option, value in given.values if option in files)


def _matches(entry: Entry, given: Given) -> bool:
    return any(_begins(entry, form) for form in given.forms) and all(
        _is_given(option, given, entry) for option in entry.options
    )


def _begins(entry: Entry, operands: tuple[str, ...]) -> bool:
    count = len(entry.operands)
    if len(operands) < count or (entry.ends and len(operands) > count):
        return False
    return all(want in {"?", has} for want, has in zip(entry.operands, operands, strict=False))


def _is_given(option: str, given: Given, entry: Entry) -> bool:
    if given.names(option) in given.options or option in given.unknown:
        return True
    # What raises counts in any spelling; what lowers only where it is certain.
    cut = option.startswith("--") and any(len(name) > 2 and option.startswith(name) for name in given.unknown)
    return (option in given.raw and (entry.raises or not given.known)) or (cut and entry.raises)
