"""The rules of the built-in model in their order: what a sentence asks for, in six languages (MOD-23). Pure.

A rule takes a sentence only where all of it is clear: which file, which text. What no rule takes is declined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from remit_server.models.built_in import changing, looking
from remit_server.models.built_in.phrased import take_phrase
from remit_server.models.built_in.routes import Missing, Route
from remit_server.models.built_in.sentences import Sentence, read_sentence

_CONDITION = re.compile(r"(?:if|unless|when|in case|wenn|falls|si|se|quando|cuando|もし)\b", re.IGNORECASE)
"""What begins so is done only where something holds, which no rule looks at."""
_NEGATED = re.compile(
    r"\b(?:do(?:es)?(?: not|n['’]?t)|is(?: not|n['’]t)|not|except|unless|nicht|kein\w*|außer|pas|sauf|excepto|salvo|"
    r"tranne|eccetto|non)\b|ない|以外",
    re.IGNORECASE,
)
"""What is not meant: a rule that looks for words would take it for what is."""
_SECTION = re.compile(r"\b(?:section|paragraph|chapter|abschnitt|absatz|kapitel|secci[oó]n|sezione)\b", re.IGNORECASE)
"""A part of a file that no rule finds."""
_SECOND_WISH = re.compile(
    r"\b(?:and then|and after that|and afterwards|und dann|und danach|et (?:puis|ensuite)|y (?:luego|despu[ée]s)|"
    r"e (?:poi|dopo))\b",
    re.IGNORECASE,
)
"""What comes after it would be left undone."""
MOST_CHARS = 600
"""A longer sentence is no simple one."""


def route(text: str, files: AbstractSet[str]) -> Route:
    """Returns what a sentence asks for; None where no rule takes it."""
    if not text.strip() or len(text) > MOST_CHARS or "\n" in text.strip():
        return None
    if _CONDITION.match(text.strip()) or _SECTION.search(text):
        return None
    said = read_sentence(text.strip(), files)
    if _SECOND_WISH.search(said.bare):
        return None
    return _ask_which(said, text, files) if said.alike else take_phrase(said) or _take_words(said)


def _take_words(said: Sentence) -> Route:
    found = (rule(said) for rule in _RULES)
    return None if _NEGATED.search(said.bare) else next((each for each in found if each is not None), None)


def _ask_which(said: Sentence, text: str, files: AbstractSet[str]) -> Route:
    """Asks which of several files of one name is meant, where the sentence is clear but for that."""
    name = said.alike[0].rpartition("/")[2]
    named = re.sub(rf"(?<![\w./-]){re.escape(name)}", said.alike[0], text, count=1)
    return None if route(named, files) is None else Missing(f"Which file: {' or '.join(said.alike[:4])}?")


_RULES: Sequence[Callable[[Sentence], Route]] = (
    looking.take_help, looking.take_git, looking.take_shell, looking.take_run, changing.take_move,
    changing.take_rename, changing.take_replace, changing.take_remove, changing.take_delete, changing.take_insert,
    changing.take_set_value, changing.take_create, looking.take_search, looking.take_list, looking.take_show,
)  # fmt: skip
"""In this order; the first that takes a sentence has it."""
