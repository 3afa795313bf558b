"""Finds what a sentence that no rule takes may mean: first where its words are, then what they say (MOD-29). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from remit_server.models.built_in.guesses.evidence import FileLine, rank
from remit_server.models.built_in.guesses.guess import Guess
from remit_server.models.built_in.guesses.in_line import guess_in_line
from remit_server.models.built_in.guesses.runs import (
    guess_history,
    guess_install,
    guess_script,
    guess_target,
    guess_task,
    guess_tests,
)
from remit_server.models.built_in.guesses.texts import (
    file_of_rows,
    guess_new_file,
    guess_new_line,
    guess_removal,
    guess_rename,
    guess_replacement,
    guess_tick,
)
from remit_server.models.built_in.guesses.values import file_that_sets, guess_cell, guess_value
from remit_server.models.built_in.guesses.words import Wording, alike, stems
from remit_server.models.built_in.language.plain import JOINT
from remit_server.models.built_in.language.wished import is_wished
from remit_server.models.built_in.language.words import says

_NOT_NOW = re.compile(
    r"\b(?:not|never|don['’]?t|do not|nicht|nie|kein\w*|jamais|nunca|non|if|unless|when|wenn|falls|quand|cuando|quando|"
    r"was|were|had|used to)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words of negation, condition and the past, after which nothing is done unasked."""


def file_of_most(wording: Wording, found: Sequence[FileLine]) -> str | None:
    """Returns the file that a sentence names, or else the one that sets its name, or has most of its words in a line;
    None if several do."""
    if wording.said.files:
        return wording.said.files[0] if len(wording.said.files) == 1 else None
    if (path := file_of_rows(wording, found) or file_that_sets(wording, found)) is not None:
        return path
    best = dict[str, float]()
    for each in rank(wording, found):
        best.setdefault(each.line.path, each.share)
    most = [path for path, share in best.items() if share == max(best.values())]
    return most[0] if len(most) == 1 else None


def guesses_before(wording: Wording, files: AbstractSet[str]) -> tuple[Guess, ...]:
    """Returns what a sentence may mean by the names of the files alone."""
    if history := tuple(guess_history(wording)):  # a question, which looking answers
        return history
    found = (
        *guess_target(wording),
        *guess_tests(wording, files),
        *guess_script(wording),
        *guess_install(wording, files),
        *guess_new_file(wording),
    )
    return _held(wording, found[:1])


def guesses_in(wording: Wording, lines: Sequence[FileLine], found: Sequence[FileLine]) -> tuple[Guess, ...]:
    """Returns what a sentence may mean by the lines of one file, and by the lines that a search `found` in others."""
    every: Iterator[Guess] = (guess for rule in _RULES if lines for guess in rule(wording, lines))
    return _held(wording, (*guess_rename(wording, found), *every, *guess_task(wording, found))[:1])


_RULES = (
    guess_tick, guess_replacement, guess_new_line, guess_cell, guess_value, guess_in_line, guess_removal,
)  # fmt: skip
"""The rules for the lines of one file, the most certain first."""


def _held(wording: Wording, guesses: Sequence[Guess]) -> tuple[Guess, ...]:
    """Returns the guesses; none of them is sure if the sentence reports, forbids, asks or sets a condition, or has a
    second wish."""
    plainly = is_wished(wording.said) and not _NOT_NOW.search(wording.said.bare)
    more = [_has_second_wish(wording, guess.plain) for guess in guesses]
    return tuple(
        guess if plainly and not in_part else Guess(guess.plain, in_part=in_part)
        for guess, in_part in zip(guesses, more, strict=True)
    )


def _has_second_wish(wording: Wording, plain: str) -> bool:
    """Returns whether a clause of the sentence wishes for something that the plain sentence does not say."""
    text = wording.said.short
    if sum(f"{name}:" in text or f"{name} =" in text or f"{name}=" in text for name in wording.names) > 1:
        return True
    for joint in JOINT.finditer(text):
        clause = text[joint.end() :]
        left = [each for each in wording.literals if each.strip('"') in clause and each.strip('"') not in plain]
        told = any(says(idea, clause) for idea in _SECOND) or "commit" in clause.lower()
        if _THEN.search(joint[0]) or told or (left and joint[0].strip(" ,")):
            return True
    return _leaves_wish(wording, plain)


def _leaves_wish(wording: Wording, plain: str) -> bool:
    """Returns whether a clause begins with a verb of a change, and the plain sentence has none of its words."""
    text, done = wording.said.short, stems(plain)
    ends = [0, *(each.end() for each in JOINT.finditer(text))]
    clauses = [text[at:to] for at, to in pairwise((*ends, len(text)))]
    for clause in clauses if len(clauses) > 1 else ():
        words = [each for each in wording.words if each in stems(clause)]
        if (
            _VERB_OF_CHANGE.match(clause)
            and not _SAME.search(clause)
            and words
            and all(done.isdisjoint(alike(each)) for each in words)
        ):
            return True
    return False


_SAME = re.compile(r"\b(?:it|this|that|them|das|es|sie|ça|cela|les?|eso|esto|lo|isso|isto|ciò|questo)\b", re.IGNORECASE)
"""Pronouns, with which a clause says again what another one says."""
_VERB_OF_CHANGE = re.compile(
    r"(?:please |also )?(?:set|change|turn|switch|enable|disable|raise|lower|increase|decrease|bump|update|make|rename|"
    r"fix|setz\w*|[äa]nder\w*|schalt\w*|mets|passe|change|active|cambia|pon|activa|imposta|metti|attiva|muda)\b",
    re.IGNORECASE,
)


_THEN = re.compile(r"then|after|dann|danach|puis|ensuite|luego|despu|poi|dopo|depois|それ|その|次", re.IGNORECASE)
_SECOND = ("run", "tests", "shows", "searches", "lists", "deletes", "moves", "creates", "asking")
