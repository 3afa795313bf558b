"""What a sentence asks for that needs no model: rules over words in six languages, and one exact question for what is
missing (MOD-23). Pure.

A rule takes a sentence only where all of it is clear: which file, which text. Everything else is left to the network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.models.embedded.patterns import DEFINED, fill_pattern
from remit_server.models.embedded.route_edits import AmongImports, AtLine, Beside, Insert, LineEdit, Remove, SetValue
from remit_server.models.embedded.sentences import (
    IDENTIFIER,
    Sentence,
    filling,
    read_sentence,
    saying,
    says,
    without_paths,
)

MOST_CHARS = 600
"""A longer sentence is no simple one."""


@dataclass(frozen=True, slots=True)
class Routed:
    """The one call that a sentence asks for."""

    intent: Intent
    tool: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class Missing:
    """The part that a sentence leaves out, as a question. A file that is left out is the one that alone has
    `sought`."""

    question: str
    sought: str = ""


@dataclass(frozen=True, slots=True)
class Help:
    """The person asks what can be done."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A line of one file, which is read first."""

    path: str
    edit: LineEdit


Route = Routed | Edited | Missing | Help | None


_KINDS = (
    "class|function|method|constant|klasse|funktion|methode|konstante|classe|fonction|m[ée]thode|constante|clase|"
    "funci[oó]n|m[ée]todo|funzione|costante"
)
_SAID_DEFINED = r"\s+(?:is\s+)?(?:defined|declared|definiert|défini\w*|definid\w+|definit\w)"
_NAMED = re.compile(
    rf"(?:{_KINDS})\s+([A-Za-z_][A-Za-z0-9_]*)(?=[^\w.]*(?:{_SAID_DEFINED}|[?.]|$))"
    r"|where (?:is|are) ([A-Za-z_][A-Za-z0-9_]*) (?:used|called|defined|declared|imported|mentioned)"
    r"|(?:which|what) file (?:defines|declares) ([A-Za-z_][A-Za-z0-9_]*)|\bthe word ([A-Za-z_][A-Za-z0-9_]*)",
    re.IGNORECASE,
)
_LOOKED_FOR = re.compile(
    r"(?:search(?: the (?:project|workspace|code))? for|grep(?: for)?|look for|suche? nach|such mal nach|buscar?|"
    r"cerca(?:re)?|chercher?)\s+(?:the (?:word|text)\s+)?([A-Za-z_][A-Za-z0-9_]*)\W*$",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:do|are|did|check)\b.*\b(?:pass|passing|green|work|ok)\b|laufen|passent|pasan|passano|通る|通って",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"(?:add|insert|put) (?:the line )?(.+?) (below|after|under|above|before) (?:the )?(?:line )?(.+?) "
    r"(?:in|to|of) \S+\s*$",
    re.IGNORECASE,
)
_LITERALS = re.compile(r"(?<![A-Za-z0-9_.])(-?\d[\d_.]*\d|-?\d|true|false|null|none)(?![A-Za-z0-9_])", re.IGNORECASE)
_SETTING = re.compile(r"^(?:please )?(?:set|setze?|change|imposta|pon|mets|définis|cambia)\b", re.IGNORECASE)
_SOMETHING = re.compile(
    r"\b(?:something|text|etwas|quelque chose|algo|qualcosa|code|workspace|project)\b", re.IGNORECASE
)
_VERB = re.compile(
    r"renam\w*|move|change|cambia|call(?:ed)?|benenn\w*|umbenenn\w*|renomm\w*|renombr\w*|rinomin\w*|should|um",
    re.IGNORECASE,
)
_WHICH_FILE = re.compile(
    r"which file|what file|welcher datei|quel fichier|qu[eé] archivo|quale file|どのファイル", re.IGNORECASE
)
_COMMAND = re.compile(r"\b(?:commands?|befehl|commande|comando)\b|コマンド", re.IGNORECASE)
_RENAMES = re.compile(
    r"rename|umbenenn|benenn|renomme|renombra|rinomina|リネーム|名前|(?:should be|to be) (?:called|named)|"
    r"(?:the )?name of|nombre de|nom de|nome di|namen von",
    re.IGNORECASE,
)
_FOLDER = re.compile(
    r"(?:folder|directory|cartella|ordner|verzeichnis|dossier|carpeta)\s+([\w/-]+)|(?!(?:the|a|new|folder|into|to)\b)\b([\w/-]+)\s+(?:folder|directory)|([\w/-]+)\s*フォルダ",
    re.IGNORECASE | re.ASCII,
)
_PROGRAMS = frozenset(
    {
        "bash", "cargo", "cat", "date", "df", "du", "echo", "env", "find", "git", "go", "gradle", "grep", "head",
        "java", "ls", "make", "mvn", "node", "npm", "npx", "pip", "pwd", "pytest", "python", "python3", "rustc", "sh",
        "sleep", "sort", "tail", "tree", "true", "uname", "uv", "wc", "which", "yarn",
    }
)  # fmt: skip
"""What a command begins with that is not quoted."""
_ENDINGS: Mapping[str, str] = {
    "python": "*.py",
    "typescript": "*.ts",
    "javascript": "*.js",
    "markdown": "*.md",
    "json": "*.json",
    "yaml": "*.yaml",
    "text": "*.txt",
    "rust": "*.rs",
}
_WITH = re.compile(
    r"(?:content|contents|inhalt|contenu|contenido|contenuto|with(?: the text)?|that says|saying|mit)\s*:\s*(\S.*)$",
    re.IGNORECASE,
)


