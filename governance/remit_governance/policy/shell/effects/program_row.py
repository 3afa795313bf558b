"""Looks a command up in a program's row (CMD-05, CMD-09).

For each effect a row names the subcommands and options that have it; all others have the effect `otherwise`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice

from remit_governance.policy.shell.catalogue.rows import Effect, Entry, Program, is_option, strongest
from remit_governance.policy.shell.options import MOST_READINGS, Call, calls_of, family_of, row_of
from remit_governance.policy.shell.reading import UNKNOWN


@dataclass(frozen=True, slots=True)
class Given:
    """One reading of a command's arguments.

    `forms` are the subcommands and operands twice: with the subcommands' main names, and as written. `options` are the
    known options by their main names, `unknown` the others, and `values` the values of both. `raw` are all words as
    written, up to an equals sign. `known` tells whether the program's options are known, and `names` gives the main
    name of an option.
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


def readings(name: str, arguments: Sequence[str], own: Program | None = None) -> tuple[Given, ...]:
    """Returns the readings of a program's arguments, or none if there are too many, or if its first word may be any
    subcommand.

    The options are those of the row `own`, if that has some, else those of Remit's own row.
    """
    family = None if own is None else family_of(own, name)
    calls = tuple(islice(calls_of((name, *arguments), family=family or None), MOST_READINGS + 1))
    if len(calls) > MOST_READINGS or any(call.open and len(call.spelled) == 1 for call in calls):
        return ()
    raw = frozenset(word.partition("=")[0] for word in arguments)
    return tuple(dict.fromkeys(given for call in calls for given in _given(call, raw, own if family else None)))


def _given(call: Call, raw: frozenset[str], own: Program | None) -> Iterator[Given]:
    """Yields the reading with all operands, and the one without operands that may be an unknown option's value."""
    known = own is not None or row_of(call.spelled[:1]) is not None
    for certain in (False, True):
        operands = [min(each.spellings) for each in call.operands if not (certain and each.after is not None)]
        forms = tuple((*path[1:], *operands) for path in (call.path, call.spelled))
        yield Given(forms, call.options, call.unknown, call.values, raw, known, _one_names(call.path, own))


@lru_cache(maxsize=512)
def _one_names(path: tuple[str, ...], own: Program | None) -> Callable[[str], str]:
    """Returns a function that gives the main name of an option of this program and subcommand."""
    row = row_of(path) if own is None else family_of(own, path[0]).get(path)
    known = {} if row is None else {name: option.name for name, option in row.options.items()}
    return lambda option: known.get(option, option)


def effect_in(program: Program, name: str, arguments: Sequence[str]) -> Effect:
    """Returns the effect of this command by a row."""
    return in_every_reading(name, arguments, partial(_effect_of, program))


def in_every_reading(
    name: str, arguments: Sequence[str], judge: Callable[[Given], Effect], own: Program | None = None
) -> Effect:
    """Returns the greatest effect that `judge` finds in any reading of a command, or `unknown` if there is none."""
    ways = readings(name, arguments, own)
    return strongest([judge(given) for given in ways]) if ways else "unknown"


def tells_unknown(program: Program, name: str, arguments: Sequence[str]) -> bool:
    """Returns whether a row names something in a command as `unknown`, or the command cannot be read."""
    return effect_in(_only_unknown(program), name, arguments) != "reads"


@lru_cache(maxsize=64)
def _only_unknown(program: Program) -> Program:
    unknown = tuple(entry for entry in program.entries if entry.effect == "unknown")
    return Program(entries=unknown, otherwise="reads")


def _effect_of(program: Program, given: Given) -> Effect:
    said, raising = effects_said(program, given)
    found = strongest((said or "unknown", *raising))
    return "unknown" if found == "reads" and _is_doubtful(program, given) else found


def _is_doubtful(program: Program, given: Given) -> bool:
    """Returns whether a command, of which a strict row says that it reads, has an option that the row does not list, or
    a word that is an address of another machine."""
    if not program.strict:
        return False
    if any(map(_ADDRESS.match, given.operands)):
        return True
    if any(_ADDRESS.match(value) for option, value in given.values if option not in _SEARCHING):
        return True
    return bool(_unlisted(program, given))


_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*:{1,2}//|(?:npm|jsr|git|oci|ext)::?[^/]|[\w.-]+@[\w.-]+:")
_SEARCHING = frozenset({"--grep", "--author", "--committer", "-S", "-G", "--format", "--pretty", "--filter"})
"""Options whose value is text to look for, or a form in which something is shown."""


