"""A sentence of a person, taken apart: quoted texts, files, and the words that say what is wanted (MOD-23). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

import yaml

QUOTE_MARKS = "".join(map(chr, range(0xE000, 0xE020)))
"""What stands for the quoted texts of a sentence, one each, in a wording."""
FILE_MARK = "\ue100"
"""What stands for the one file of a sentence in a wording."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, its quoted texts, those of its words that are files, and its other words that look like a path.

    `alike` are the files that one of its words may mean, where these are several; `folders` are those of all files,
    `readme` is the one that tells of them.
    `wordings` are the sentence without its courtesy and reasons, once with a mark for its file and once without the
    file; in them a mark stands for each text of `spelled`, which are the quoted texts with their quotes.
    """

    text: str
    bare: str
    quoted: tuple[str, ...]
    files: tuple[str, ...]
    paths: tuple[str, ...]
    alike: tuple[str, ...] = ()
    folders: frozenset[str] = frozenset()
    readme: str | None = None
    wordings: tuple[str, ...] = ()
    spelled: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The sentence without its courtesy."""
        return without_courtesy(self.text)

    def spell(self, part: str) -> str:
        """Returns a part of a wording in the person's own words; without quotes where it is one quoted text."""
        if len(part) == 1 and part in QUOTE_MARKS:
            return _unquoted(self.spelled[QUOTE_MARKS.index(part)])
        return re.sub(f"[{QUOTE_MARKS}]", lambda mark: self.spelled[QUOTE_MARKS.index(mark[0])], part)


_QUOTED = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|„([^“”\n]+)[“”]|«\s*([^»\n]+?)\s*»|「([^」\n]+)」|(?<!\w)'([^'\n]+)'(?!\w)"
)
_PATH = re.compile(
    r"(?:[\w.-]+/)*[\w-]*\.?[\w-]+\.[A-Za-z]\w{0,9}(?![\w/])|(?:[\w.-]+/)+[\w.-]*|\.[a-z][\w-]+|Makefile|Dockerfile|LICENSE",
    re.ASCII,
)
_BY_STEM = frozenset(
    {"readme", "makefile", "license", "licence", "changelog", "dockerfile", "gitignore", "dockerignore", "editorconfig"}
)
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
    described = {} if known else _of_kind(bare, files) or _described(bare, files) or _module_told(bare, files)
    known = known or list(described.values())
    found = tuple(dict.fromkeys(known))
    alike = next((several for word in named if len(several := _files_called(word, files)) > 1), ())
    marked, spelled = _mark_quotes(_respell(text), named)
    return Sentence(
        text,
        bare,
        tuple(each for each in quoted if named.get(each) is None),
        found,
        tuple(word for word, path in named.items() if path is None),
        alike=() if found else alike,
        folders=frozenset(parent.as_posix() for path in files for parent in PurePosixPath(path).parents if parent.name),
        readme=min((path for path in files if _stem_of(path) == "readme"), key=_depth, default=None),
        wordings=tuple(
            _wordings(
                marked, [word for word, path in named.items() if path] or list(described) or _stems(marked, found)
            )
        ),
        spelled=spelled,
    )


_DESCRIBED = re.compile(
    r"\b(?:the|our|my|this|der|die|das|den|dem|im|le|la|el|il|lo|del|du) "
    r"((?:(\w+) )?(?:script|skript|file|module|config|tests?|datei|fichier|archivo|page))\b|"
    r"\b(?:the|our|my|der|die|das|den|dem|im|le|la|el|il|lo|del|du) (\w{5,})\b",
    re.IGNORECASE | re.ASCII,
)


def _described(text: str, files: AbstractSet[str]) -> dict[str, str]:
    """The one file that is told by its name without an ending ("the backup script", "the changelog"), or by its kind
    ("the ini file"), by the words that tell of it."""
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


def _of_kind(text: str, files: AbstractSet[str]) -> dict[str, str]:
    """The one file that is told by its kind ("the shell script"), or by its name and kind ("the alerts yaml")."""
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


def _module_told(text: str, files: AbstractSet[str]) -> dict[str, str]:
    """The one file of code that is told by its name alone ("in cart"); where tests are wanted, that of its tests."""
    found = dict[str, str]()
    for told in _IN_MODULE.finditer(text):
        word = told[1].lower()
        tests = {f"test_{word}", f"{word}_test"} if says("tests", text) else {word}
        paths = [path for path in files if _MODULE.search(path) and _stem_of(path) in tests]
        if len(paths) == 1:
            found[told[1]] = paths[0]
    return found if len(found) == 1 else {}