def route(text: str, files: AbstractSet[str]) -> Route:
    """Returns what a sentence asks for; None where no rule takes it."""
    if len(text) > MOST_CHARS or "\n" in text.strip():
        return None
    said = read_sentence(text.strip(), files)
    found = (rule(said) for rule in _RULES)
    return next((each for each in found if each is not None), None)


def _help(said: Sentence) -> Route:
    return Help() if says("help", said.text) else None


def _git(said: Sentence) -> Route:
    if re.fullmatch(r"(?:please )?(?:run )?[`\"']?git (status|diff)[`\"']?(?: please)?[.!]?", said.text, re.IGNORECASE):
        return Routed(Intent.ANALYZE, "git_status" if "status" in said.text.lower() else "git_diff")
    if said.quoted:
        return None
    if says("diff", said.bare):
        return Routed(Intent.ANALYZE, "git_diff")
    return Routed(Intent.ANALYZE, "git_status") if says("status", said.bare) and not said.files else None


def _run(said: Sentence) -> Route:
    if says("tests", said.bare) and not said.quoted and _PASSING.search(said.bare):
        return Routed(Intent.EXECUTE, "run_tests")
    if not says("run", said.bare):
        return None
    if (command := _command_in(said)) is not None:
        return Routed(Intent.EXECUTE, "run_command", {"command": command})
    if says("tests", said.bare):
        path: dict[str, JsonValue] = {"path": said.files[0]} if len(said.files) == 1 else {}
        return Routed(Intent.EXECUTE, "run_tests", path)
    return Missing(COMMAND) if not said.files and _rest(said, "run") == len(_COMMAND.findall(said.bare)) else None


def _command_in(said: Sentence) -> str | None:
    """The command in a sentence: in quotes, behind a colon, or after the verb where it begins as commands do."""
    if said.quoted:
        return said.quoted[0] if len(said.quoted) == 1 and not says("edits", said.bare) else None
    if (told := re.match(r"(?:please )?(?:run|execute)[^:]{0,30}:\s*(\S.*)$", said.text, re.IGNORECASE)) is not None:
        return told[1]
    found = re.match(
        r"(?:please |can you |could you |bitte )?(?:run|execute|start|launch)\s+(?:the (?:command|program)\s+)?(\S.*)$",
        said.text,
        re.IGNORECASE,
    )
    return found[1].rstrip(".!") if found and found[1].split()[0] in _PROGRAMS else None


def _move(said: Sentence) -> Route:
    if not says("moves", said.bare) or not said.files or said.quoted:
        return None
    old = said.files[0]
    others = [path for path in said.paths if path != old] or list(said.files[1:2])
    if others:
        new = others[0]
        return Routed(
            Intent.CODE,
            "move_file",
            {"path": old, "new_path": new + old.rpartition("/")[2] if new.endswith("/") else new},
        )
    if (folder := _FOLDER.search(without_paths(said))) is not None:
        into = next(filter(None, folder.groups())).rstrip("/")
        return Routed(Intent.CODE, "move_file", {"path": old, "new_path": f"{into}/{old.rpartition('/')[2]}"})
    named = re.findall(IDENTIFIER, re.split(saying("moves"), said.bare, maxsplit=1)[-1].replace(old, ""))
    return Missing(NEW_NAME) if not [word for word in named if word.lower() not in filling()] else None


