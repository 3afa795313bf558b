"""A command's words as the program reads them: subcommands, options as a set, and operands (CMD-03).

`calls_of` yields every reading of the words that is possible by the options in the program's row. If the program or the
option is not known, any word after an option may be its value.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from remit_governance.policy.shell.catalogue.files import packaged
from remit_governance.policy.shell.catalogue.rows import Program
from remit_governance.policy.shell.reading import Argv
from remit_governance.policy.shell.spellings import mode_spellings, refspec_spellings, signal_name

MOST_READINGS = 8
"""The most readings of one command that are examined; if there are more, the rest is not certain."""

MOST_TRIES = 64
"""The most words of one command that are tried as its subcommand; after that, it may be any subcommand (`open`)."""

WILD = re.compile(r"[*?\[]")
_NO_COMMANDS = frozenset({"-", "true", "false", "null"})
"""Words that are never a subcommand; npm reads the last three as the value of an option that needs none."""
_INTERPRETERS = frozenset(
    {
        *("sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "python", "node", "ruby", "perl", "php", "deno"),
        *("bun", "tsx", "ts-node"),
    }
)
_VERSIONED = re.compile(r"(python|pip)[0-9][0-9.]*")
_SIGNAL = re.compile(r"-(?:SIG)?(?:[A-Z][A-Z0-9+-]*|[0-9]+)")
_LETTERS = re.compile(r"-[A-Za-z0-9]{2,}")


class Option(NamedTuple):
    """An option: its main name, whether a value follows (`=` always, `[=]` only in the same word), and the options that
    it stands for."""

    name: str
    value: str = ""
    means: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """How a program, or one of its subcommands, reads its words. docs/policy-reference.md explains `marks`."""

    path: Argv
    options: Mapping[str, Option] = field(default_factory=dict[str, Option])
    commands: Mapping[str, Argv] = field(default_factory=dict[str, Argv])
    marks: frozenset[str] = frozenset()

    def command(self, word: str) -> Argv | None:
        """Returns the path of the subcommand that `word` names, also by another name or abbreviated; None if there is
        no such subcommand."""
        if word in self.commands or "cut" not in self.marks:
            return self.commands.get(word)
        kebab = re.sub("([A-Z])", lambda upper: f"-{upper[1].lower()}", word)
        found = {path for name, path in self.commands.items() if name.startswith(kebab)}
        return found.pop() if len(found) == 1 else None

    def long(self, name: str) -> tuple[Option, ...]:
        """Returns the option with this name, or else every option of which the name may be an abbreviation."""
        if name in self.options:
            return (self.options[name],)
        cut = {option for known, option in self.options.items() if len(name) > 2 and known.startswith(name)}
        return tuple(sorted(cut))


Family = Mapping[Argv, Row]
"""The rows of a program and its subcommands, by their paths."""


class Operand(NamedTuple):
    """A word that is not an option, in each of its spellings; `after` is the unknown option whose value it may be."""

    spellings: frozenset[str]
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One reading of a command. `path` is its program and subcommands by their main names, `spelled` as written.

    `options` are the known options by their main names, `unknown` the others as written, with bundled letters one by
    one; `values` are the values of both. `open` is set if a word may stand for another subcommand (an alias, a
    pattern), `wild` if a pattern may become any option. `apart` is set if other words may stand between the operands
    that a rule names; it is false if nothing is known of the program, or if its first operand may begin a command.
    """

    path: Argv
    spelled: Argv
    options: frozenset[str]
    unknown: frozenset[str]
    values: frozenset[tuple[str, str]]
    operands: tuple[Operand, ...]
    open: bool
    wild: bool
    apart: bool


@lru_cache(maxsize=256)
def family_of(program: Program, name: str) -> Family:
    """Returns the rows of a program and its subcommands, by their paths; empty if nothing is known of its options."""
    if program.options is None and not program.commands:
        return {}
    own: dict[Argv, tuple[Mapping[str, Option], frozenset[str]]] = {}
    names: dict[Argv, dict[str, Argv]] = {}
    if program.options is not None:
        own[(name,)] = _options(program.options), program.marks
    for command in program.commands:
        for path in product((name,), *(word.split("|") for word in command.path.split())):
            target = command.other_name_of
            if not target:
                own[path] = _options(command.options), command.marks
            for depth in range(1, len(path)):
                to = (name, *target) if target and depth == len(path) - 1 else path[: depth + 1]
                names.setdefault(path[:depth], {})[path[depth]] = to
    above, above_marks = own.get((name,), (_COMMON, frozenset[str]()))
    rows: dict[Argv, Row] = {}
    for path in own.keys() | names.keys():
        mine, more = own.get(path, ({}, frozenset[str]()))
        inherited = above if "anywhere" in above_marks else {} if mine else _COMMON
        rows[path] = Row(path, {**inherited, **mine}, names.get(path, {}), more)
    return rows


