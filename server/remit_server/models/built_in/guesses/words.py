"""The words, the literals and the texts of a sentence that a file may have (MOD-29). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from remit_server.models.built_in.language.sentences import Sentence, without_courtesy, without_paths
from remit_server.models.built_in.language.words import filling, read_table, says, word_table
from remit_server.models.built_in.rules.terse import SAYS_NOTHING

_PARTS = re.compile(r"[A-Z]{2,}s(?![A-Za-z])|[A-Z]+(?![a-z])|[A-Z]?[a-zÀ-ÖØ-öø-ÿ]+|[^\W\d_]+")
_ENDS = ("ings", "ing", "ed", "es", "en", "er", "s", "e")
_FEWEST = 4
"""The fewest letters of a stem."""
_LITERAL = re.compile(
    r"(?<![\w:.])\d{1,2}:\d\d(?![\w:])|"
    r"(?<![\w.#/-])(?:[<>=~^!]{1,2})?v?-?\d[\w.]*(?:-\w+)?(?<!\.)|#[\da-fA-F]{3,8}\b|(?<![\w-])[a-z]+-\d+(?![\w-])|"
    r"(?<![\w-])(?:true|false|null|none)(?![\w-])",
    re.IGNORECASE,
)
_GLUED = re.compile(r"([A-Za-z][\w./-]*)[:=@/](?=v?\d)")
_ADDRESS = re.compile(r"https?://[^\s,;\"']+[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SWITCH = re.compile(r"(?<![\w-])(?:on|off|yes|no)(?=\W*$|\)| (?:in|for|für|pour|para|per) )", re.IGNORECASE)
"""A switch where it can hardly be anything else: "on" and "no" are little words in some languages."""
_NAMES = re.compile(
    r"(?<![\w.-])--?[a-zA-Z][\w-]*|[A-Za-z_][\w]*(?:_\w+)+|\b[A-Z][A-Z\d]+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*"
)
_ASSIGNED = re.compile(r"(?<![\w.-])([A-Za-z][\w-]*)(?= ?(?:=|->|=>|→)|: )")


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Returns a word in small letters without its usual ending: "parses" and "parser" are "pars"."""
    lower = word.lower()
    cut = (lower.removesuffix(end) for end in _ENDS if lower.endswith(end))
    return next((short for short in cut if len(short) >= _FEWEST), lower)


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """Returns the stems of all words of a text; `maxRetries` and `max_retries` are two words."""
    return frozenset(map(stem, _PARTS.findall(text)))


def tokens(text: str) -> frozenset[str]:
    """Returns the stems of a text's words, and in small letters what has a digit in it, such as "G05"."""
    return stems(text) | {word.lower() for word in re.findall(r"\w*\d\w*", text)}


@cache
def _meanings() -> Mapping[str, frozenset[str]]:
    """Returns for the stem of a word the stems of all words with a meaning of it."""
    same = dict[str, set[str]]()
    for word, others in read_table("meanings.yaml").items():
        group = {stem(each) for each in (word, *others)}
        for each in group:
            same.setdefault(each, set()).update(group)
    return {word: frozenset(group) for word, group in same.items()}


def alike(word: str) -> frozenset[str]:
    """Returns the stems that say the same as a stem, and itself."""
    return _meanings().get(word, frozenset()) | {word}


@dataclass(frozen=True)
class Wording:
    """A sentence, and what a file may have of it."""

    said: Sentence

    @cached_property
    def rest(self) -> str:
        """The sentence without its files, its quoted texts and its polite words."""
        return without_courtesy(without_paths(self.said))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The stems of the words that say something, each once, without those that make a question."""
        nothing = filling() | SAYS_NOTHING | frozenset(word_table()["around"])
        values = {literal.lower() for literal in self.literals}
        text = " ".join((_LITERAL.sub(" ", self.rest), *self.said.paths))
        told = (word for word in _PARTS.findall(text) if word.lower() not in nothing | values)
        return tuple(dict.fromkeys(stem(word) for word in told if len(word) > 1))

    @cached_property
    def meant(self) -> frozenset[str]:
        """The stems of the words, of the parts of the names, and of what says the same as one of them."""
        parts = (part for name in self.names for part in (*stems(name), name.lower()))
        return frozenset(each for word in (*self.words, *parts) for each in alike(word))

    def said_by(self, text: str) -> frozenset[str]:
        """Returns the words of the sentence that a text has, or what says the same as they do."""
        has = stems(text)
        return frozenset(word for word in self.words if not has.isdisjoint(alike(word)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The words that look like names in code or options, or have a sign of assignment behind them."""
        return tuple(dict.fromkeys((*_NAMES.findall(self.said.bare), *_ASSIGNED.findall(self.said.bare))))

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """The numbers, versions and colours, as they are spelled, and the quoted texts in their quotes; if there are
        none, the switches such as `off`."""
        found = [each for each in _LITERAL.findall(self.rest) if each not in self.names]
        found += [*_ADDRESS.findall(self.said.bare), *(f'"{text}"' for text in self.said.quoted)]
        return tuple(dict.fromkeys(found or _SWITCH.findall(self.rest)))

    @cached_property
    def beside_literal(self) -> frozenset[str]:
        """The stems of the words that a literal is glued to, as in `python:3.12-slim`: where it goes, they stand."""
        return frozenset(part for word in _GLUED.findall(self.rest) for part in stems(word))

    def has(self, idea: str) -> bool:
        """Returns whether the sentence has a word of the idea."""
        return says(idea, self.said.bare)