def _delete(said: Sentence) -> Route:
    if (
        not says("deletes", said.bare)
        or said.quoted
        or says("line", said.bare.replace(said.files[0] if said.files else "\0", ""))
    ):
        return None
    if len(said.files) == 1 and not said.paths and _rest(said, "deletes") == 0:
        return Routed(Intent.CODE, "delete_file", {"path": said.files[0]})
    return Missing(FILE) if not said.files and not said.paths and _rest(said, "deletes") == 0 else None


def _remove(said: Sentence) -> Route:
    """A line of a file, by its number or its text."""
    if not says("deletes", said.bare) or len(said.files) != 1:
        return None
    if (number := _NUMBERED.search(said.bare)) is not None and not said.quoted:
        return Edited(said.files[0], Remove(int(next(filter(None, number.groups())))))
    if len(said.quoted) == 1 and not says("part", said.bare):
        return Edited(said.files[0], Remove(said.quoted[0]))
    if (found := _BARE_IMPORT.search(said.bare)) is not None and not said.quoted:
        return Edited(said.files[0], Remove(found[0]))
    return (
        Missing(LINE)
        if not said.quoted
        and re.search(r"\ba line\b|eine zeile|une ligne|una l[ií]nea|una riga", said.bare, re.IGNORECASE)
        else None
    )


def _insert(said: Sentence) -> Route:
    if not says("adds", said.bare):
        return None
    if not said.quoted and len(said.files) == 1 and (told := _BESIDE.search(said.bare)) is not None:
        return Edited(said.files[0], Insert(told[1], Beside(told[3], told[2].lower() in {"below", "after", "under"})))
    text = said.quoted[0] if said.quoted else found[0] if (found := _BARE_IMPORT.search(said.bare)) else None
    if text is None or says("part", said.bare):
        return None
    place = _place(said, text)
    if place is None or len(said.quoted) > (2 if isinstance(place, Beside) else 1):
        return None
    if len(said.files) != 1:
        return Missing(FILE) if not said.files and not said.paths else None
    return Edited(said.files[0], Insert(text, place))


def _place(said: Sentence, text: str) -> AtLine | Beside | AmongImports | None:
    after, before = says("after", said.bare), says("before", said.bare)
    if (after or before) and (number := _NUMBERED.search(said.bare)) is not None:
        named = int(next(filter(None, number.groups())))
        return AtLine(named + bool(after), beside=named)
    if (after or before) and len(said.quoted) == 2:
        return Beside(said.quoted[1], bool(after))
    if says("top", said.bare):
        return AtLine(1)
    if says("end", said.bare):
        return AtLine(0)
    return AmongImports() if re.match(r"(?:import|from) \w", text) else None


def _set_value(said: Sentence) -> Route:
    if not says("sets", said.bare) or len(said.quoted) > 1:
        return None
    bare = re.sub(
        r"(?:instead of|statt|au lieu de|en (?:lugar|vez) de|invece di) \S+",
        " ",
        without_paths(said),
        flags=re.IGNORECASE,
    )
    literals = list(dict.fromkeys(_LITERALS.findall(bare)))
    switch = re.search(r"(?:turn|switch) (on|off)|(enable|disable)", bare, re.IGNORECASE)
    value = said.quoted[0] if said.quoted else literals[0] if len(literals) == 1 else None
    if value is None and switch is not None:
        value = "true" if (switch[1] or switch[2]).lower() in {"on", "enable"} else "false"
    names = [
        word
        for word in dict.fromkeys(re.findall(IDENTIFIER, bare))
        if word not in literals
        and word.lower() not in _NO_NAMES
        and (_is_name(word) or word.lower() not in filling() or word == "name")
        and not saying("sets").fullmatch(word)
    ]
    if len(names) != 1:
        return None
    if value is None:
        return Missing(VALUE) if len(said.files) == 1 and not said.paths and _SETTING.search(said.bare) else None
    if len(said.files) != 1:
        return Missing(FILE, names[0]) if not said.files and not said.paths else None
    return Edited(said.files[0], SetValue(names[0], value))


