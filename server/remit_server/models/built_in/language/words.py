"""The words for each idea, in six languages, and the files that a sentence names without a path: by a name, a kind or
a module (MOD-23). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Any, cast

from remit_governance.policy.language.document import read_document

IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"


def read_table(name: str) -> Mapping[str, Any]:
    """Returns a table that lies beside this module."""
    return cast("Mapping[str, Any]", read_document(name, (Path(__file__).parent / name).read_text("utf-8")).value)


@cache
def word_table() -> Mapping[str, Sequence[str]]:
    """Returns for each idea the words that express it."""
    return read_table("words.yaml")


@cache
def filling() -> frozenset[str]:
    """Returns the words that occur in any sentence and say nothing about what is wanted."""
    return frozenset(word_table()["filling"])


@cache
def saying(idea: str) -> re.Pattern[str]:
    """Returns a pattern that matches any word of an idea. A word of a language without spaces may match within other
    words."""
    words = word_table()[idea]
    parted = [word for word in words if word.isascii() or word[0] < "\u3000"]
    inside = [word for word in words if word not in parted]
    return re.compile("|".join([rf"(?<!\w)(?:{'|'.join(parted)})(?!\w)", *inside]), re.IGNORECASE)


def says(idea: str, text: str) -> bool:
    """Returns whether the text contains a word of the idea."""
    return saying(idea).search(text) is not None


BY_STEM = frozenset(
    {
        "readme", "makefile", "license", "licence", "changelog", "dockerfile", "gitignore", "dockerignore",
        "editorconfig", "contributing", "authors", "notice", "todo", "version", "codeowners", "procfile", "gemfile",
        "jenkinsfile", "vagrantfile", "pyproject",
    }
)  # fmt: skip
_DESCRIBED = re.compile(
    r"\b(?:the|our|my|this|der|die|das|den|dem|im|le|la|el|il|lo|del|du) "
    r"((?:(\w+) )?(?:script|skript|file|module|config|tests?|datei|fichier|archivo|page))\b|"
    r"\b(?:the|our|my|der|die|das|den|dem|im|le|la|el|il|lo|del|du) (\w{5,})\b",
    re.IGNORECASE | re.ASCII,
)


def described_file(text: str, files: AbstractSet[str]) -> dict[str, str]:
    """Returns the one file that a text names without an ending ("the backup script", "the changelog") or by its kind
    ("the ini file"), keyed by the words that name it; an empty dict unless exactly one file fits."""
    found = dict[str, str]()
    for told in _DESCRIBED.finditer(text):
        words, word = (told[1], told[2]) if told[1] else (told[3], told[3])
        paths = [path for path in files if word and _is_called(path, word.lower(), plainly=told[3] is not None)]
        if len(paths) == 1:
            found[words] = paths[0]
    return found if len(found) == 1 else {}


_KINDS: Mapping[str, Sequence[str]] = {
    "json": ("json",), "yaml": ("yaml", "yml"), "yml": ("yaml", "yml"), "toml": ("toml",), "ini": ("ini",),
    "csv": ("csv",), "shell": ("sh", "bash"), "bash": ("sh", "bash"), "js": ("js", "mjs"),
    "javascript": ("js", "mjs"), "markdown": ("md",), "sql": ("sql",), "html": ("html",), "css": ("css",),
}  # fmt: skip
"""The endings of a kind of file, by the word for it."""
_KIND = re.compile(
    r"\b(?:the|our|my|this|der|die|das|den|dem|im|le|la|el|il|lo|del|du|nel|au|al) "
    rf"((?:(?:file|script|archivo|fichero|fichier|datei) (?:de |di )?)?(?:([\w-]+) )?({'|'.join(_KINDS)})"
    r"(?:[ -](?:file|script|skript|config|datei))?)\b",
    re.IGNORECASE | re.ASCII,
)


def file_of_kind(text: str, files: AbstractSet[str]) -> dict[str, str]:
    """Returns the one file that a text names by its kind ("the shell script") or by its name and kind ("the alerts
    yaml"), keyed by the words that name it; an empty dict unless exactly one file fits."""
    found = dict[str, str]()
    for told in _KIND.finditer(text):
        names = {path: path.rpartition("/")[2].lower().rpartition(".") for path in files}
        paths = [
            path
            for path, (stem, _, ending) in names.items()
            if ending in _KINDS[told[3].lower()] and (told[2] is None or stem == told[2].lower())
        ]
        if len(paths) == 1:
            found[told[1]] = paths[0]
    return found if len(found) == 1 else {}


_IN_MODULE = re.compile(
    r"\b(?:in|of|from|for|inside|within|im|aus|von|dans|de|du|en|del|nel|di|da) (?:the )?(?:module |file )?(\w{3,})\b"
    r"(?! (?:file|script|module|class|function|method)\b)",
    re.IGNORECASE | re.ASCII,
)
_MODULE = re.compile(r"\.(?:py|[cm]?[jt]sx?|go|rs|java|rb|lua)$")


def module_told(text: str, files: AbstractSet[str]) -> dict[str, str]:
    """Returns the one file of code that a text names by its name alone ("in cart"), or its test file if the text is
    about tests, keyed by the word that names it; an empty dict unless exactly one file fits."""
    found = dict[str, str]()
    for told in _IN_MODULE.finditer(text):
        word = told[1].lower()
        tests = {f"test_{word}", f"{word}_test"} if says("tests", text) else {word}
        paths = [path for path in files if _MODULE.search(path) and stem_of(path) in tests]
        if len(paths) == 1:
            found[told[1]] = paths[0]
    return found if len(found) == 1 else {}


_LEADS = (
    "in|of|from|for|to|into|inside|within|the|my|our|im|in die|in der|in den|aus|von|zu|den|dem|die|der|das|dans|du|de|"
    "aux?|les?|la|en|el|los|las|al?|del|nel|nella|nei|ai|alla|il|lo|no|na|nos|nas|do|da|pro|pra|what(?:'?s| is) in"
)
_SPELLED = re.compile(
    rf"(?<![\w./-])(?P<lead>(?:(?:{_LEADS}) )*)(?P<word>[A-Za-z][\w-]{{2,}}(?: (?:example|settings|notes))?)"
    r"(?P<kind> (?:file|script|module|config|json|ya?ml|toml|ini))?(?![\w/-]|\.\w)",
    re.IGNORECASE | re.ASCII,
)
_SHORT_NAMES: Mapping[str, str] = {"reqs": "requirements", "conf": "config"}


def with_file_spelled(text: str, files: AbstractSet[str]) -> str | None:
    """Returns a sentence with the path of the one file that a plain word names: "in settings" with the one file
    `config/settings.json`. The word stands behind a preposition or an article, before a word such as "file", or is a
    usual name. None if no word names exactly one file, or if several do."""
    tolds = [told for told in _SPELLED.finditer(text) if _means_file(told)]
    wanted = {spoken for told in tolds for spoken in _spoken(told)}
    named: dict[str, set[str]] = {}
    for path in files if wanted else ():
        name = path.rpartition("/")[2].lower().removeprefix(".")
        stem = name.partition(".")[0]
        for spoken in wanted.intersection((stem, name.replace(".", " "), stem.replace("_", " ").replace("-", " "))):
            named.setdefault(spoken, set()).add(path)
    found = [(told, paths) for told in tolds if len(paths := _files_named(told, named)) == 1]
    if len({path for _, paths in found for path in paths}) != 1:
        return None
    told, (path,) = found[-1]
    return f"{text[: told.start()]}{told['lead']}{path}{text[told.end() :]}"


def _means_file(told: re.Match[str]) -> bool:
    leads = told["lead"] or told["kind"] or told["word"].lower() in _USUAL
    return bool(leads) or told.string[told.end() :].startswith(": ")


def _spoken(told: re.Match[str]) -> tuple[str, str]:
    """Returns what a file may be called: the word with what kind of file it is, and the word alone."""
    word = told["word"].lower()
    return f"{word}{(told['kind'] or '').lower()}", _SHORT_NAMES.get(word, word)


def _files_named(told: re.Match[str], named: Mapping[str, AbstractSet[str]]) -> AbstractSet[str]:
    return next((named[spoken] for spoken in _spoken(told) if spoken in named), frozenset[str]())


_USUAL = BY_STEM | {"requirements", "reqs", "pyproject", "settings", "config", "conf"}


def _is_called(path: str, word: str, *, plainly: bool) -> bool:
    stem, _, ending = path.rpartition("/")[2].lower().partition(".")
    code = ending in {"py", "ts", "js", "tsx", "jsx", "go", "rs", "java", "c", "cpp", "rb"}
    return stem == word and not code if plainly else word in {stem, ending}


def files_called(word: str, files: AbstractSet[str]) -> tuple[str, ...]:
    """Returns the files with this name in any folder; none if `word` itself has a folder."""
    return tuple(sorted(path for path in files if path.rpartition("/")[2] == word)) if "/" not in word else ()


def readme_of(files: AbstractSet[str]) -> str | None:
    """Returns the README of the whole project: the one in the fewest folders."""
    found = (path for path in files if stem_of(path) == "readme")
    return min(found, key=lambda path: (path.count("/"), path), default=None)


def stem_of(path: str) -> str:
    """Returns the name of a file without its folders, its endings and a leading dot, in lower case."""
    return path.rpartition("/")[2].removeprefix(".").partition(".")[0].lower()


def file_of(word: str, files: AbstractSet[str]) -> str | None:
    """Returns the file that a path means, or None; a name without folders means the only file of that name."""
    plain = word.removeprefix("./")
    if plain in files:
        return plain
    # A path with folders that does not exist means another file, even if one ends with it. Only a name may lack them.
    ending = [path for path in files if path.endswith(f"/{plain}")] if "/" not in plain else []
    alike = [path for path in files if path.lower() == plain.lower()]
    return ending[0] if len(ending) == 1 else alike[0] if len(alike) == 1 else None


def file_by_stem(word: str, files: AbstractSet[str]) -> str | None:
    """Returns the one file that a word names without its ending: a word in capitals, a usual name (`readme`), or a
    name that begins with `test_`."""
    if not word.isupper() and word.lower() not in BY_STEM and not word.startswith("test_"):
        return None
    found = [path for path in files if stem_of(path) == word.lower()]
    if word.isupper():  # `CONFIG` may be a name in code, so the path must have it in capitals too
        found = [path for path in found if word in path or word.lower() in BY_STEM]
    return found[0] if len(found) == 1 else None


def names_new_file(path: str) -> bool:
    """Returns whether a word is surely the path of a new file: it has a known ending, a leading dot, or a name that is
    usual without an ending. `CORS` and `client/server` are not."""
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    return names_file(path) and (ending in word_table()["endings"] or name.startswith(".") or stem_of(name) in BY_STEM)


def names_file(path: str) -> bool:
    """Returns whether a word is surely a file's path: it has a dot or a folder, or is all capitals (`LICENSE`).
    `Cart.total` is not, because `total` is no known ending."""
    name = path.rpartition("/")[2]
    attribute = re.fullmatch(rf"{IDENTIFIER}\.({IDENTIFIER})", name)
    if attribute is not None and attribute[1].lower() not in word_table()["endings"] and "/" not in path:
        return False
    return bool(re.search(r"[./]|^[A-Z]+$", path)) and not path.endswith("/")