def _options(text: str) -> dict[str, Option]:
    """Parses text such as `-f|--force -C= --color[=] -D>--delete>--force --delete-after<--delete` to options by each of
    their names."""
    found: dict[str, Option] = {}
    for token in text.split():
        names, *meant = re.split("[<>]", token)
        value = next((kind for kind in ("[=]", "=") if names.endswith(kind)), "")
        names = names.removesuffix(value)
        each = [f"{name}=" if value == "=" and name[0] != "-" else name for name in names.split("|")]
        own = [] if ">" in token else each[-1:]
        found |= dict.fromkeys(each, Option(each[-1], value, (*own, *meant)))
    return found


_COMMON = _options("-r|-R|--recursive -f|--force -a|--all -d|--delete")
"""What these letters mean in most programs. It is not certain that they mean it in a program without a row."""


def row_of(path: Argv) -> Row | None:
    """Returns Remit's row of a program or a subcommand, or None if there is none."""
    return _packaged_family(path[0]).get(path)


@lru_cache(maxsize=1024)
def _packaged_family(name: str) -> Family:
    program = packaged(name)
    return {} if program is None else family_of(program, name)


@lru_cache(maxsize=1024)
def _alias(program: str) -> Argv:
    """Returns the words for which a program's name is another name; empty for most programs."""
    known = packaged(program)
    if known is not None and known.other_name_of:
        return known.other_name_of
    return ("git", program[4:]) if program.startswith("git-") else ()


@lru_cache(maxsize=1024)
def program_name(word: str) -> str:
    """Returns the main name of a program, without its folder and, for `python` and `pip`, its version."""
    name = posixpath.basename(word).casefold()
    versioned = _VERSIONED.fullmatch(name)
    return versioned[1] if versioned else name


def forms_of(argv: Argv) -> tuple[Argv, ...]:
    """Returns the command, and the commands that mean the same: `git-push x` is `git push x`, `python -m pip` is `pip`,
    `sh ./deploy` is `./deploy`.
    """
    name = program_name(argv[0])
    forms: list[Argv] = [(name, *argv[1:])]
    if other := _alias(name):
        forms.append((*other, *argv[1:]))
    if name == "python" and (module := _module(argv)):
        forms.append(module)
    if name in _INTERPRETERS and (script := next(calls_of(forms[0])).operands):
        file, *rest = (min(operand.spellings) for operand in script)
        forms.append((program_name(file), *rest))
    return tuple(forms)


def _module(argv: Argv) -> Argv:
    """Returns the module that `python -m` runs, with its arguments, or nothing for another call."""
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        letters = argv[at]
        if "m" in letters and not letters.startswith("--") and not set(letters[1 : letters.index("m")]) & set("cWX"):
            rest = letters[letters.index("m") + 1 :]
            return (program_name(rest), *argv[at + 1 :]) if rest else argv[at + 1 :]
        at += 2 if letters in {"-W", "-X", "--check-hash-based-pycs"} else 1
    return ()


def calls_of(argv: Argv, wanted: Argv = (), family: Family | None = None) -> Iterator[Call]:
    """Returns the readings of this command whose program and subcommands begin like `wanted`, or may begin so.

    Options are read by the rows in `family` or, if that is None, by Remit's own row of the program.
    """
    rows = _packaged_family(argv[0]) if family is None else family
    row = rows.get(argv[:1])
    reader = _Reader(row or Row(argv[:1], _COMMON), argv[:1], row is not None, rows)
    return reader.read(argv, 1, wanted)