def _create(said: Sentence) -> Route:
    if not says("creates", said.bare) or (says("shows", said.bare) and not said.quoted) or said.files:
        return None
    paths = [path for path in said.paths if path not in said.quoted]
    content = said.quoted[0] if len(said.quoted) == 1 else told[1] if (told := _WITH.search(said.text)) else None
    if len(paths) == 1 and not paths[0].endswith("/") and len(said.quoted) <= 1:
        if content is None and _rest(said, "creates") > 2:
            return None
        return Routed(Intent.CODE, "write_file", {"path": paths[0], "content": f"{content}\n" if content else ""})
    return (
        Missing(FILE)
        if content is not None and not paths and re.search(r"file|datei|fichier|archivo|ファイル", said.bare)
        else None
    )


def _replace(said: Sentence) -> Route:
    if not says("replaces", said.bare):
        return None
    if len(said.files) == 1 and len(said.quoted) == 2:
        old, new = said.quoted
        if re.search(
            r"instead of|statt|anstatt|au lieu de|en lugar de|en vez de|invece di|代わり", said.bare, re.IGNORECASE
        ):
            old, new = new, old
        words = all(re.fullmatch(IDENTIFIER, text) for text in (old, new))
        whole: dict[str, JsonValue] = {"whole_word": True} if words else {}
        given: dict[str, JsonValue] = {"path": said.files[0], "old_text": old, "new_text": new, "replace_all": True}
        return Routed(Intent.CODE, "edit_file", given | whole)
    if (
        len(said.files) == 1
        and len(said.quoted) == 1
        and re.search(r"replace|ersetz|remplace|reempla|sustitu|sostitui|置", said.bare)
        and _rest(said, "replaces") <= 1
    ):
        return Missing(NEW_TEXT)
    return Missing(FILE, said.quoted[0]) if not said.files and not said.paths and len(said.quoted) == 2 else None


def _rename(said: Sentence) -> Route:
    """Two names in one file."""
    if not _RENAMES.search(said.bare):
        return None
    names = [*said.quoted]
    if not names:
        bare = said.bare
        for path in (*said.files, *said.paths):
            bare = bare.replace(path, " ").replace(path.rpartition("/")[2], " ")
        names = [
            word for word in re.findall(IDENTIFIER, bare) if word.lower() not in filling() and not _VERB.fullmatch(word)
        ]
    if len(names) == 2 and len(said.files) == 1 and all(re.fullmatch(IDENTIFIER, name) for name in names):
        old, new = names
        return Routed(
            Intent.CODE,
            "edit_file",
            {"path": said.files[0], "old_text": old, "new_text": new, "replace_all": True, "whole_word": True},
        )
    if len(names) == 1 and not said.paths:
        return Missing(NEW_NAME)
    return Missing(FILE, names[0]) if len(names) == 2 and not said.files and not said.paths else None


def _list(said: Sentence) -> Route:
    if re.fullmatch(r"(?:please )?(?:ls|dir)[.!]?", said.text, re.IGNORECASE):
        return Routed(Intent.ANALYZE, "list_files", {"pattern": "*"})
    asks = says("files", said.bare) or _FOLDER.search(said.bare) is not None
    if said.files or said.quoted or not (asks and says("lists", said.bare)) or says("edits", said.bare):
        return None
    lower = said.bare.lower()
    pattern = next((glob for word, glob in _ENDINGS.items() if word in lower), "*")
    folder = next((path.rstrip("/") for path in said.paths if path.endswith("/")), None)
    if folder is None and (
        named := re.search(
            r"(?:in|under|inside|from|dans|en|nella|im|unter)\s+(?:the\s+|den\s+|dem\s+|le\s+|la\s+)?([\w/-]+)(?:\s+(?:folder|directory|ordner|verzeichnis|dossier))",
            lower,
        )
    ):
        folder = named[1]
    return Routed(Intent.ANALYZE, "list_files", {"pattern": pattern, **({"path": folder} if folder else {})})


def _show(said: Sentence) -> Route:
    if not says("shows", said.bare) or said.quoted or says("edits", said.bare):
        return None
    if len(said.files) == 1 and _rest(said, "shows") == 0:
        return Routed(Intent.ANALYZE, "read_file", {"path": said.files[0]})
    return (
        Missing(FILE)
        if not said.files
        and not said.paths
        and _rest(said, "shows") == 0
        and re.search(r"file|datei|fichier|archivo", said.bare)
        else None
    )


