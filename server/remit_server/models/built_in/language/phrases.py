"""Matches whole sentences with the patterns of `phrases.yaml`, and returns the parts that a pattern finds (MOD-23).
Pure.

To compile all patterns would take longer than the rest of the work on a sentence. So RE2, which matches a set of
patterns at once, first tells which phrases a sentence may be, and only those are compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

from remit_server.models.built_in.language.sentences import FILE_MARK, QUOTE_MARKS, Sentence
from remit_server.models.built_in.language.words import read_table

_QUOTE = f"[{QUOTE_MARKS[0]}-{QUOTE_MARKS[-1]}]"
_WORD = rf"[^\s{FILE_MARK}]+?"
_TERM = rf"{_QUOTE}|{_WORD}(?: {_WORD}){{0,6}}?"
_PARTS: Mapping[str, str] = {
    **dict.fromkeys(("old", "new", "text", "anchor", "literal"), _TERM),
    "name": rf"{_QUOTE}|[A-Za-z_][\w.-]*",
    "named": r"[A-Za-z_]\w*",
    "words": r"[^\W\d][\w-]*(?: [^\W\d][\w-]*){0,3}?",
    "value": rf"{_QUOTE}|{_WORD}",
    "word": rf"{_QUOTE}|{_WORD}",
    "odd": rf"{_QUOTE}|[^\s{FILE_MARK}]*[\d._:/-][^\s{FILE_MARK}]*",
    "mark": rf"{_QUOTE}|(?-i:[A-Z]{{3,}})",
    "number": r"\d{1,6}",
    "last": r"\d{1,6}",
    "pair": r"and|und|et|y|e|と",
    "count": r"\d{1,6}|\w{2,8}|[二三四五六七八九十]",
    "top": r"first|top|ersten|premi[èe]res|primeras|prime|最初|先頭",
    "bottom": r"last|bottom|final|letzten|derni[èe]res|[úu]ltimas|ultime|最後|末尾",
    "file": FILE_MARK,
    "path": r"[\w./-]+",
    "list": r"[A-Za-z_][\w-]*",
    "folder": r"[\w./-]+",
    "branch": r"[\w./-]+",
}
_ORDINALS: Sequence[Sequence[str]] = (
    ("last", "letzten?", "derni[èe]re", "[úu]ltima", "ultima", "最終", "最後"),
    ("first", "ersten?", "premi[èe]re", "primera", "prima", "最初"),
    ("second", "zweiten?", "deuxi[èe]me", "segunda", "seconda"),
    ("third", "dritten?", "troisi[èe]me", "tercera", "terza"),
    ("fourth", "vierten?", "quatri[èe]me", "cuarta", "quarta"),
    ("fifth", "fünften?", "cinqui[èe]me", "quinta"),
    ("sixth", "sechsten?", "sixi[èe]me", "sexta", "sesta"),
)
"""The words of a line's number: the last, the first, the second …"""
LAST = -1
_COUNTS: Sequence[str] = (
    "two|zwei|deux|dos|due|二",
    "three|drei|trois|tres|tre|三",
    "four|vier|quatre|cuatro|quattro|四",
    "five|fünf|cinq|cinco|cinque|五",
    "six|sechs|seis|sei|六",
    "seven|sieben|sept|siete|sette|七",
    "eight|acht|huit|ocho|otto|八",
    "nine|neun|neuf|nueve|nove|九",
    "ten|zehn|dix|diez|dieci|十",
)
"""The words for a number of lines: two, three, four …"""


_BESIDE = re.compile(r"([\"'`]).*\1[,;.]? \w.*$|.+「|\w[\w ]* `.*`$")
"""Matches plain words beside a quoted text. A phrase with such a part is not taken, because the part is not clear."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The texts that a phrase found, by the names of its parts, and the names of the parts that were quoted."""

    texts: Mapping[str, str]
    quoted: frozenset[str]

    def __getitem__(self, name: str) -> str:
        return self.texts[name]

    def get(self, name: str) -> str | None:
        """Returns a part, or None if the sentence does not have it."""
        return self.texts.get(name)

    @property
    def line(self) -> int:
        """The number of the line that is named; `LAST` for the last."""
        if (number := self.texts.get("number")) is not None:
            return int(number)
        word = self.texts["ordinal"].lower()
        found = next(at for at, words in enumerate(_ORDINALS) if any(re.fullmatch(each, word) for each in words))
        return found or LAST

    @property
    def many(self) -> int | None:
        """The number of lines that are asked for, as a numeral or a word; None if the word is no number."""
        word = (self.texts.get("number") or self.texts["count"]).lower()
        named = next((at for at, words in enumerate(_COUNTS, 2) if re.fullmatch(words, word)), None)
        return int(word) if word.isdecimal() else named

    @property
    def lines(self) -> tuple[int, int] | None:
        """The numbers of the first and the last line that are named; negative numbers count from the end. None if a
        word is no number, or if a pair of lines that are not adjacent is named."""
        if (number := self.texts.get("number")) is not None:
            first, last = int(number), int(self.texts["last"])
            return None if "pair" in self.texts and last != first + 1 else (first, last)
        if not (count := self.many):
            return None
        return (1, count) if "top" in self.texts else (-count, LAST)


