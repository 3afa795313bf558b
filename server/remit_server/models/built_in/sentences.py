"""A sentence of a person, taken apart: quoted texts, files, and the words that say what is wanted (MOD-23). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, its quoted texts, those of its words that are files, and its other words that look like a path."""

    text: str
    bare: str
    quoted: tuple[str, ...]
    files: tuple[str, ...]
    paths: tuple[str, ...]


_QUOTED = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|„([^“”\n]+)[“”]|«\s*([^»\n]+?)\s*»|「([^」\n]+)」|(?<!\w)'([^'\n]+)'(?!\w)"
)
_PATH = re.compile(
    r"(?:[\w.-]+/)*[\w-]*\.?[\w-]+\.[A-Za-z]\w{0,9}(?![\w/])|(?:[\w.-]+/)+[\w.-]*|\.[a-z][\w-]+|Makefile|Dockerfile|LICENSE",
    re.ASCII,
)
_BY_STEM = frozenset({"readme", "makefile", "license", "licence", "changelog", "dockerfile"})
_VERBS = ("rename", "replace", "remove", "delete", "insert", "append", "search", "create", "change", "where", "execute")
IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
FOLDER = re.compile(
    r"(?:folder|directory|cartella|ordner|verzeichnis|dossier|carpeta)\s+([\w/-]+)|(?!(?:the|a|new|folder|into|to)\b)\b([\w/-]+)\s+(?:folder|directory)|([\w/-]+)\s*フォルダ",
    re.IGNORECASE | re.ASCII,
)
"""A folder that a sentence names."""


def read_sentence(text: str, files: AbstractSet[str]) -> Sentence:
    """Takes a sentence apart; a file may be named without its folders, and without its ending where it is the only
    one."""
    quoted = [text for found in _QUOTED.finditer(text) for text in found.groups() if text]
    bare = _respell(_QUOTED.sub(" ␟ ", text))
    words = [*filter(_PATH.fullmatch, quoted), *(found[0] for found in _PATH.finditer(bare))]
    named = {word: _file_of(word, files) for word in words}
    stems = (_file_by_stem(found[0], files) for found in re.finditer(r"[A-Za-z][\w-]{3,}", bare, re.ASCII))
    known = list(filter(None, named.values())) or list(filter(None, stems))
    return Sentence(
        text,
        bare,
        tuple(each for each in quoted if named.get(each) is None),
        tuple(dict.fromkeys(known)),
        tuple(word for word, path in named.items() if path is None),
    )


def _respell(text: str) -> str:
    """The text with the words that are all but one of the usual verbs spelled right."""
    return re.sub(
        r"(?<![\w./-])[a-z]{5,9}(?![\w./-])", lambda found: _meant(found[0]), text, flags=re.ASCII | re.IGNORECASE
    )


@cache
def _meant(word: str) -> str:
    lower = word.lower()
    if lower in filling():
        return word
    for verb in _VERBS:
        if lower[:-1] == verb:  # another form of it
            return word
        swapped = sorted(lower) == sorted(verb) and lower[0] == verb[0]
        if swapped or (abs(len(lower) - len(verb)) == 1 and _one_letter_apart(lower, verb)):
            return verb
    return word


def _one_letter_apart(one: str, other: str) -> bool:
    """Returns whether the longer of two words is the shorter with one letter more."""
    short, long = sorted((one, other), key=len)
    return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _file_of(word: str, files: AbstractSet[str]) -> str | None:
    plain = word.removeprefix("./")
    if plain in files:
        return plain
    # A path that is not there is another file's, whatever it ends with; a mere name may be told without its folder.
    ending = [path for path in files if path.endswith(f"/{plain}")] if "/" not in plain else []
    alike = [path for path in files if path.lower() == plain.lower()]
    return ending[0] if len(ending) == 1 else alike[0] if len(alike) == 1 else None


def _file_by_stem(word: str, files: AbstractSet[str]) -> str | None:
    """A file that is called by its name without an ending: in capitals, or one that has no other name (`readme`)."""
    if not word.isupper() and word.lower() not in _BY_STEM:
        return None
    found = [path for path in files if path.rpartition("/")[2].partition(".")[0].lower() == word.lower()]
    return found[0] if len(found) == 1 else None


@cache
def _words() -> Mapping[str, Sequence[str]]:
    """For each idea the words that say it."""
    table: dict[str, list[str]] = yaml.safe_load((Path(__file__).parent / "words.yaml").read_text("utf-8"))
    return table


@cache
def filling() -> frozenset[str]:
    """Returns the words that every sentence has, and that say nothing of what is wanted."""
    return frozenset(_words()["filling"])


@cache
def saying(idea: str) -> re.Pattern[str]:
    """Returns a pattern of any word that says it. Where words are not parted by spaces it may stand in the midst of
    others."""
    words = _words()[idea]
    parted = [word for word in words if word.isascii() or word[0] < "\u3000"]
    inside = [word for word in words if word not in parted]
    return re.compile("|".join([rf"(?<!\w)(?:{'|'.join(parted)})(?!\w)", *inside]), re.IGNORECASE)


def says(idea: str, text: str) -> bool:
    """Returns whether one of its words stands in the text."""
    return saying(idea).search(text) is not None


def without_paths(said: Sentence) -> str:
    """Returns what of a sentence is neither quoted nor names a file."""
    bare = said.bare
    for path in (*said.files, *said.paths):
        name = path.rpartition("/")[2]
        for part in (path, name, name.rpartition(".")[0] or name):
            bare = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(part)}(?![A-Za-z0-9_])", " ", bare, flags=re.IGNORECASE)
    return bare


def is_name(word: str) -> bool:
    """Returns whether a word is no word of a language: it has an underscore, a digit or a capital within."""
    return bool(re.search(r"_|\d|[a-z][A-Z]|^[A-Z][a-z]+[A-Z]|^[A-Z]{3,}$", word))


def words_left(said: Sentence, verb: str) -> int:
    """Counts the words left that say something: without the verb, files, and words that every sentence has. What a
    sentence adds behind a comma does not count."""
    clauses = [part for part in re.split(r"[,;!?]|\.(?=\s|$)", without_paths(said)) if says(verb, part)]
    left = saying(verb).sub(" ", clauses[0] if clauses else without_paths(said))
    return len([word for word in re.findall(r"[A-Za-zÀ-ž]{2,}", left) if word.lower() not in filling()])