def _search(said: Sentence) -> Route:
    asks = says("searches", said.bare) or (says("defined", said.bare) and _WHICH_FILE.search(said.bare))
    if not asks or says("edits", said.bare) or len(said.quoted) > 1:
        return None
    defined = says("defined", said.bare)
    where: dict[str, JsonValue] = {"path": said.files[0]} if len(said.files) == 1 else {}
    words = list(said.quoted) or _names_in(said)
    if len(words) == 1:
        if defined and re.fullmatch(IDENTIFIER, words[0]):
            return _defined(words[0])
        return Routed(Intent.ANALYZE, "search_files", {"pattern": re.escape(words[0]), "context_lines": 0, **where})
    if not words and re.search(r"\bfiles?\b|dateien|fichiers|archivos|ファイル", said.bare, re.IGNORECASE):
        return None
    return (
        Missing(TEXT)
        if not words and _rest(said, "searches") <= len(_SOMETHING.findall(said.bare)) and not said.files
        else None
    )


def _names_in(said: Sentence) -> list[str]:
    """The words that are names of code, else the one that stands where a name does."""
    words = [word for word in re.findall(r"[A-Za-z_][A-Za-z0-9_.]*", without_paths(said)) if _is_name(word)]
    named = _NAMED.search(said.bare) or _LOOKED_FOR.search(said.bare)
    return words or ([next(filter(None, named.groups()))] if named else [])


def _defined(name: str) -> Routed:
    whole: dict[str, JsonValue] = {"context_lines": 0, "max_results": 1}
    return Routed(Intent.ANALYZE, "search_files", {"pattern": fill_pattern(DEFINED, name), **whole})


def _is_name(word: str) -> bool:
    """Whether a word is no word of a language: it has an underscore, a digit or a capital within."""
    return bool(re.search(r"_|\d|[a-z][A-Z]|^[A-Z][a-z]+[A-Z]|^[A-Z]{3,}$", word))


def _rest(said: Sentence, verb: str) -> int:
    """How many words are left that say something: without the verb, files, and words that every sentence has. What a
    sentence adds behind a comma does not count."""
    clauses = [part for part in re.split(r"[,;!?]|\.(?=\s|$)", without_paths(said)) if says(verb, part)]
    left = saying(verb).sub(" ", clauses[0] if clauses else without_paths(said))
    return len([word for word in re.findall(r"[A-Za-zÀ-ž]{2,}", left) if word.lower() not in filling()])


FILE = "Which file? Name it in the sentence, as in: show notes.txt"
NEW_NAME = "What is the new name? As in: rename total to subtotal in cart.py"
NEW_TEXT = 'By which text? As in: replace "old" with "new" in README.md'
TEXT = 'Which text shall I search for? As in: search for "total"'
LINE = 'Which line? As in: remove line 3 from notes.txt, or: remove the line "milk" from notes.txt'
VALUE = "Which value? As in: set RATE to 0.3 in tax.py"
COMMAND = "Which command? As in: run `make test`"

_NUMBERED = re.compile(
    r"(?:line|zeile|ligne|l[ií]nea|riga)\s*(?:no\.?\s*|number\s*|nr\.?\s*)?(\d{1,6})|(\d{1,6})\s*行|(\d{1,6})\.\s*zeile|"
    r"(\d{1,6})(?:st|nd|rd|th) line",
    re.IGNORECASE,
)
_NO_NAMES = frozenset(
    {
        "a", "all", "and", "auf", "be", "config", "constant", "de", "di", "el", "every", "file", "il", "in",
        "instead", "is", "it", "la", "line", "of", "off", "on", "please", "setting", "settings", "should",
        "switch", "that", "the", "this", "to", "turn", "valeur", "valor", "valore", "value", "variable", "von",
        "wert", "zu", "à",
    }
)  # fmt: skip
_BARE_IMPORT = re.compile(r"(?<!\w)(?:from [\w.]+ )?import [\w.]+(?: as \w+)?(?!\w)")

_RULES: Sequence[Callable[[Sentence], Route]] = (
    _help, _git, _run, _move, _rename, _replace, _remove, _delete, _insert, _set_value, _create, _search, _list, _show,
)  # fmt: skip
"""In this order; the first that takes a sentence has it."""
