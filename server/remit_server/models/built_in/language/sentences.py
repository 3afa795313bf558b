"""A sentence of a person, taken apart: quoted texts, files, and the words that say what is wanted (MOD-23). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import PurePosixPath

from remit_server.models.built_in.language.words import (
    described_file,
    file_by_stem,
    file_of,
    file_of_kind,
    files_called,
    filling,
    module_told,
    readme_of,
    saying,
    says,
    stem_of,
)

QUOTE_MARKS = "".join(map(chr, range(0xE000, 0xE020)))
"""The characters that stand for the quoted texts of a sentence in its wordings, one for each text."""
FILE_MARK = "\ue100"
"""The character that stands for the sentence's one file in its wordings."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, its quoted texts, its words that are files, and its other words that look like a path.

    `alike` are the files that one word may mean, if there are several; `folders` are the folders of all files, and
    `readme` is the project's README, and `has_makefile` says whether it has a Makefile.
    `wordings` are forms of the sentence without its courtesy, with and without its reason, with a mark for its file and
    without the file. In them a mark stands for each text of `spelled`, which are the quoted texts with their quotes.
    """

    text: str
    bare: str
    quoted: tuple[str, ...]
    files: tuple[str, ...]
    paths: tuple[str, ...]
    alike: tuple[str, ...] = ()
    folders: frozenset[str] = frozenset()
    readme: str | None = None
    has_makefile: bool = False
    wordings: tuple[str, ...] = ()
    spelled: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The sentence without its courtesy."""
        return without_courtesy(self.text)

    def spell(self, part: str) -> str:
        """Returns a part of a wording in the person's own words; without quotes if the part is one quoted text."""
        if len(part) == 1 and part in QUOTE_MARKS:
            return _unquoted(self.spelled[QUOTE_MARKS.index(part)])
        return re.sub(f"[{QUOTE_MARKS}]", lambda mark: self.spelled[QUOTE_MARKS.index(mark[0])], part)


_QUOTED = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|„([^“”\n]+)[“”]|«\s*([^»\n]+?)\s*»|「([^」\n]+)」|(?<!\w)'([^'\n]+)'(?!\w)"
)
_LETTER = r"\wÀ-ɏͰ-ӿ"
"""The letters of a path: those of alphabets, and none of scripts that put no space behind a path."""
_PATH = re.compile(
    rf"(?:[{_LETTER}.-]+/)*[{_LETTER}-]*\.?[{_LETTER}-]+\.[A-Za-z]\w{{0,9}}(?![\w/])|(?:[{_LETTER}.-]+/)+[{_LETTER}.-]*|"
    r"\.[a-z][\w-]+|Makefile|Dockerfile|LICENSE",
    re.ASCII,
)
_VERBS = (
    *("show", "move", "rename", "replace", "remove", "delete", "insert", "append", "search", "create", "change"),
    *("where", "execute", "find", "list"),
)
_SLIPS = {"shw": "show", "rnu": "run", "wich": "which", "exec": "execute"}
"""Slips in words that are too short for a rule, and short forms."""
FOLDER = re.compile(
    r"(?:folder|directory|cartella|ordner|verzeichnis|dossier|carpeta)\s+"
    r"(?:(?:called|named|namens|appel[ée]|llamad[ao]|chiamat[ao])\s+)?([\w/-]+)|"
    r"(?!(?:the|a|new|folder|into|to)\b)\b([\w/-]+)\s+(?:folder|directory)|([\w/-]+)\s*フォルダ",
    re.IGNORECASE | re.ASCII,
)
"""A folder that a sentence names."""