def find_phrases(idea: str, said: Sentence) -> Iterator[Parts]:
    """Yields the parts of each phrase of an idea that matches the sentence from end to end."""
    for wording in said.wordings:
        for phrase in likely_phrases(wording).get(idea, ()):
            if (found := pattern_of(phrase).fullmatch(wording)) is not None:
                parts = _parts(found, said)
                if not any(_BESIDE.match(text) for name, text in parts.texts.items() if name not in parts.quoted):
                    yield parts


def likely_ideas(said: Sentence) -> frozenset[str]:
    """Returns the ideas of which a phrase may match the sentence; for all others `find_phrases` yields nothing."""
    return frozenset[str]().union(*map(likely_phrases, said.wordings))


def _parts(found: re.Match[str], said: Sentence) -> Parts:
    texts, quoted = dict[str, str](), set[str]()
    for group, text in found.groupdict().items():
        if text is not None:
            name = group.rpartition("_")[0] or group
            texts[name] = said.spell(text.rstrip(",") if name == "anchor" else text)
            if re.fullmatch(_QUOTE, text):
                quoted.add(name)
    return Parts(texts, frozenset(quoted))


@cache
def pattern_of(phrase: str) -> re.Pattern[str]:
    """Returns the compiled pattern of a phrase."""
    return re.compile(_spell(phrase), re.IGNORECASE)


def _spell(phrase: str) -> str:
    """Returns a phrase as a pattern with a group for each part, numbered because a phrase may have a part twice."""
    numbers = count()
    ordinals = "|".join(word for words in _ORDINALS for word in words)
    known = {**_PARTS, "ordinal": ordinals}
    return re.sub(r"\{([a-z]+)\}", lambda found: f"(?P<{found[1]}_{next(numbers)}>{known[found[1]]})", _placed(phrase))


def _placed(phrase: str) -> str:
    places = phrase_table().places
    return re.sub(r"(?<!\?P)<(\w+)>", lambda found: places.get(found[1], found[0]), phrase)


@lru_cache(maxsize=64)
def likely_phrases(wording: str) -> Mapping[str, Sequence[str]]:
    """Returns for each idea the phrases that may match a wording: all that do, and a few that do not."""
    sieve, rows = _sieve()
    found = dict[str, list[str]]()
    # A lone surrogate cannot be encoded as UTF-8, so it is replaced.
    matched = cast("list[int] | None", sieve.Match(wording.encode(errors="replace")))
    for idea, phrase in (rows[at] for at in sorted(matched or ())):
        found.setdefault(idea, []).append(phrase)
    return found


@cache
def _sieve() -> tuple[Any, Sequence[tuple[str, str]]]:
    """Returns the RE2 set of all phrases, and the idea and the phrase of each member."""
    options = _re2.Options()
    options.case_sensitive = False
    options.max_mem = _MOST_BYTES
    sieve = _re2.Set.FullMatchSet(options)
    rows = [(idea, phrase) for idea, phrases in phrase_table().phrases.items() for phrase in phrases]
    for _, phrase in rows:
        sieve.Add(_loosely(phrase))
    sieve.Compile()
    return sieve, rows


_re2 = cast("Any", re2)
_MOST_BYTES = 64 * 1024 * 1024
"""The memory that RE2 may use for a match. If it is not enough, no phrase matches the sentence."""
_LOOSE = (
    (re.compile(r"\{[a-z]+\}"), ".+"),
    (re.compile(r"\(\?P<\w+>"), "(?:"),
    (re.compile(r"\[[^\]]*\\[wds][^\]]*\]|\\[wds]"), "."),  # in RE2 these classes match ASCII only
)


def _loosely(phrase: str) -> str:
    """Returns a pattern that compiles quickly and matches at least everything that the phrase matches."""
    loose = _placed(phrase)
    for pattern, instead in _LOOSE:
        loose = pattern.sub(instead, loose)
    return loose


@dataclass(frozen=True, slots=True)
class PhraseTable:
    """The phrases of each idea, and the expressions that `<name>` stands for in them."""

    places: Mapping[str, str]
    phrases: Mapping[str, Sequence[str]]


@cache
def phrase_table() -> PhraseTable:
    """Returns what `phrases.yaml` holds."""
    rows = dict(read_table("phrases.yaml"))
    return PhraseTable(rows.pop("places"), rows)
