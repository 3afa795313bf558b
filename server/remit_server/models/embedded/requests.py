"""Takes a request apart into what an argument may be copied from: runs of words, single words, paths and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_CHARS = 1200
"""Characters of a request that are looked at; a longer one is no task for this model."""
MOST_WORDS = 24
"""Words of a run. In a request with more words than this, a run is one word, is quoted, or ends the request."""

FUNCTION_WORDS = frozenset(
    {
        "a", "an", "the", "this", "that", "it", "its", "i", "i'd", "you", "me", "we", "us", "my", "your", "in", "of",
        "to", "is", "are", "was", "be", "been", "have", "has", "had", "do", "does", "with", "and", "or", "as", "for",
        "from", "by", "on", "at", "so", "not", "please", "could", "would", "should", "can", "will", "shall", "may",
        "must",
    }
)  # fmt: skip
"""Words that are never a name: most are keywords besides."""
_PUNCTUATION = ".,;:?!"
_ATOM = re.compile(r"([`\"'])(?=\S)(.+?)\1(?=[\s.,;:?!]|$)[.,;:?!]*|\S+")
"""Something in quotes, which is never taken apart, or a word."""
_NUMBER = re.compile(r"(?<![\w./-])\d{1,7}(?![\w/-]|\.\w)")
_LINE = re.compile(r"\bline (?:no\.? |number )?\d|\w\.\w+:\d", re.IGNORECASE)
_PATH = re.compile(r"[^\s:]*(?:/|[^\s.:/]\.\w)[^\s:]*|[A-Z][A-Za-z]*file|[A-Z]{5,}")


@dataclass(frozen=True, slots=True)
class Request:
    """Pieces of a request, each once.

    `words` are single ones without quotes and punctuation, `paths` those that look like one, `quoted` is what
    stands in quotes, with them, `line` says that a line is
    named by its number, and `bare` is all that stands outside quotes.
    """

    spans: tuple[str, ...]
    words: tuple[str, ...]
    paths: tuple[str, ...]
    numbers: tuple[int, ...]
    quoted: tuple[str, ...]
    text: str
    line: bool
    bare: str

    def given(self, *known: str) -> tuple[str, ...]:
        """The runs that can be a text to insert, given the path and the name that are `known`.

        Where something else is quoted it is that, or a run that ends with it; else a run that ends the request.
        """
        quoted = [each for each in self.quoted if each[1:-1] not in known]
        free = tuple(span for span in self.spans if known[0] not in span)
        ends = (self.text, self.text.rstrip(_PUNCTUATION))
        if not quoted:
            return tuple(span for span in free if any(end.endswith(span) for end in ends))
        runs = [span for span in free if all(each in span for each in quoted) and span != quoted[0]]
        closed = tuple(quoted[-1] + mark for mark in ("", *_PUNCTUATION))
        alone = len(quoted) == 1
        # Backticks are for code: what they hold is meant, not what stands before them.
        until = () if alone and (quoted[0][0] == "`" or not self.text.endswith(closed)) else closed
        inner = (quoted[0][1:-1],) if alone else ()
        tails = (run for run in runs if any(end.endswith(run) for end in ends) and not run.endswith(closed))
        return tuple(dict.fromkeys((*inner, *(run for run in runs if until and run.endswith(until)), *tails)))

    def literals(self, *known: str) -> tuple[str, ...]:
        """The runs that can be a value: in quotes of their own, or without any."""
        return tuple(span for span in self.spans if known[0] not in span)


def heard(text: str) -> Request:
    """Take a request apart."""
    text = text[:MOST_CHARS]
    atoms = list(_ATOM.finditer(text))
    words = tuple(dict.fromkeys(word for atom in atoms for word in _words(atom)))
    paths = tuple(word for word in words if _PATH.fullmatch(word))
    numbers = tuple(dict.fromkeys(int(n) for atom in atoms if not _quoted(atom) for n in _NUMBER.findall(atom[0])))
    bare = " ".join(atom[0] for atom in atoms if not _quoted(atom))
    quoted = tuple(atom[1] + atom[2] + atom[1] for atom in atoms if _quoted(atom))
    return Request(
        spans=tuple(dict.fromkeys(_spans(text, atoms))),
        words=words,
        paths=paths,
        numbers=numbers,
        quoted=quoted,
        text=text.rstrip(),
        line=_LINE.search(bare) is not None,
        bare=bare,
    )


def _quoted(atom: re.Match[str]) -> bool:
    return atom[1] is not None


def _words(atom: re.Match[str]) -> Iterable[str]:
    """The word that an atom is: what is quoted, when that is a word; of `src/a.py:12` the part before the number."""
    if _quoted(atom):
        return () if re.search(r"\s", atom[2]) else (atom[2],)
    bare = atom[0].rstrip(_PUNCTUATION)
    located = re.fullmatch(r"(.+?):\d+", bare)
    return () if bare.lower() in {"", *FUNCTION_WORDS} else (located[1] if located else bare,)


def _spans(text: str, atoms: list[re.Match[str]]) -> Iterator[str]:
    """Every run of atoms as it stands, without its last punctuation, and without its quotes."""
    for first, start in enumerate(atoms):
        if _quoted(start):
            yield start[2]
        for last, end in enumerate(atoms[first : first + MOST_WORDS], first):
            if len(atoms) <= MOST_WORDS or first == last or last == len(atoms) - 1:
                run = text[start.start() : end.end()]
                yield from filter(None, (run, run.rstrip(_PUNCTUATION)))
