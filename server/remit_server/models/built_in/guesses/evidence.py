"""What the files say of the words of a sentence: the search for them, and the lines that it found (MOD-29). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.models.built_in.guesses.words import Wording, stems
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
    """Returns the search for all words, names and literals of a sentence; None if it has none."""
    words = [f"(?:\\b|_){each}{'' if len(each) > _SHORT else chr(92) + 'b'}" for each in wording.words]
    named = [each for each in wording.names if each not in wording.said.files]
    texts = [re.escape(each.strip('"')) for each in (*named, *wording.literals) if len(each) > 1]
    pattern = "|".join((*words, *texts))
    if not pattern or len(pattern) > _MOST_CHARS:
        return None
    where: dict[str, JsonValue] = {"path": wording.said.files[0]} if len(wording.said.files) == 1 else {}
    asked: dict[str, JsonValue] = {"pattern": f"(?i){pattern}", "context_lines": 0, "max_results": MOST_LINES}
    return Routed(Intent.ANALYZE, "search_files", asked | where)


_MOST_CHARS = 900


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
    wanted = frozenset((*wording.words, *(text.strip('"').lower() for text in (*wording.literals, *wording.names))))
    had = [(line, _had(wanted, line.text), _had(wanted, line.path)) for line in lines]
    counts = Counter(word for _, text, path in had for word in text | path)
    weights = {word: 1 / counts[word] ** 0.5 if counts[word] else 1.0 for word in wanted}
    total = sum(weights.values()) or 1.0
    ranked = (Ranked(line, _sum(weights, text | path) / total, text) for line, text, path in had if text)
    return tuple(sorted(ranked, key=lambda each: -each.share))


def _had(wanted: frozenset[str], text: str) -> frozenset[str]:
    lower = text.lower()
    literals = (word for word in wanted if not word.isalpha() and word in lower)
    return (wanted & stems(text)) | {
        each for each in literals if re.search(rf"(?<![\w.]){re.escape(each)}(?![\w])", lower)
    }


def _sum(weights: dict[str, float], words: Iterable[str]) -> float:
    return sum(weights[word] for word in words)
