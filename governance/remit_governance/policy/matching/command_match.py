"""Whether a rule that stops a command means this one: the one matcher of policy and permissions (CMD-04).

Options are a set, whatever their order, bundles and names; the other words are a sequence. A rule that allows is not
asked here: it means exactly its words (`starts_with`).

Policy sees a command line as its words where they are plain, as the whole text under a shell where they are not
(CMD-01). Commands of git that show what files held in the past are told here too: git keeps it, whatever has since been
hidden (POL-16).
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
# What a shell reads as syntax where a command's name stands, and what has it read its words once more.
_SHELL = frozenset(
    {
        *("if", "then", "elif", "else", "fi", "case", "esac", "for", "while", "until", "do", "done", "in", "select"),
        *("time", "function", "coproc", "eval", "exec", "command", "builtin", ".", "source", "trap", "alias"),
    }
)
_SCRIPT = ("sh", "-c")


def command_words(command: str) -> tuple[str, ...]:
    """Returns the words of a command without shell syntax, else `("sh", "-c", command)`.

    So a rule for `pytest` never matches `pytest; rm -rf .`: what is not known to be plain words is a shell's business.
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
    """Tells whether this is a text that only a shell knows the meaning of. No rule can have meant to allow it."""
    return command is not None and command[:2] == _SCRIPT


@lru_cache(maxsize=4096)
def command_prefix(text: str) -> tuple[str, ...]:
    """Returns the leading words a rule's `command` names. Raises ValueError where there are none, or its quotes are
    open."""
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
"""Subcommands that show names and messages, and of files no more than what they hold now."""

_SHOWING = (
    *("-p", "-u", "-U", "-L", "-G", "-S", "-c", "-v", "--patch", "--unified", "--cc", "--word-diff", "--diff"),
    *("--color-words", "--binary", "--full-diff", "--ext-diff", "--textconv", "--verbose", "--remerge"),
)
_VERBOSE = frozenset({"branch", "remote"})
"""Of these `-v` shows names and messages only."""

_BEFORE = ("--no-pager", "--paginate", "--no-optional-locks", "--literal-pathspecs", "-P", "-p", "--bare")


def is_git(command: Sequence[str]) -> bool:
    """Tells whether the command is git's."""
    return bool(command) and posixpath.basename(command[0]) == "git"


def reads_history(commands: Iterable[Sequence[str]]) -> bool:
    """Tells whether one of the commands is git's and may show what a file held in a commit."""
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
    """The certainty with which a rule means a command."""

    NO = 0
    MAYBE = 1
    YES = 2


@lru_cache(maxsize=4096)
def matches_command(rule: Argv, command: Argv) -> Match:
    """Tells whether a rule that stops the words `rule` means this command, in whatever spelling."""
    return _best(rule, command, whole=False)


@lru_cache(maxsize=4096)
def same_command(rule: Argv, command: Argv) -> Match:
    """Tells whether both are one command: the same options and words, and nothing more."""
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
    """Reads a rule: its author writes an unknown option's value behind it, or a word; the latter is wider."""
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
    """Tells whether the program and its subcommands begin with those that are wanted."""
    if any(path[: len(wanted.path)] == wanted.path for path in (given.path, given.spelled)):
        return Match.YES
    return Match.MAYBE if given.open and len(wanted.path) > 1 else Match.NO


def _options(wanted: Call, given: Call) -> Match:
    """Tells whether all options that are wanted are given, those with a value with that one."""
    names = wanted.options <= given.options and all(_among(option, given.unknown) for option in wanted.unknown)
    values = all(any(name == n and _same_word(value, v) for n, v in given.values) for name, value in wanted.values)
    if names and values:
        return Match.YES
    return Match.MAYBE if given.wild else Match.NO


def _among(option: str, given: frozenset[str]) -> bool:
    """Tells whether an option that the table does not have is given, perhaps cut short."""
    return option in given or any(len(each) > 2 and each[:2] == "--" and option.startswith(each) for each in given)


def _is_value(word: Operand, given: Call) -> bool:
    """Tells whether a word of the rule, behind an unknown option, is given as that option's value (`--env=prod`)."""
    return word.after is not None and any((word.after, spelling) in given.values for spelling in word.spellings)


def _operands(wanted: Sequence[Operand], given: Sequence[Operand], *, apart: bool) -> Match:
    """Tells whether the words that are wanted come in this order.

    Of most programs in the table other words may stand between them; of another one they come first, where a word that
    may be an option's value does not count, and anywhere else is not certain.
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
            # A pattern may become several words.
            if (n in counts or n in found) and _may_be(wanted[n], word):
                found.add(n + 1)
        counts = found | (counts if anywhere or word.after is not None else set[int]())
    return end in counts


def _is(wanted: Operand, given: Operand) -> bool:
    if not wanted.spellings.isdisjoint(given.spellings):
        return True
    return any(_same_word(a, b) for a in wanted.spellings for b in given.spellings)


def _may_be(wanted: Operand, given: Operand) -> bool:
    """Tells whether a pattern may become the word."""
    return any(WILD.search(g) and fnmatchcase(w, g) for g in given.spellings for w in wanted.spellings)


def _same_word(one: str, other: str) -> bool:
    """Tells whether both are one word, or one path: `build/` is `./build`."""
    return one == other or ("/" in one + other and normalise(one) == normalise(other))
