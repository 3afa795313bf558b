"""Rules for sentences that change files: move, delete, rename, replace, create, edit one line (MOD-23). Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from remit_governance.values import Intent
from remit_server.models.built_in.edits.line_edits import AmongImports, AtLine, Beside, Insert, Remove, SetValue
from remit_server.models.built_in.language.meant import means_file, tells_of_part
from remit_server.models.built_in.language.sentences import FOLDER, Sentence, is_name, without_paths, words_left
from remit_server.models.built_in.language.texts import (
    begins_with_article,
    is_code,
    is_like_code,
    may_be_name,
    says_rename,
)
from remit_server.models.built_in.language.words import IDENTIFIER, filling, names_file, names_new_file, saying, says
from remit_server.models.built_in.routes import (
    FILE,
    LINE,
    NEW_NAME,
    NEW_TEXT,
    NO_FOLDER,
    VALUE,
    Edited,
    Missing,
    Route,
    Routed,
    replaced_everywhere,
)

_BESIDE = re.compile(
    r"^(?:please )?(?:add|insert|put) (?:the line )?(.+?) (below|after|under|above|before) (?:the )?(?:line )?(.+?) "
    r"(?:in|to|of) \S+\s*$",
    re.IGNORECASE,
)
_LITERALS = re.compile(r"(?<![A-Za-z0-9_.])(-?\d[\d_.]*\d|-?\d|true|false|null|none)(?![A-Za-z0-9_])", re.IGNORECASE)
_SETTING = re.compile(r"^(?:please )?(?:set|setze?|change|imposta|pon|mets|définis|cambia)\b", re.IGNORECASE)
_PLACE_WORDS = re.compile(
    r"\b(?:after|below|under|underneath|before|above|over|"
    r"(?:(?:very|first|last|new|own|separate) )*(?:top|beginning|start|bottom|end|lines?|row)|"
    r"nach|hinter|unter|vor|über|(?:der |die |das )?(?:zeile|anfang|ende|oben|unten)|"
    r"après|avant|sous|ligne|d[ée]but|fin|haut|bas|despu[ée]s|antes|debajo|encima|l[ií]nea|principio|inicio|final|"
    r"dopo|prima|sotto|sopra|riga|fine|inizio|fondo|cima|right|directly|just|import(?:s|iert)?)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"renam\w*|move|change|cambia|call(?:ed)?|benenn\w*|umbenenn\w*|renomm\w*|renombr\w*|rinomin\w*|should|um|"
    r"klasse|classe|clase|methode|m[ée]thode|m[ée]todo|metodo|konstante|constante|costante",
    re.IGNORECASE,
)
_MOVES = re.compile(r"\bmove|\bput|schieb|sposta|muev|déplace|移動", re.IGNORECASE)
_RENAMES = re.compile(
    r"rename|umbenenn|benenn|renomme|renombra|rinomina|リネーム|名前|(?:should be|to be) (?:called|named)|"
    r"(?:the )?name of|nombre de|nom de|nome di|namen von",
    re.IGNORECASE,
)
_LINE_WORDS = re.compile(
    r"\b(?:lines?|entry|row|statement|import|comment|zeile|eintrag|ligne|entrée|l[ií]nea|entrada|riga|voce)\b|行",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"instead of|statt|anstatt|au lieu de|en lugar de|en vez de|invece di|代わり", re.IGNORECASE)
_EACH = re.compile(
    r"\b(?:each|every|all|headings?|titles?|keys?|sections?|function|class|method|funktion|klasse|fonction|clase|classe)\b",
    re.IGNORECASE,
)
_END_OF = re.compile(
    r"\b(?:top|end|bottom|beginning|start)\b(?: of)?(?: the| this| that| our)? ([A-Za-z_]\w+)", re.IGNORECASE
)
"""Matches "the end of" something in a file, or a word that "top" or "end" describes: "the top menu"."""
_INTO = re.compile(r"\b(?:to|into|nach|in|dans|vers|a|en)\s+(?:the )?([\w/-]+)\W*$", re.IGNORECASE | re.ASCII)
_ELSEWHERE = re.compile(r"(?:^|\s)(?:~|\.\.)?/|(?:^|\s)\.\.(?:\s|$)|~")
"""A path outside of the workspace."""
_BECOMES = re.compile(r"\b(?:to|into|as|be|called|named)\b|->|=>|→", re.IGNORECASE)
_BECOMES_ABROAD = re.compile(
    r"\b(?:zu|in|auf|en|por|como|a|à|per|come|hei(?:ß|ss)en|llamarse|chiamarsi)\b|->|=>|→|を|から", re.IGNORECASE
)
"""Words that lead from an old name to the new one in the other languages; `_BECOMES` has those in English."""
_DESCRIBED = re.compile(r"[,;]|\bto an?\b|\b(?:more|better|some\w*|eine?n?|une?|una|más|più|plus)\b", re.IGNORECASE)
"""Words between two names that show that the second only describes a name, or belongs to something else."""
_IN_ENGLISH = re.compile(r"\brename\b|\bname of\b|\b(?:called|named)\b", re.IGNORECASE)
_HOLDS = re.compile(
    r"\b(?:with|w/|contain\w*|content\w*|text|saying|says|holding|mit|inhalt|avec|conten\w+|con|dice|che dice|into|"
    r"in it)\b",
    re.IGNORECASE,
)
_WITH = re.compile(
    r"(?:content|contents|inhalt|contenu|contenido|contenuto|with(?: the text)?|that says|saying|mit)\s*:\s*(\S.*)$",
    re.IGNORECASE,
)


def take_move(said: Sentence) -> Route:
    """Takes a wish to move one file to a new name or folder."""
    typed = re.fullmatch(r"mv (\S+) ([\w./-]+)", said.text)
    if typed is not None and typed[1] in said.files and ".." not in typed[2] and not typed[2].startswith("/"):
        return Routed(Intent.CODE, "move_file", {"path": typed[1], "new_path": typed[2]})
    # If both files exist, neither of them is a new name.
    if not says("moves", said.bare) or len(said.files) != 1 or said.quoted or not means_file(said):
        return None
    return None if _ELSEWHERE.search(said.bare) else _moving(said, said.files[0])


def _moving(said: Sentence, old: str) -> Route:
    others = [path for path in said.paths if path != old]
    if others and (len(others) > 1 or words_left(said, "moves", whole=True)):
        return None  # the sentence says more than that one path becomes the other
    if others:
        return Routed(Intent.CODE, "move_file", {"path": old, "new_path": _moved(old, others[0], said)})
    if (told := _INTO.search(without_paths(said))) is not None and told[1].rstrip("/") in said.folders:
        return Routed(
            Intent.CODE, "move_file", {"path": old, "new_path": f"{told[1].rstrip('/')}/{old.rpartition('/')[2]}"}
        )
    if (folder := FOLDER.search(without_paths(said))) is not None:
        into = next(filter(None, folder.groups())).rstrip("/")
        return Routed(Intent.CODE, "move_file", {"path": old, "new_path": f"{into}/{old.rpartition('/')[2]}"})
    named = re.findall(IDENTIFIER, re.split(saying("moves"), said.bare, maxsplit=1)[-1].replace(old, ""))
    return Missing(NEW_NAME) if not [word for word in named if word.lower() not in filling()] else None


def _left(said: Sentence, verb: str) -> int:
    """Counts the words left in a sentence without the verb, the quoted texts and prepositions such as "with"."""
    bare = re.sub(
        r"\b(?:with|by|for|into|durch|mit|gegen|zu|par|avec|por|con|da)\b", " ", said.bare, flags=re.IGNORECASE
    )
    return words_left(replace(said, bare=bare), verb, whole=True)


def _moved(old: str, new: str, said: Sentence) -> str:
    """Returns the new path of a file. The target is a folder if it ends with `/`, or if a file with an ending is moved
    to a name without one.

    If the sentence only renames the file, the file stays in its folder.
    """
    folder, _, name = old.rpartition("/")
    if "/" not in new and "." in new and folder and not _MOVES.search(said.bare):
        return f"{folder}/{new}"
    into = "." in name and "." not in new.rpartition("/")[2] and _MOVES.search(said.bare)
    return f"{new.rstrip('/')}/{name}" if into or new.endswith("/") else new


def take_delete(said: Sentence) -> Route:
    """Takes a wish to delete one file."""
    if (
        not says("deletes", said.bare)
        or said.quoted
        or says("line", said.bare.replace(said.files[0] if said.files else "\0", ""))
    ):
        return None
    # Anything else that the sentence names could be what to delete, and a second clause could take the wish back.
    one = len(said.files) == 1 and not said.paths and means_file(said)
    if one and not tells_of_part(said) and words_left(said, "deletes", whole=True) == 0:
        return Routed(Intent.CODE, "delete_file", {"path": said.files[0]})
    if (folder := _folder_in(said)) is not None and not said.files:
        return Missing(NO_FOLDER.format(command=shlex.join(("rm", "-r", folder))))
    return Missing(FILE) if not said.files and not said.paths and words_left(said, "deletes") == 0 else None


def _folder_in(said: Sentence) -> str | None:
    """Returns the folder that a wish to delete names, if it names nothing else."""
    found = FOLDER.search(said.bare)
    rest = "" if found is None else said.bare.replace(found[0], " ", 1)
    alone = found is not None and words_left(replace(said, bare=rest), "deletes", whole=True) == 0
    return next(filter(None, found.groups()), None) if found is not None and alone else None


def take_remove(said: Sentence) -> Route:
    """Takes a wish to remove a line of a file, given by its number or its text."""
    if not says("deletes", said.bare) or len(said.files) != 1:
        return None
    if (found := _NUMBERED.search(said.bare)) is not None and not said.quoted:
        rest = replace(said, bare=said.bare.replace(found[0], " ", 1))
        clear = not re.search(r"\d", without_paths(rest)) and not tells_of_part(rest)
        number = int(next(filter(None, found.groups())))
        return Edited(said.files[0], Remove(number)) if clear and not words_left(rest, "deletes", whole=True) else None
    rest = replace(said, bare=_LINE_WORDS.sub(" ", said.bare))
    if len(said.quoted) == 1 and not tells_of_part(rest) and not words_left(rest, "deletes", whole=True):
        return Edited(said.files[0], Remove(said.quoted[0]))
    if (found := _BARE_IMPORT.search(said.bare)) is not None and not said.quoted:
        return Edited(said.files[0], Remove(found[0]))
    return (
        Missing(LINE)
        if not said.quoted
        and re.search(r"\ba line\b|eine zeile|une ligne|una l[ií]nea|una riga", said.bare, re.IGNORECASE)
        else None
    )


def take_insert(said: Sentence) -> Route:
    """Takes a wish to insert a line at a place in one file."""
    if not says("adds", said.bare):
        return None
    told = _BESIDE.search(said.bare) if len(said.files) == 1 and not said.quoted else None
    if told is not None and is_like_code(told[1]) and not begins_with_article(told[1]):
        return Edited(said.files[0], Insert(told[1], Beside(told[3], told[2].lower() in {"below", "after", "under"})))
    text = said.quoted[0] if said.quoted else found[0] if (found := _BARE_IMPORT.search(said.bare)) else None
    if text is None or says("part", said.bare):
        return None
    place = _place(said, text)
    if place is None or not _says_only(said, text, place):
        return None
    if len(said.files) != 1:
        return Missing(FILE) if not said.files and not said.paths else None
    return Edited(said.files[0], Insert(text, place))


def _says_only(said: Sentence, text: str, place: AtLine | Beside | AmongImports) -> bool:
    """Returns whether a sentence says only that a text goes to a place of the file, and not that it goes into an
    existing line or to the end of something in the file."""
    beside = isinstance(place, Beside) or (isinstance(place, AtLine) and place.beside > 0)
    within = _END_OF.search(without_paths(said))
    rest = replace(said, bare=_PLACE_WORDS.sub(" ", _NUMBERED.sub(" ", said.bare.replace(text, " "))))
    most = 1 + beside if said.quoted else 0
    return (
        (beside or _NUMBERED.search(said.bare) is None)
        and _EACH.search(said.bare) is None
        and (within is None or within[1].lower() in filling())
        and words_left(rest, "adds", whole=True) <= most
        and len(said.quoted) <= 1 + isinstance(place, Beside)
    )


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


def take_set_value(said: Sentence) -> Route:
    """Takes a wish to set a name to a new value in one file."""
    if not says("sets", said.bare) or len(said.quoted) > 1 or _NUMBERED.search(said.bare):
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
        and (is_name(word) or word.lower() not in filling() or word == "name")
        and not saying("sets").fullmatch(word)
    ]
    if len(names) != 1 or (said.quoted and literals):  # the sentence leaves open which word is the name or the value
        return None
    if switch is not None and not is_name(names[0]) and said.files and is_code(said.files[0]):
        return None  # in code, "enable logging" sets no value
    if value is None:
        return Missing(VALUE) if len(said.files) == 1 and not said.paths and _SETTING.search(said.bare) else None
    if len(said.files) != 1:
        return Missing(FILE, names[0]) if not said.files and not said.paths else None
    return Edited(said.files[0], SetValue(names[0], value))


def take_create(said: Sentence) -> Route:
    """Takes a wish to create a file at a path, with its text if one is given."""
    if not says("creates", said.bare) or (says("shows", said.bare) and not said.quoted) or said.files:
        return None
    paths = [path for path in said.paths if path not in said.quoted and (names_file(path) or path.endswith("/"))]
    content = said.quoted[0] if len(said.quoted) == 1 else told[1] if (told := _WITH.search(said.text)) else None
    if len(paths) == 1 and not paths[0].endswith("/") and len(said.quoted) <= 1:
        if not names_new_file(paths[0]) or says("deletes", said.bare):
            return None
        most = (
            0 if re.search(r"\b(?:make|write|need|want)\b", said.bare, re.IGNORECASE) else 1
        )  # "make a.sh executable"
        if content is None and (words_left(said, "creates") > most or _HOLDS.search(said.bare)):
            return None
        folder = FOLDER.search(without_paths(said))
        into = f"{next(filter(None, folder.groups())).strip('/')}/" if folder and "/" not in paths[0] else ""
        text = f"{content}\n" if content else ""
        return Routed(Intent.CODE, "write_file", {"path": f"{into}{paths[0]}", "content": text})
    return (
        Missing(FILE)
        if content is not None and not paths and re.search(r"file|datei|fichier|archivo|ファイル", said.bare)
        else None
    )


def take_replace(said: Sentence) -> Route:
    """Takes a wish to replace one text by another in one file."""
    if not says("replaces", said.bare):
        return None
    if len(said.files) == 1 and len(said.quoted) == 2:
        old, new = said.quoted
        if _INSTEAD.search(said.bare):
            old, new = new, old
        rest = replace(said, bare=_INSTEAD.sub(" ", said.bare))
        clear = old != new and not _NUMBERED.search(said.bare) and not tells_of_part(rest)
        return replaced_everywhere(said.files[0], old, new) if clear and _left(rest, "replaces") <= 0 else None
    if (
        len(said.files) == 1
        and len(said.quoted) == 1
        and re.search(r"replace|ersetz|remplace|reempla|sustitu|sostitui|置", said.bare)
        and words_left(said, "replaces") <= 1
    ):
        return Missing(NEW_TEXT)
    return Missing(FILE, said.quoted[0]) if not said.files and not said.paths and len(said.quoted) == 2 else None


def take_rename(said: Sentence) -> Route:
    """Takes a wish to rename one name to another in one file."""
    if not _RENAMES.search(said.bare):
        return None
    names, joined = [*said.quoted], True
    if not names:
        bare = said.bare
        for path in (*said.files, *said.paths):
            bare = bare.replace(path, " ").replace(path.rpartition("/")[2], " ")
        names = [
            word for word in re.findall(IDENTIFIER, bare) if word.lower() not in filling() and not _VERB.fullmatch(word)
        ]
        joined = len(names) == 2 and not said.paths and _joins(bare, *names)
        joined = joined and (says_rename(said.bare) or may_be_name(names[1]))
    if len(names) == 2 and joined and len(said.files) == 1 and all(re.fullmatch(IDENTIFIER, name) for name in names):
        old, new = names
        return replaced_everywhere(said.files[0], old, new)
    if len(names) == 1 and not said.paths:
        return Missing(NEW_NAME)
    return Missing(FILE, names[0]) if len(names) == 2 and joined and not said.files and not said.paths else None


def _joins(text: str, old: str, new: str) -> bool:
    """Returns whether a text says that one name becomes the other, and nothing else in between."""
    between = re.search(rf"\b{re.escape(old)}\b(.*?)\b{re.escape(new)}\b", text, re.ASCII)
    if between is None or _DESCRIBED.search(between[1]):
        return False
    becomes = _BECOMES if _IN_ENGLISH.search(text) else _BECOMES_ABROAD
    return becomes.search(between[1]) is not None


_NUMBERED = re.compile(
    r"(?:line|zeile|ligne|l[ií]nea|riga)\s*(?:no\.?\s*|number\s*|nr\.?\s*)?(\d{1,6})|(\d{1,6})\s*行|(\d{1,6})\.\s*zeile|"
    r"(\d{1,6})(?:st|nd|rd|th) line|\.\w{1,8}:(\d{1,6})\b",
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
_BARE_IMPORT = re.compile(
    r"(?<!\w)(?:from [\w.]+ )?import "
    r"(?!(?:a|an|and|at|d[aeiu]|del|della|des|everything|for|from|in|it|lines?|of|statements?|that|the|this|to)\b)"
    r"[\w.]+(?: as \w+)?(?!\w)"
)
"""Matches an unquoted Python import; the lookahead excludes the English noun, as in "an import of os"."""