def _is_called(path: str, word: str, *, plainly: bool) -> bool:
    stem, _, ending = path.rpartition("/")[2].lower().partition(".")
    code = ending in {"py", "ts", "js", "tsx", "jsx", "go", "rs", "java", "c", "cpp", "rb"}
    return stem == word and not code if plainly else word in {stem, ending}


def _files_called(word: str, files: AbstractSet[str]) -> tuple[str, ...]:
    """The files of this name, in whatever folder; none for one that is told with a folder."""
    return tuple(sorted(path for path in files if path.rpartition("/")[2] == word)) if "/" not in word else ()


def _mark_quotes(text: str, named: Mapping[str, str | None]) -> tuple[str, tuple[str, ...]]:
    """The sentence with a mark in place of each quoted text that is no file, and these with their quotes."""
    spelled: list[str] = []

    def mark(found: re.Match[str]) -> str:
        if named.get(_unquoted(found[0])) is not None:
            return _unquoted(found[0])
        if len(spelled) == len(QUOTE_MARKS):
            return found[0]
        spelled.append(found[0])
        return QUOTE_MARKS[len(spelled) - 1]

    return _QUOTED.sub(mark, text), tuple(spelled)


def _unquoted(text: str) -> str:
    found = _QUOTED.fullmatch(text)
    return text if found is None else next(filter(None, found.groups()))


def _stems(text: str, found: Sequence[str]) -> list[str]:
    """The words that name a file without its ending."""
    names = {_stem_of(path) for path in found}
    return [word for word in re.findall(r"[A-Za-z][\w-]{3,}", text, re.ASCII) if word.lower() in names]


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _stem_of(path: str) -> str:
    """The name of a file without its folders, its endings and a first dot, in small letters."""
    return path.rpartition("/")[2].removeprefix(".").partition(".")[0].lower()


_COURTESY = re.compile(
    r"(?:hey|hi|hello|ok|okay|so|please|pls|plz|kindly|bitte|mal|stp|svp|por favor|porfa|per favore)[, !]+|"
    r"(?:i (?:think|guess|believe|feel)|ich (?:denke|glaube)|je (?:pense|crois)(?: que)?|creo que|penso che),? |"
    r"(?:(?:can|could|would|will) (?:you|u)|you (?:can|should)|i want you to|i'd like you to|i need you to|"
    r"(?:i|we) (?:need|want) to|need to|i'd like to|we should|let's|how about we|go ahead and|just|"
    r"k[öo]nntest du|kannst du|ich m[öo]chte|peux[- ]tu|pourrais[- ]tu|il faudrait|puedes|podr[ií]as|¿puedes|"
    r"puoi|potresti|vorrei)(?: please| pls| bitte| mal)? ",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"[, ]*(?:please|pls|plz|thanks|thank you|thx|for me|would you|will you|right now|asap|bitte|danke|stp|svp|"
    r"s'il te pla[iî]t|merci|por favor|porfa|gracias|per favore|grazie|ください|お願いします)$",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"(?:,|;|\.|!|\?| -| –)? ?(?:\b(?:because|since|as it|so that|before i|before we|weil|da es|damit|parce qu|car |"
    r"porque|ya que|perch[ée]|cos[iì] che)\b.*|"
    r"[,;.!?–] (?:it|it's|that|this|the|they|we|i|he|she|nobody|four|three|two|five|das|es|die|der|les?|"
    r"las?|el|los|è)\b.*)$",
    re.IGNORECASE,
)
_WHERE = re.compile(
    r",? (?:everywhere|in (?:all|every)(?: the)? files?|throughout(?: the (?:project|code|repo))?|"
    r"(?:across|in) the (?:whole |entire )?(?:project|code ?base|repo)|überall|in allen dateien|partout|"
    r"dans tous les fichiers|en todas partes|en todos los archivos|ovunque|dappertutto|in tutti i file)"
    r"(?:,? (?:also|even|including|too) (?:in )?(?:the )?tests?)?$",
    re.IGNORECASE,
)
"""All files: what is to be changed is looked for in any case."""
_OWN_LINE = re.compile(r" (?:on|as) (?:a line of its own|its own line|a (?:new|separate) line)\b", re.IGNORECASE)
"""An insertion is one anyway."""
_CONDITION = re.compile(
    r"\b(?:if|unless|except|only|but|then|and|also|otherwise|wenn|au(?:ß|ss)er|nur|aber|und|si|sauf|sinon|mais|et|pero|"
    r"salvo|solo|y|se|tranne|ma|e)\b",
    re.IGNORECASE,
)
"""What makes a clause more than a reason."""


