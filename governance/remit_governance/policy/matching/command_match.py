"""Tells whether a rule that stops commands means a given one: the one matcher of policy and permissions (CMD-04).

Options are compared as a set, whatever their order, bundling and names; the other words are compared as a sequence. A
rule that allows is not matched this way, because it means exactly its words (`starts_with`).

Policy sees a command as its words if they are plain, else as one text for a shell (CMD-01). This module also finds
commands of git that show what files held in the past, because git keeps what policy has since hidden (POL-16).
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Sequence
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import lru_cache

from remit_governance.policy.matching.paths import normalise
from remit_governance.policy.shell.options import MOST_READINGS, WILD, Call, Operand, calls_of, forms_of
from remit_governance.policy.shell.reading import Argv

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./ \t'\"-]*", re.ASCII)
_BARE = re.compile(r"[A-Za-z0-9_@%+=:,./ -]*", re.ASCII)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
# Words that a shell reads as syntax in the place of a command's name, or that make it read their arguments again.
_SHELL = frozenset(
    {
        *("if", "then", "elif", "else", "fi", "case", "esac", "for", "while", "until", "do", "done", "in", "select"),
        *("time", "function", "coproc", "eval", "exec", "command", "builtin", ".", "source", "trap", "alias"),
    }
)
_SCRIPT = ("sh", "-c")


def command_words(command: str) -> tuple[str, ...]:
    """Returns the words of a command without shell syntax, else `("sh", "-c", command)`.

    So a rule for `pytest` never matches `pytest; rm -rf .`, because a text that is not known to be plain words is left
    to a shell.
    """
    whole = (*_SCRIPT, command)
    if not _PLAIN.fullmatch(command):
        return whole
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return whole
    known = bool(words) and words[0] not in {"", *_SHELL} and not _ASSIGNMENT.match(words[0])
    return words if known else whole


def is_script(command: tuple[str, ...] | None) -> bool:
    """Tells whether this is a text for a shell, which no rule can have meant to allow."""
    return command is not None and command[:2] == _SCRIPT


@lru_cache(maxsize=4096)
def command_prefix(text: str) -> tuple[str, ...]:
    """Returns the leading words that a rule's `command` names. Raises ValueError if there are none, or if a quote is
    not closed."""
    try:
        words = tuple(text.split() if _BARE.fullmatch(text) else shlex.split(text))
    except ValueError:
        words = ()
    if not words:
        raise ValueError(f"the command `{text}` has no words: write the words a command starts with")
    return words


def starts_with(command: tuple[str, ...], prefix: tuple[str, ...]) -> bool:
    """Tells whether the leading words of `command` are exactly `prefix`."""
    return command[: len(prefix)] == prefix


_HARMLESS = frozenset(
    {
        *(
            "add",
            "branch",
            "check-ignore",
            "clean",
            "commit",
            "config",
            "count-objects",
            "describe",
            "fetch",
            "for-each-ref",
        ),
        *("fsck", "gc", "help", "init", "log", "ls-files", "merge-base", "mv", "push", "reflog", "remote", "rev-list"),
        *("rev-parse", "rm", "shortlog", "show-ref", "status", "submodule", "symbolic-ref", "tag", "var", "version"),
    }
)
"""Subcommands that show names and messages, but no content of files except their current one."""

_SHOWING = (
    *("-p", "-u", "-U", "-L", "-G", "-S", "-c", "-v", "--patch", "--unified", "--cc", "--word-diff", "--diff"),
    *("--color-words", "--binary", "--full-diff", "--ext-diff", "--textconv", "--verbose", "--remerge"),
)
_VERBOSE = frozenset({"branch", "remote"})
"""Subcommands for which `-v` shows only names and messages."""

_BEFORE = ("--no-pager", "--paginate", "--no-optional-locks", "--literal-pathspecs", "-P", "-p", "--bare")


def is_git(command: Sequence[str]) -> bool:
    """Tells whether the command's program is git."""
    return bool(command) and posixpath.basename(command[0]) == "git"


def reads_history(commands: Iterable[Sequence[str]]) -> bool:
    """Tells whether one of the commands is one of git that may show what a file held in a commit."""
    return any(is_git(command) and not _is_harmless(command[1:]) for command in commands)


def _is_harmless(words: Sequence[str]) -> bool:
    rest = list(words)
    while rest and rest[0] in _BEFORE:
        rest.pop(0)
    if not rest or rest[0] in {"--version", "--help"}:
        return True
    subcommand, *others = rest
    if subcommand in _VERBOSE:
        others = [word for word in others if word not in {"-v", "-vv"}]
    return subcommand in _HARMLESS and not any(word.startswith(_SHOWING) for word in others)


class Match(IntEnum):
    """How certain it is that a rule means a command."""

    NO = 0
    MAYBE = 1
    YES = 2


@lru_cache(maxsize=4096)
def matches_command(rule: Argv, command: Argv) -> Match:
    """Tells how certain it is that a rule that stops the words `rule` means this command, in any spelling."""
    return _best(rule, command, whole=False)