def read_sentence(text: str, files: AbstractSet[str]) -> Sentence:
    """Takes a sentence apart. It may name a file without its folders, and without its ending if only one file fits."""
    quoted = [text for found in _QUOTED.finditer(text) for text in found.groups() if text]
    bare = _respell(_QUOTED.sub(" ␟ ", text))
    spaced = [each for each in quoted if " " in each and (each in files or files_called(each, files))]
    words = [*filter(_PATH.fullmatch, quoted), *spaced, *(found[0] for found in _PATH.finditer(bare))]
    named = {word: file_of(word, files) for word in words}
    stems = (file_by_stem(found[0], files) for found in re.finditer(r"[A-Za-z][\w-]{3,}", bare, re.ASCII))
    known = list(filter(None, named.values())) or list(filter(None, stems))
    described = {} if known else file_of_kind(bare, files) or described_file(bare, files) or module_told(bare, files)
    known = known or list(described.values())
    found = tuple(dict.fromkeys(known))
    alike = next((several for word in named if len(several := files_called(word, files)) > 1), ())
    marked, spelled = _mark_quotes(_respell(text), named)
    marked = _PARTICLE.sub(r"\1", marked)
    return Sentence(
        text,
        bare,
        tuple(each for each in quoted if named.get(each) is None),
        found,
        tuple(word for word, path in named.items() if path is None),
        alike=() if found else alike,
        folders=_folders_of(every := frozenset(files)),
        readme=_readme_of(every),
        has_makefile="Makefile" in files,
        wordings=tuple(
            _wordings(
                marked, [word for word, path in named.items() if path] or list(described) or _stems(marked, found)
            )
        ),
        spelled=spelled,
    )


@lru_cache(maxsize=8)
def _folders_of(files: frozenset[str]) -> frozenset[str]:
    """Returns all folders of some files. Sentences are read again and again over the same thousands of files."""
    parents = {path.rpartition("/")[0] for path in files}
    return frozenset(
        parent.as_posix() for each in parents for parent in (PurePosixPath(each), *PurePosixPath(each).parents)
    ) - {"."}


_readme_of = lru_cache(maxsize=8)(readme_of)


_PARTICLE = re.compile(r" ?([をにのでがはへと]|から|まで) ?(?=\S)")
"""A Japanese particle, which some people separate by spaces from the words around it."""


def _mark_quotes(text: str, named: Mapping[str, str | None]) -> tuple[str, tuple[str, ...]]:
    """Returns the sentence with a mark in place of each quoted text that is no file, and those texts with quotes."""
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
    """Returns the words that name a file without its ending."""
    names = {stem_of(path) for path in found}
    return [word for word in re.findall(r"[A-Za-z][\w-]{3,}", text, re.ASCII) if word.lower() in names]