def _wordings(text: str, files: Sequence[str]) -> Iterator[str]:
    """Yields the sentence as phrases have it: with a mark for its file, and without the file; each once with all it
    says and once without its reason."""
    plain = " ".join(text.split()).strip(" .!?¡¿。！？…")
    for told in dict.fromkeys((plain, _without_reason(plain), _without_preface(plain))):
        short = _OWN_LINE.sub("", _WHERE.sub("", without_courtesy(told)))
        yield _with_file(short, files, FILE_MARK)
        if files:
            yield _with_file(short, files, "")
    if not files:
        yield plain


def without_courtesy(text: str) -> str:
    """Returns a sentence without what is only polite."""
    before = None
    while before != text:
        before = text
        text = _THANKS.sub("", re.sub(f"^(?:{_COURTESY.pattern})", "", text, flags=re.IGNORECASE)).strip(" .!?,。！？")
    return text


def _without_reason(text: str) -> str:
    found = _REASON.search(text)
    if found is None or _CONDITION.search(found[0]) or any(says(idea, found[0]) for idea in (*WISHES, *_PLACES)):
        return text
    return text[: found.start()].strip()


def _without_preface(text: str) -> str:
    """What a sentence wishes, without what it says before that."""
    before, mark, rest = next(
        (found for sign in (": ", ", so ", ". ", "! ", ".. ", ", ") if (found := text.partition(sign))[1]),
        (text, "", ""),
    )
    wishes = any(says(idea, before) for idea in WISHES) or _PATH.search(before) or any(m in before for m in QUOTE_MARKS)
    if not mark or wishes or _CONDITION.search(before) or len(before.split()) < MOST_BARE:
        return text
    return rest.removeprefix("so ").removeprefix("please ").strip()


MOST_BARE = 3
"""Fewer words say nothing before a wish: they are part of it."""
_PLACES = ("after", "before", "top", "end", "line")
WISHES = ("deletes", "adds", "replaces", "moves", "creates", "searches", "shows", "lists", "run")
"""The ideas that a sentence wishes for."""


_LEAD = (
    r"(?:,? ?\b(?:in|of|from|to|for|throughout|within|für|pour|para|per|"
    r"into|inside|at|im|in der|in die|von|aus|an|dans|de|du|en|del|di|da|nel|nella|a|"
    r"it's in|it is in)\b )?(?:\b(?:the|my|our|der|die|das|den|le|la|el|il|lo) )?"
    r"(?:\b(?:file|datei|fichier|archivo|fichero) )?"
)
"""The words that lead to a file."""


def _with_file(text: str, files: Sequence[str], mark: str) -> str:
    """The text with a mark in place of its file, or without the file and the words that lead to it."""
    for name in files:
        told = rf"(?<![A-Za-z0-9_./-])(?:\./)?{re.escape(name)}(?![A-Za-z0-9_/-])"
        if mark:
            text = re.sub(told, mark, text)
        else:
            text = re.sub(rf"{_LEAD}\(?{told}\)?(?:の|に|から|[:,])?", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split()).strip(" ,.:-–").lstrip(";")


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
    found = [path for path in files if _stem_of(path) == word.lower()]
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


def names_file(path: str) -> bool:
    """Returns whether a word is surely a file's path: it has the ending of a file or a folder, or is in capitals
    (`LICENSE`). `Cart.total` is none."""
    name = path.rpartition("/")[2]
    attribute = re.fullmatch(rf"{IDENTIFIER}\.({IDENTIFIER})", name)
    if attribute is not None and attribute[1].lower() not in _words()["endings"] and "/" not in path:
        return False
    return bool(re.search(r"[./]|^[A-Z]+$", path)) and not path.endswith("/")


def is_name(word: str) -> bool:
    """Returns whether a word is no word of a language: it has an underscore, a digit or a capital within."""
    return bool(re.search(r"_|\d|[a-z][A-Z]|^[A-Z][a-z]+[A-Z]|^[A-Z]{3,}$", word))


def words_left(said: Sentence, verb: str) -> int:
    """Counts the words left that say something: without the verb, files, and words that every sentence has. What a
    sentence adds behind a comma does not count."""
    clauses = [part for part in re.split(r"[,;!?]|\.(?=\s|$)", without_paths(said)) if says(verb, part)]
    left = saying(verb).sub(" ", clauses[0] if clauses else without_paths(said))
    return len([word for word in re.findall(r"[A-Za-zÀ-ž]{2,}", left) if word.lower() not in filling()])