@lru_cache(maxsize=4096)
def same_command(rule: Argv, command: Argv) -> Match:
    """Tells how certain it is that both are the same command: the same options and words, and nothing more."""
    return Match.YES if rule == command else _best(rule, command, whole=True)


def _best(rule: Argv, command: Argv, *, whole: bool) -> Match:
    if not rule or not command:
        return Match.NO
    pairs = ((r, c) for r in forms_of(rule) for c in forms_of(command) if r[0] == c[0])
    return max((_match(r, c, whole=whole) for r, c in pairs), default=Match.NO)


def _match(rule: Argv, command: Argv, *, whole: bool) -> Match:
    best = Match.NO
    for wanted in _first(rule, ()):
        for n, given in enumerate(calls_of(command, wanted.path)):
            if n == MOST_READINGS:
                return max(best, Match.MAYBE)
            best = max(best, _same(wanted, given) if whole else _compare(wanted, given))
            if best is Match.YES:
                return best
    return best


@lru_cache(maxsize=1024)
def _first(rule: Argv, wanted: Argv) -> tuple[Call, ...]:
    """Returns the first reading of a rule. If a word follows an unknown option, it may be the option's value or a word
    of its own; the first reading takes it as a word, which matches more commands."""
    return tuple(call for call, _ in zip(calls_of(rule, wanted), range(1), strict=False))


def _same(wanted: Call, given: Call) -> Match:
    alike = (
        wanted.path == given.path
        and wanted.options == given.options
        and wanted.unknown == given.unknown
        and wanted.values == given.values
        and len(wanted.operands) == len(given.operands)
        and all(map(_is, wanted.operands, given.operands))
    )
    return Match.YES if alike else Match.NO


def _compare(wanted: Call, given: Call) -> Match:
    found = min(_paths(wanted, given), _options(wanted, given))
    if found is Match.NO:
        return found
    words = [word for word in wanted.operands if not _is_value(word, given)]
    return min(found, _operands(words, given.operands, apart=given.apart))


def _paths(wanted: Call, given: Call) -> Match:
    """Tells whether the program and its subcommands begin with the wanted ones."""
    if any(path[: len(wanted.path)] == wanted.path for path in (given.path, given.spelled)):
        return Match.YES
    return Match.MAYBE if given.open and len(wanted.path) > 1 else Match.NO


def _options(wanted: Call, given: Call) -> Match:
    """Tells whether all wanted options are given, and those with a value with the same value."""
    names = wanted.options <= given.options and all(_among(option, given.unknown) for option in wanted.unknown)
    values = all(any(name == n and _same_word(value, v) for n, v in given.values) for name, value in wanted.values)
    if names and values:
        return Match.YES
    return Match.MAYBE if given.wild else Match.NO


def _among(option: str, given: frozenset[str]) -> bool:
    """Tells whether an option that the program's row does not have is given, perhaps abbreviated."""
    return option in given or any(len(each) > 2 and each[:2] == "--" and option.startswith(each) for each in given)


def _is_value(word: Operand, given: Call) -> bool:
    """Tells whether a word of the rule, after an unknown option, is given as that option's value (`--env=prod`)."""
    return word.after is not None and any((word.after, spelling) in given.values for spelling in word.spellings)


def _operands(wanted: Sequence[Operand], given: Sequence[Operand], *, apart: bool) -> Match:
    """Tells whether the wanted words are given in this order.

    With `apart`, other words may stand between them. Otherwise they have to come first, though words that may be an
    option's value are skipped; if they stand anywhere else, the match is not certain.
    """
    if _sequence(wanted, given, anywhere=apart, patterns=False):
        return Match.YES
    return Match.MAYBE if _sequence(wanted, given, anywhere=True, patterns=True) else Match.NO


def _sequence(wanted: Sequence[Operand], given: Sequence[Operand], *, anywhere: bool, patterns: bool) -> bool:
    end = len(wanted)
    counts = {0}
    for word in given:
        if end in counts:
            return True
        found = {n + 1 for n in counts if _is(wanted[n], word)}
        for n in range(min(counts, default=end), end) if patterns else ():
            # A pattern may expand to several words.
            if (n in counts or n in found) and _may_be(wanted[n], word):
                found.add(n + 1)
        counts = found | (counts if anywhere or word.after is not None else set[int]())
    return end in counts


def _is(wanted: Operand, given: Operand) -> bool:
    if not wanted.spellings.isdisjoint(given.spellings):
        return True
    return any(_same_word(a, b) for a in wanted.spellings for b in given.spellings)


def _may_be(wanted: Operand, given: Operand) -> bool:
    """Tells whether a given word is a pattern that may expand to the wanted word."""
    return any(WILD.search(g) and fnmatchcase(w, g) for g in given.spellings for w in wanted.spellings)


def _same_word(one: str, other: str) -> bool:
    """Tells whether both are the same word or the same path: `build/` is `./build`."""
    return one == other or ("/" in one + other and normalise(one) == normalise(other))
