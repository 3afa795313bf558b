"""What the files say of the words of a sentence: the search for them, and the lines that it found (MOD-29). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.models.built_in.guesses.words import Wording, alike, stems
from remit_server.models.built_in.routes import Routed

MOST_LINES = 200
_SHORT = 3
"""A word of so few letters is searched for only as a word of its own."""
_FOUND = re.compile(r"(\d+):(.*)")


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file, numbered from 1."""

    path: str
    number: int
    text: str


def search_for(wording: Wording) -> Routed | None:
    """Returns the search for all words, names and literals of a sentence, and for what says the same as its words; None
    if it has none."""
    own = frozenset(wording.words)
    meant = frozenset(other for each in own for other in alike(each))
    pattern = next(
        (each for each in (_pattern(wording, words) for words in (meant, own)) if len(each) <= _MOST_CHARS), ""
    )
    if not pattern:
        return None
    where: dict[str, JsonValue] = {"path": wording.said.files[0]} if len(wording.said.files) == 1 else {}
    asked: dict[str, JsonValue] = {"pattern": f"(?i){pattern}", "context_lines": 0, "max_results": MOST_LINES}
    return Routed(Intent.ANALYZE, "search_files", asked | where)


_MOST_CHARS = 900


def _pattern(wording: Wording, words: AbstractSet[str]) -> str:
    """Returns the pattern that matches one of the words at the beginning of a word, or a name or a literal."""
    long = "|".join(sorted(word for word in words if len(word) > _SHORT))
    short = "|".join(sorted(word for word in words if len(word) <= _SHORT))
    named = [each for each in wording.names if each not in wording.said.files]
    texts = [re.escape(each.strip('"')) for each in (*named, *wording.literals) if len(each) > 1]
    begins = [rf"(?:\b|_)(?:{long})"] if long else []
    begins += [rf"(?:\b|_)(?:{short})\b"] if short else []
    return "|".join((*begins, *texts))


def lines_found(result: str) -> tuple[FileLine, ...]:
    """Returns the lines that a search found."""
    path, found = "", list[FileLine]()
    for line in result.split("\n")[1:]:
        if (match := _FOUND.fullmatch(line)) is not None:
            found.append(FileLine(path, int(match[1]), match[2]))
        else:
            path = line or path
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A line, and how much of a sentence it has: from 0 to 1, where a rare word counts more than a frequent one."""

    line: FileLine
    share: float
    words: frozenset[str]


def rank(wording: Wording, lines: Sequence[FileLine]) -> tuple[Ranked, ...]:
    """Returns the lines by how much of the sentence they have in their text and their path, the most first."""
    texts = frozenset(text.strip('"').lower() for text in (*wording.literals, *wording.names))
    wanted = texts | frozenset(wording.words)
    had = [(line, _had(wording, texts, line.text), _had(wording, texts, line.path)) for line in lines]
    counts = Counter(word for _, text, path in had for word in text | path)
    weights = {word: 1 / counts[word] ** 0.5 if counts[word] else 1.0 for word in wanted}
    total = sum(weights.values()) or 1.0
    ranked = (Ranked(line, _sum(weights, text | path) / total, text) for line, text, path in had if text)
    return tuple(sorted(ranked, key=lambda each: -each.share))


def _had(wording: Wording, texts: AbstractSet[str], text: str) -> frozenset[str]:
    """Returns the words of a sentence, and those of its names and literals, that a text has."""
    lower = text.lower()
    plain = stems(text) & texts
    whole = (each for each in texts if each in lower and re.search(rf"(?<![\w.]){re.escape(each)}(?!\w)", lower))
    return wording.said_by(text) | plain | frozenset(whole)


def _sum(weights: dict[str, float], words: Iterable[str]) -> float:
    return sum(weights[word] for word in words)