def _unlisted(program: Program, given: Given) -> Iterable[str]:
    """Returns the options that neither the row's options nor the entries that match name."""
    named = _SHOWING.union(*(entry.options for entry in _matching(program, given)))
    words = {word for word in given.raw if is_option(word)}
    if not given.known:
        return [word for word in words - named if not {f"-{letter}" for letter in word[1:]} <= named]
    # `-version` is read as its letters if only an entry names it.
    whole = {word for word in words & named if word[1] != "-"}
    letters = {f"-{letter}" for word in whole for letter in word[1:]}
    others = {f"-{letter}" for word in words - whole if word[1] != "-" for letter in word[1:]}
    return given.unknown - named - (letters - others)


def effects_said(program: Program, given: Given) -> tuple[Effect | None, tuple[Effect, ...]]:
    """Returns the effect that a row gives to a command (None if it gives none), and the effects to which options raise
    it at least."""
    matching = tuple(_matching(program, given))
    # An option that raises the effect alone does so for every subcommand; all other entries compete by their weight.
    speaking = [entry for entry in matching if not _raises_alone(entry)]
    said = max(speaking, key=lambda entry: entry.weight).effect if speaking else program.otherwise
    return said, tuple(_raised(program, given, matching))


def raised_by(program: Program, given: Given, counts: Callable[[Entry], bool]) -> Iterator[Effect]:
    """Yields the effects to which options raise a command: those of entries for which `counts` holds, of options that
    name files to write, and of options that are not listed."""
    return _raised(program, given, [entry for entry in _matching(program, given) if counts(entry)])


def _raised(program: Program, given: Given, matching: Iterable[Entry]) -> Iterator[Effect]:
    for entry in matching:
        if _raises_alone(entry):
            yield entry.effect
    if any(_is_written_to(option, given) for option in program.writes):
        yield "changes"
    if program.unlisted and (given.unknown or any(word[:1] in {UNKNOWN, "@"} for word in given.operands)):
        yield program.unlisted


def _raises_alone(entry: Entry) -> bool:
    return entry.raises and not entry.operands and not entry.ends


def _matching(program: Program, given: Given) -> Iterator[Entry]:
    for first in {"", "?", *(form[0] for form in given.forms if form)}:
        for entry in program.by_first.get(first, ()):
            if _matches(entry, given):
                yield entry


def written_by(program: Program, name: str, arguments: Sequence[str], own: Program | None = None) -> Iterator[str]:
    """Yields the files that a command writes because an option in the row's `writes` names them; options are read as in
    `readings`."""
    if program.writes:
        for given in readings(name, arguments, own):
            yield from _files_of(program, given)


def _is_written_to(option: str, given: Given) -> bool:
    """Returns whether an option that names a file to write is given, even if its subcommand is not known to have it."""
    written = given.raw if len(option) > 2 else {word[:2] for word in given.raw}
    return given.names(option) in given.options or option in written


def _files_of(program: Program, given: Given) -> Iterator[str]:
    files = {given.names(option) for option in program.writes}
    yield from (value for option, value in given.values if option in files)


def _matches(entry: Entry, given: Given) -> bool:
    if entry.lowers and entry.ends and not entry.options and not given.unknown <= _SHOWING:
        return False  # `hostname` shows, and `hostname -F x` does not
    return any(_begins(entry, form) for form in given.forms) and all(
        _is_given(option, given, entry) for option in entry.options
    )


_SHOWING = frozenset(
    [
        *("-q", "--quiet", "--verbose", "--json", "--no-pager", "--no-color", "--color", "--no-legend", "--version"),
        *("-h", "--help", "-0", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"),
    ]
)
"""Options that only change how something is shown, in every program."""


def _begins(entry: Entry, operands: tuple[str, ...]) -> bool:
    count = len(entry.operands)
    if len(operands) < count or (entry.ends and len(operands) > count):
        return False
    return all(want in {"?", has} for want, has in zip(entry.operands, operands, strict=False))


def _is_given(option: str, given: Given, entry: Entry) -> bool:
    name = given.names(option)
    if entry.lowers:
        return _is_certain(option, name, given)
    if name in given.options or option in given.unknown:
        return True
    # Here an abbreviated option counts too, and for an effect that raises any word that is spelled like the option.
    cut = option.startswith("--") and any(len(name) > 2 and option.startswith(name) for name in given.unknown)
    return cut or (option in given.raw and (entry.raises or not given.known))


def _is_certain(option: str, name: str, given: Given) -> bool:
    if name in given.options:
        return name not in map(given.names, given.unknown)  # `--check=false` is not `--check`
    # A letter in a word that is not a bundle does not count: `-replace` does not give `-p`.
    return option in given.raw and (option in given.unknown or not given.known)
