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
_LEADING = frozenset(
    {
        "should", "be", "to", "has", "have", "followed", "preceded", "says", "say", "saying", "read", "reads", "become",
        "becomes", "replaced", "inserted", "added", "please", "line",
    }
)  # fmt: skip
"""Words that lead to a text that is to be written: no line of code begins so."""
_TELLING = frozenset(
    {
        "this", "these", "following", "line", "text", "command", "docstring", "import", "imports", "value", "words",
        "it", "add", "insert", "put", "read", "reads", "say", "says", "become", "becomes", "to",
        "with", "by", "be", "as",
    }
)  # fmt: skip
"""Words that, before a colon, tell of a text; a path does, too. Others may stand in the text itself."""
_PUTTING = frozenset(
    {"insert", "add", "put", "place", "write", "append", "replace", "change", "set", "new", "want", "need", "rewrite"}
)
"""With one of these before it, so does the number of a line."""
_PUNCTUATION = ".,;:?!"
_ATOM = re.compile(r"([`\"'])(?=\S)(.+?)\1(?=[\s.,;:?!]|$)[.,;:?!]*|\S+")
"""Something in quotes, which is never taken apart, or a word."""
_NUMBER = re.compile(r"(?<![\w./-])\d{1,7}(?![\w/-]|\.\w)")
_LINE = re.compile(r"\bline (?:no\.? |number )?\d|\w\.\w+:\d", re.IGNORECASE)
_PATH = re.compile(r"[^\s:]*(?:/|[^\s.:/]\.\w)[^\s:]*|[A-Z][A-Za-z]*file|[A-Z]{5,}")


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of a request, each once.

    `words` are single words without quotes and punctuation, `named` those before a text given after a colon, `paths`
    those of these that look like one. `quoted` holds quoted parts with their quotes, `line` says that a line number is
    given, `bare` is everything outside quotes, and `told` says that a text follows a colon, which is then the only run.
    """

    spans: tuple[str, ...]
    words: tuple[str, ...]
    named: tuple[str, ...]
    paths: tuple[str, ...]
    numbers: tuple[int, ...]
    quoted: tuple[str, ...]
    text: str
    line: bool
    bare: str
    told: bool

    def given(self, *known: str) -> tuple[str, ...]:
        """Returns the runs that can be a text to insert; the path and the name are `known`.

        With further quoted parts, these and runs that end with one; otherwise runs at the end of the request.
        """
        if self.told:
            return self.spans
        quoted = [each for each in self.quoted if each[1:-1] not in known]
        free = tuple(span for span in self.spans if known[0] not in span and not _leads_to_text(span))
        ends = (self.text, self.text.rstrip(_PUNCTUATION))
        if not quoted:
            return tuple(span for span in free if any(end.endswith(span) for end in ends))
        runs = [span for span in free if all(each in span for each in quoted) and span != quoted[0]]
        closed = tuple(quoted[-1] + mark for mark in ("", *_PUNCTUATION))
        alone = len(quoted) == 1
        # Backticks mark code: their content is meant, not the words before them.
        until = () if alone and (quoted[0][0] == "`" or not self.text.endswith(closed)) else closed
        inner = (quoted[0][1:-1],) if alone else ()
        tails = (run for run in runs if any(end.endswith(run) for end in ends) and not run.endswith(closed))
        return tuple(dict.fromkeys((*inner, *(run for run in runs if until and run.endswith(until)), *tails)))

    def literals(self, *known: str) -> tuple[str, ...]:
        """Returns the runs that can be a value: quoted ones, and those without quotes."""
        return tuple(span for span in self.spans if known[0] not in span)


def parse_request(text: str) -> Request:
    """Splits a request into its parts."""
    text = text[:MOST_CHARS]
    atoms = list(_ATOM.finditer(text))
    head = _before_colon(atoms)
    told = text[head[-1].end() :].strip() if len(head) < len(atoms) else ""
    words, named = (tuple(dict.fromkeys(word for atom in part for word in _words(atom))) for part in (atoms, head))
    numbers = tuple(dict.fromkeys(int(n) for atom in head if not _is_quoted(atom) for n in _NUMBER.findall(atom[0])))
    bare = " ".join(atom[0] for atom in head if not _is_quoted(atom))
    return Request(
        spans=tuple(dict.fromkeys(_quoted_text(told) if told else _spans(text, atoms))),
        words=words,
        named=named,
        paths=tuple(word for word in named if _PATH.fullmatch(word)),
        numbers=numbers,
        quoted=tuple(atom[1] + atom[2] + atom[1] for atom in atoms if _is_quoted(atom)),
        text=text.rstrip(),
        line=_LINE.search(bare) is not None,
        bare=bare,
        told=bool(told),
    )


def _before_colon(atoms: list[re.Match[str]]) -> list[re.Match[str]]:
    """Returns the atoms up to one whose colon introduces a text; all of them where none does.

    The first atom does not count: `src/a.py: rename …` names the file. After a quoted text a colon introduces none.
    """
    for number, atom in enumerate(atoms[1:], 2):
        if _is_quoted(atom) and " " in atom[2]:
            return atoms
        word = atom[2] or atom[0].removesuffix(":")
        told = word.lower() in _TELLING or _PATH.fullmatch(word)
        if atom[0].endswith(":") and (told or (word.isdecimal() and _PUTTING & {a[0].lower() for a in atoms[:number]})):
            return atoms[:number]
    return atoms


def _quoted_text(text: str) -> Iterator[str]:
    """Yields the text after the colon, without quotes around all of it."""
    whole = _ATOM.fullmatch(text)
    yield whole[2] if whole is not None and _is_quoted(whole) and whole[1] not in whole[2] else text


def _leads_to_text(span: str) -> bool:
    """Returns whether a run begins with a word that introduces a text, or is a word that never is one."""
    return re.split(r"\W", span, maxsplit=1)[0] in _LEADING or span in FUNCTION_WORDS


def _is_quoted(atom: re.Match[str]) -> bool:
    return atom[1] is not None


def _words(atom: re.Match[str]) -> Iterable[str]:
    """Returns the word of an atom: quoted text that is a word; of `src/a.py:12` the part before the number."""
    if _is_quoted(atom):
        return () if re.search(r"\s", atom[2]) else (atom[2],)
    bare = atom[0].rstrip(_PUNCTUATION)
    located = re.fullmatch(r"(.+?):\d+", bare)
    return () if bare.lower() in {"", *FUNCTION_WORDS} else (located[1] if located else bare,)


def _spans(text: str, atoms: list[re.Match[str]]) -> Iterator[str]:
    """Yields every run of atoms, without its last punctuation and its quotes."""
    for first, start in enumerate(atoms):
        if _is_quoted(start):
            yield start[2]
        for last, end in enumerate(atoms[first : first + MOST_WORDS], first):
            if len(atoms) <= MOST_WORDS or first == last or last == len(atoms) - 1:
                run = text[start.start() : end.end()]
                yield from filter(None, (run, run.rstrip(_PUNCTUATION)))
