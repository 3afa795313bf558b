"""Whether a rule that stops a command means this one: the one matcher of policy and permissions (CMD-04).

Options are a set, whatever their order, bundles and names; the other words are a sequence. A rule that allows is not
asked here: it means exactly its words (`commands.starts_with`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import lru_cache

from remit_governance.policy.matching.paths import normalise
from remit_governance.policy.shell.options import MOST_READINGS, WILD, Call, Operand, calls_of, forms_of
from remit_governance.policy.shell.reading import Argv


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