_COURTESY = re.compile(
    r"(?:hey|hi|hello|ok|okay|so|and|now|please|pls|plz|kindly|bitte|mal|stp|svp|s'il (?:te|vous) pla[iî]t|por favor|"
    r"porfa|per favore)[, !]+|"
    r"(?:i (?:think|guess|believe|feel)|ich (?:denke|glaube)|je (?:pense|crois)(?: que)?|creo que|penso che),? |"
    r"(?:(?:can|could|would|will) (?:you|u)|you (?:can|should)|i want you to|i'd like you to|i need you to|"
    r"(?:i|we) (?:need|want) to|need to|i'd like to|we should|let's|how about we|go ahead and|just|"
    r"k[öo]nntest du|kannst du|ich m[öo]chte|peux[- ]tu|pourrais[- ]tu|il faudrait|puedes|podr[ií]as|¿puedes|"
    r"puoi|potresti|vorrei)(?: please| pls| bitte| mal)? ",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:(?<=[\ue000-\ue01f\"'`”»␟ ])[,.;!] ?(?:please |pls |can you |could you )?"
    r"(?:fix|correct|change)(?: (?:it|this|that))?|"
    r"[, ]*(?:please|pls|plz|thanks|thank you|thx|for me|would you|will you|right now|asap|bitte|danke|stp|svp|"
    r"s'il te pla[iî]t|merci|por favor|porfa|gracias|per favore|grazie|ください|お願いします))$",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"(?:,|;|\.|!|\?| -| –)? ?(?:\b(?:because|since|as it|so that|before i|before we|weil|da es|damit|parce qu|car |"
    r"porque|ya que|perch[ée]|cos[iì] che)\b.*|"
    r"[,;.!?–] (?:it|it's|that|this|they|we|i(?! mean)|he|she|nobody|four|three|two|five|das|es|è)\b.*|"
    r"[,;.!?–] (?:the|die|der|les?|las?|el|los)\b.*\b(?:is|are|was|were|isn't|has|have|does|needs?|ist|sind|war|hat|"
    r"est|sont|es|son)\b.*)$",
    re.IGNORECASE,
)
_UNUSED = re.compile(
    r"\b(?:do ?n['’]?t|do not|no longer|never) (?:use|need|want)\b|\b(?:i|we) (?:will )?need (?:it|this|that|them)\b",
    re.IGNORECASE,
)
WHERE = re.compile(
    r",? (?:everywhere|wherever (?:it|they) (?:appears?|occurs?|stands?|is|are)(?: used)?|"
    r"in (?:all|every)(?: the)? files?|throughout(?: the (?:project|code|repo))?|"
    r"(?:across|in) the (?:whole |entire )?(?:project|code ?base|repo)|überall|in allen dateien|partout|"
    r"dans tous les fichiers|en todas partes|en todos los archivos|ovunque|dappertutto|in tutti i file)"
    r"(?:,? (?:also|even|including|too) (?:in )?(?:the )?tests?)?$",
    re.IGNORECASE,
)
"""Words that say "in all files". They are removed, because the text to change is searched for in any case."""
_OWN_LINE = re.compile(r" (?:on|as) (?:a line of its own|its own line|a (?:new|separate) line)\b", re.IGNORECASE)
"""Words that ask for a line of its own. They are removed, because an insertion always is one."""
CONDITION = re.compile(
    r"\b(?:if|unless|except|only|but|then|and|also|otherwise|wenn|au(?:ß|ss)er|nur|aber|und|si|sauf|sinon|mais|et|pero|"
    r"salvo|solo|y|se|tranne|ma|e)\b",
    re.IGNORECASE,
)
"""Words that make a clause more than a reason, because they add a condition or another wish."""


def _wordings(text: str, files: Sequence[str]) -> Iterator[str]:
    """Yields the forms of a sentence that phrases are matched against: the whole sentence, the one without its reason
    and the one without its preface, each with a mark for its file and without the file."""
    plain = trimmed(" ".join(text.split()))
    for told in dict.fromkeys((plain, _without_reason(plain), _without_preface(plain))):
        short = _OWN_LINE.sub("", WHERE.sub("", without_courtesy(told)))
        yield _with_file(short, files, FILE_MARK)
        if files:
            yield _with_file(short, files, "")
    if not files:
        yield plain


_EDGES = re.compile(r"^(?:\.(?!\w)|[ !?,¡¿。！？…])+|[ .!?,¡¿。！？…]+$")
_EDGES_OF_REST = re.compile(r"^(?:\.(?!\w)|[ ,:;–-])+|[ ,.:–-]+$")
"""Signs and spaces around a text; the dot of `.gitignore` is kept, because it belongs to the name."""


def trimmed(text: str) -> str:
    """Returns a text without the signs around it."""
    return _EDGES.sub("", text)


_COURTESY_WITHIN = re.compile(
    r"(?<=\w),? (?:s['’]il (?:te|vous) pla[iî]t|por favor|per favore|bitte|stp|svp)\b,?(?= )", re.IGNORECASE
)
"""Polite words behind the verb, which no text that is meant literally has."""


def without_courtesy(text: str) -> str:
    """Returns a sentence without its polite words."""
    text = _COURTESY_WITHIN.sub("", text, count=1)
    before = None
    while before != text:
        before = text
        text = _THANKS.sub("", re.sub(f"^(?:{_COURTESY.pattern})", "", text, flags=re.IGNORECASE))
        text = trimmed(text)
    return text


def _without_reason(text: str) -> str:
    found = _REASON.search(text)
    if found is None or CONDITION.search(found[0]):
        return text
    said = _UNUSED.sub(" ", found[0])
    if any(says(idea, said) for idea in (*WISHES, *_PLACES)):
        return text
    return text[: found.start()].strip()


def _without_preface(text: str) -> str:
    """Returns a sentence without a preface before its wish."""
    before, mark, rest = next(
        (found for sign in (": ", ", so ", ". ", "! ", ".. ", ", ") if (found := text.partition(sign))[1]),
        (text, "", ""),
    )
    wishes = any(says(idea, before) for idea in (*WISHES, "sets", "asking")) or any(m in before for m in QUOTE_MARKS)
    wishes = wishes or any(pattern.search(before) for pattern in (_PATH, _NO_PREFACE))
    if not mark or wishes or CONDITION.search(before) or len(before.split()) < MOST_BARE:
        return text
    return rest.removeprefix("so ").removeprefix("please ").strip()


_NO_PREFACE = re.compile(
    r"\b(?:explain|translate|rephrase|spell|pronounce|type|reply|answer|quote|tell|"
    r"errors?|used to|know|idea|did|said|says|told|would|might|if|when|like this|for example)\b",
    re.IGNORECASE,
)
"""Words in a preface that show that the rest of the sentence is no wish."""
MOST_BARE = 3
"""The fewest words of a preface; fewer words are part of the wish."""
_PLACES = ("after", "before", "top", "end", "line")
WISHES = ("deletes", "adds", "replaces", "moves", "creates", "searches", "shows", "lists", "run")
"""The ideas whose words express a wish."""


_LEAD = (
    r"(?:,? ?\b(?:in|of|from|to|for|throughout|within|für|pour|para|per|à|au|al|alla|ai|zu|zur|"
    r"into|inside|at|im|in der|in die|von|aus|an|dans|de|du|en|del|di|da|nel|nella|a|"
    r"it's in|it is in)\b )?(?:\b(?:the|my|our|der|die|das|den|le|la|el|il|lo) )?"
    r"(?:\b(?:file|datei|fichier|archivo|fichero) )?"
)
"""Words that stand before the name of a file, such as "in the file"."""


def _with_file(text: str, files: Sequence[str], mark: str) -> str:
    """Returns the text with a mark in place of its file, or without the file and the words that lead to it."""
    for name in files:
        told = rf"(?<![A-Za-z0-9_./-])(?:\./)?{re.escape(name)}(?![A-Za-z0-9_/-])"
        if mark:
            text = re.sub(told, mark, text)
        else:
            text = re.sub(rf"{_LEAD}\(?{told}\)?(?: ?(?:の|に|から)|[:,])?", " ", text, flags=re.IGNORECASE)
    return _EDGES_OF_REST.sub("", " ".join(text.split()))


def _respell(text: str) -> str:
    """Returns the text with usual verbs corrected that have a letter too many or too few, or swapped letters."""
    return re.sub(
        r"(?<![\w./-])[a-z]{3,9}(?![\w./-])", lambda found: _meant(found[0]), text, flags=re.ASCII | re.IGNORECASE
    )


_FEWEST = 4
"""The fewest letters of a word in which a slip can be told."""


@cache
def _meant(word: str) -> str:
    lower = word.lower()
    if lower in _SLIPS or lower in filling() or len(lower) < _FEWEST:
        return _SLIPS.get(lower, word)
    if any(saying(idea).fullmatch(lower) for idea in WISHES):  # a verb of another language may differ in one letter
        return word
    for verb in _VERBS:
        if lower[:-1] == verb:  # another form of the verb
            return word
        if is_respelled(lower, verb):
            return verb
    return word


def is_respelled(word: str, other: str) -> bool:
    """Returns whether two words differ only in swapped letters, or in one letter too many or too few."""
    swapped = sorted(word) == sorted(other) and word[:1] == other[:1]
    return swapped or (abs(len(word) - len(other)) == 1 and _one_letter_apart(word, other))


def _one_letter_apart(one: str, other: str) -> bool:
    """Returns whether the longer of two words is the shorter with one letter more."""
    short, long = sorted((one, other), key=len)
    return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def without_paths(said: Sentence) -> str:
    """Returns a sentence without its quoted texts and the names of its files."""
    bare = said.bare
    names = [path.rpartition("/")[2] for path in (*said.files, *said.paths)]
    stems = [name.rpartition(".")[0] or name for name in names]
    for parts in ((*said.files, *said.paths), names, stems):  # stems last: two names may share one
        for part in sorted(parts, key=len, reverse=True):  # the longest first, because one may end in another
            bare = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(part)}(?![A-Za-z0-9_])", " ", bare, flags=re.IGNORECASE)
    return bare


def is_name(word: str) -> bool:
    """Returns whether a word looks like a name in code: it has an underscore, a digit or a capital inside."""
    return bool(re.search(r"_|\d|[a-z][A-Z]|^[A-Z][a-z]+[A-Z]|^[A-Z]{3,}$", word))


def words_left(said: Sentence, verb: str, *, whole: bool = False) -> int:
    """Counts the words left that say something, without the verb, the files and the filling words. Counts only the
    clause with the verb, unless `whole`."""
    clauses = [part for part in re.split(r"[,;!?]|\.(?=\s|$)", without_paths(said)) if says(verb, part)]
    left = saying(verb).sub(" ", clauses[0] if clauses and not whole else without_paths(said))
    words = re.findall(r"[A-Za-zÀ-ž]{2,}|[ァ-ヿ一-鿿]+" if whole else r"[A-Za-zÀ-ž]{2,}", left)
    return len([word for word in words if word.lower() not in filling()])