@dataclass(slots=True)
class _Reader:
    """A reading that is being built. `loose` is the unknown option whose value the next word may be."""

    row: Row
    spelled: Argv
    known: bool
    family: Family
    tries: list[int] = field(default_factory=lambda: [MOST_TRIES])
    options: set[str] = field(default_factory=set[str])
    unknown: set[str] = field(default_factory=set[str])
    values: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    operands: list[Operand] = field(default_factory=list[Operand])
    loose: str | None = None
    ended: bool = False
    open: bool = False
    wild: bool = False

    def read(self, argv: Argv, at: int, wanted: Argv) -> Iterator[Call]:
        """Yields every reading of the words from `at` on."""
        if "bare" in self.row.marks and argv[at : at + 1] and argv[at][:1] != "-":
            at = self._bundle(f"-{argv[at]}", argv, at + 1, separate=True)
        while at < len(argv):
            word = argv[at]
            if ("plus" in self.row.marks and word.startswith("+")) or (self.row.commands and word in _NO_COMMANDS):
                at += 1
                continue
            if self._is_option(word):
                at = self._option(word, argv, at + 1)
                continue
            at += 1
            if self.row.commands:
                self.tries[0] -= 1
                if self.tries[0] < 0:
                    self.open = True
                    break
                if _fits(sub := self._below(word), wanted):
                    yield from sub.read(argv, at, wanted)
                if self.loose is None:
                    return
            else:
                self._operand(word)
            self.loose = None
        yield self._call()

    def _is_option(self, word: str) -> bool:
        if word.partition("=")[1] and f"{word.partition('=')[0]}=" in self.row.options:
            return True
        if not self.ended:
            return len(word) > 1 and word[0] == "-"
        # `pkill` also takes a signal after its operands.
        return "signals" in self.row.marks and bool(_SIGNAL.fullmatch(word))

    def _below(self, word: str) -> _Reader:
        """Returns the reading in which this word is the subcommand."""
        path = self.row.command(word)
        row = (self.family.get(path) if path else None) or Row(
            path or (*self.row.path, word), self.row.options if "anywhere" in self.row.marks else _COMMON
        )
        return _Reader(
            row,
            (*self.spelled, word),
            self.known,
            self.family,
            self.tries,
            set(self.options),
            set(self.unknown),
            set(self.values),
            open=self.open or bool(WILD.search(word)) or (path is None and "aliases" in self.row.marks),
            wild=self.wild,
        )

    def _operand(self, word: str) -> None:
        spellings = {word}
        if "refspecs" in self.row.marks:
            spellings, implied = refspec_spellings(word)
            self.options |= implied
        if "modes" in self.row.marks:
            spellings = mode_spellings(word)
        self.operands.append(Operand(frozenset(spellings), self.loose))
        self.ended |= "stop" in self.row.marks and self.loose is None

    def _option(self, word: str, argv: Argv, at: int) -> int:
        """Reads an option, whose word is the one before `at`. Returns the position of the next word."""
        if word == "--":
            # After an unknown option, `--` may be its value; before a subcommand, `--` does not end that one's options.
            self.ended |= self.loose is None and not self.row.commands
            return at
        self.loose = None
        name, equals, value = word.partition("=")
        self.wild |= bool(WILD.search(name))
        if name[0] != "-":
            self._add(self.row.options[f"{name}="], value)
            return at
        if "signals" in self.row.marks and word not in self.row.options and _SIGNAL.fullmatch(word):
            self._add(Option("--signal", means=("--signal",)), word[1:])
            return at
        found = self.row.long(name) if name.startswith("--") or name in self.row.options else ()
        short = self.row.options.get(word[:2])
        valued = short is not None and short.value != ""  # `-t,` is `-t` with a value
        if not found and not name.startswith("--") and (len(word) == 2 or valued or _LETTERS.match(word)):
            return self._bundle(word, argv, at)
        if not found:
            self.unknown.add(name)
            self.values |= {(name, value)} if equals else set()
            self.loose = None if equals else name
        for option in found:
            if equals and not option.value:
                self.unknown.add(name)  # `-Artist=me` is not the option `-Artist`
            takes = option.value == "=" and not equals
            self._add(option, value if equals else argv[at] if takes and at < len(argv) else None)
            if takes and name not in self.row.options:
                # An abbreviation may also mean an option that the row does not have.
                self.loose = name
        return at + (self.loose is None and not equals and any(option.value == "=" for option in found))

    def _bundle(self, word: str, argv: Sequence[str], at: int, *, separate: bool = False) -> int:
        """Reads options that are letters in one word. With `separate`, the values of all of them follow as words, as in
        `tar xfC`. Returns the position of the next word."""
        for n, letter in enumerate(word[1:], 2):
            option = self.row.options.get(f"-{letter}")
            if option is None:
                self.unknown.add(f"-{letter}")
                self.loose = word
            elif not option.value:
                self._add(option, None)
            elif word[n:] and not separate:
                self._add(option, word[n:].removeprefix("="))
                return at
            else:
                takes = option.value == "=" and at < len(argv)
                self._add(option, argv[at] if takes else None)
                at += takes
        return at

    def _add(self, option: Option, value: str | None) -> None:
        self.options.update(option.means)
        if value is not None:
            self.values.add((option.name, signal_name(value) if option.name == "--signal" else value))

    def _call(self) -> Call:
        return Call(
            self.row.path,
            self.spelled,
            frozenset(self.options),
            frozenset(self.unknown),
            frozenset(self.values),
            tuple(self.operands),
            self.open,
            self.wild,
            self.known and "stop" not in self.row.marks,
        )


def _fits(reader: _Reader, wanted: Argv) -> bool:
    """Returns whether the reader may yield a call whose path begins like `wanted`."""
    if reader.open or reader.row.commands:
        return True
    return any(path[: len(wanted)] == wanted[: len(path)] for path in (reader.row.path, reader.spelled))
