"""Takes a sentence that says only which setting gets which value: "timeout in mailer.py 30", "theme -> dark" (MOD-23).
Pure.

Here no phrase has to fit. Instead each word of the sentence has to be a filling word, the file, the name or the value,
and the edit is made only if the file sets that one name, so a sentence about anything else changes nothing.
"""

from __future__ import annotations

import re

from remit_server.models.built_in.edits.line_edits import SetValue
from remit_server.models.built_in.language.sentences import Sentence, without_courtesy, without_paths
from remit_server.models.built_in.language.texts import is_code, is_property
from remit_server.models.built_in.language.words import IDENTIFIER
from remit_server.models.built_in.routes import FILE, Edited, Missing, Route

SAYS_NOTHING = frozenset(
    {
        "a", "an", "and", "at", "be", "change", "constant", "for", "has", "have", "in", "is", "it", "its", "key",
        "make", "must", "my", "need", "needs", "now", "of", "option", "our", "put", "set", "setting", "should", "that",
        "the", "this", "to", "turn", "up", "update", "use", "value", "variable", "want", "we", "with",
        "auf", "aus", "das", "dem", "den", "der", "die", "im", "mach", "setz", "setze", "soll", "sein", "stell",
        "stelle", "von", "wert", "zu", "ändere",
        "au", "aux", "dans", "de", "du", "le", "la", "les", "mets", "passe", "sur", "à",
        "al", "cambia", "del", "el", "en", "pon", "su",
        "da", "di", "il", "imposta", "metti", "nel", "nella", "per",
        "do", "mude", "muda", "na", "no", "o", "para", "pra", "põe",
    }
)  # fmt: skip
"""Words that say nothing about the name or the value. None of them is the value of a setting."""
_GIVES = re.compile(
    r"\b(?:to|should be|shall be|must be|has to be|is now|make|auf|zu|à|a|en|su|para|pra)\b|=|->|=>|→|:", re.IGNORECASE
)
"""Words and signs that lead to a new value, so that any word may be one. "Is" may only tell what there is."""
_BUT_OLD = re.compile(
    r",? \b(?:(?:and )?not|instead of|rather than|statt|(?:e|et) non|en (?:lugar|vez) de|invece di|from) \S+(?: in)?$",
    re.IGNORECASE,
)
"""The old value at the end of a sentence, which says nothing new."""
_FROM_OLD = re.compile(r"\b(?:from|von|de|da) \S+ (?=(?:to|auf|[àa]|su|para) \S+$)", re.IGNORECASE)
_UNIT = re.compile(
    r"(\d) (?:m?s|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?|weeks?|knots|[kmg]b|bytes|px|pixels?|percent|euros?|"
    r"dollars?|sekunden?|minuten?|stunden?|tagen?|secondes?|heures?|jours?|segundos?|minutos?|horas?|d[ií]as?|secondi|minuti)$",
    re.IGNORECASE,
)
"""A number and its unit at the end of a sentence; a setting holds the number alone."""
_ASKS_NOTHING = re.compile(
    r"\b(?:not|never|dont|isnt|nicht|nie|kein\w*|pas|jamais|nunca|jam[áa]s|non|mai|não|if|when|unless|wenn|falls|si|se|"
    r"cuando|quando|was|were|had|or|oder|ou|is(?!.*\bnow\b)|are|ist|sind|est|sont|es|è|é)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words of negation, condition, choice, the past and what is: such a sentence asks for nothing to be set now."""
_MEANT = {
    "shoud": "should", "shold": "should", "sould": "should", "chnage": "change", "chage": "change", "udpate": "update",
    "versão": "version", "versión": "version", "versione": "version", "puerto": "port", "nombre": "name",
    "nome": "name", "nom": "name",
}  # fmt: skip
"""What mistyped words are meant to be, and what names of settings in other languages are called in files."""
_LITERAL = re.compile(r"-?\d[\w.]*|true|false|null|none|yes|no|on|off", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z][\w-]*(?:\.[\w-]+)*")
_CONFIG = re.compile(r"\.(?:json|ya?ml|toml|ini|cfg|conf|properties)$|(?:^|/)\.env\b|\.env$|requirements[\w.-]*\.txt$")
"""Matches a file that sets names to values and holds no code."""
_ACTS = re.compile(
    r"add|append|ask|check|commit|compare|count|create|delete|drop|explain|find|fix|grep|help|insert|let|list|move|open|"
    r"lines?|zeilen?|lignes?|l[ií]neas?|righe?|riga|print|read|remove|rename|replace|run|search|show|start|stop|tell|test|tests|wait|write|something|anything|same|stuff",
    re.IGNORECASE,
)
"""Verbs of other wishes and words for what is not told, which begin no name of a setting."""
_STATE = re.compile(
    r"\w+(?:ed|able|ible|ier)|(?:nic|dark|light|long|short|high|low|bigg|small|fast|slow|clean|strict|loud|bright)er|"
    r"gone|there|away|out|back|again|better|different|right|wrong|broken|bad|good|fine|ok|okay|correct|set|used|new|old|"
    r"left|here|json|yaml|toml|config|file|dataclass|it|that|this",
    re.IGNORECASE,
)
"""Words that say what becomes of a setting or a file ("debug should be removed"), and so are no values."""
MOST_WORDS = 3
"""The most words of a name: `max retry count` for `MAX_RETRY_COUNT`."""


def take_terse(said: Sentence) -> Route:
    """Takes a sentence whose words are only filling words, at most one file, a name and a plain value."""
    told = " ".join(_MEANT.get(word.lower(), word) for word in without_courtesy(_without_file(said)).split())
    told = _UNIT.sub(r"\1", _FROM_OLD.sub("", _BUT_OLD.sub(" ", told)))
    if not _sets_one(said) or _ASKS_NOTHING.search(told):
        return None
    words = [word.strip(",;:!()") for word in re.sub(r"(?<=\w)=(?=\S)|->|=>|→|: ", " = ", told).split()]
    left = [word for word in words if word not in {"", "=", "&", "."} and word.lower() not in SAYS_NOTHING]
    if not 2 <= len(left) <= MOST_WORDS + 1:
        return None
    *name, value = left
    if not all(map(_NAME.fullmatch, name)) or _ACTS.fullmatch(name[0]) or not _may_be_value(said, value, told):
        return None
    switched = {"on": "true", "off": "false"}.get(value.lower(), value)
    if said.files:
        return Edited(said.files[0], SetValue(" ".join(name), switched), guessed=True)
    return Missing(FILE, " ".join(name), guessed=True) if _GIVES.search(told) else None


def _sets_one(said: Sentence) -> bool:
    """Returns whether a sentence is no question and names at most one file, which can set a name."""
    asks = said.text.rstrip().endswith(("?", "？"))
    others = said.paths or said.quoted or said.alike or len(said.files) > 1
    return not (asks or others) and all(is_code(file) or _CONFIG.search(file) for file in said.files)


def _without_file(said: Sentence) -> str:
    """Returns the sentence without its file. The file's name is left out before the value is looked for, because
    "settings" is no value."""
    return without_paths(said) if said.files else said.bare


def _may_be_value(said: Sentence, value: str, told: str) -> bool:
    """Returns whether a word may be a value: a literal always, a plain word in a file of settings unless it says how
    something is, and any other text only after a word or sign that leads to a value."""
    if _LITERAL.fullmatch(value):
        return True
    plain, leads = re.fullmatch(IDENTIFIER, value) is not None, _GIVES.search(told) is not None
    if plain and (is_property(value) or _STATE.fullmatch(value)):
        return False
    config = bool(said.files) and _CONFIG.search(said.files[0]) is not None
    return config if plain and not value.isupper() else leads or (plain and config)
