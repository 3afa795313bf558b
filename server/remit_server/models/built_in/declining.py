"""What is said where no rule takes a sentence: what kind of wish it is, and the way on (MOD-23). Pure."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import assert_never

from remit_server.models.built_in.sentences import Sentence, is_name, without_paths
from remit_server.models.built_in.words import IDENTIFIER, filling, saying, says

_SHOWN = "`remit model` shows those that you can use."
CONNECT = f"connect a model: {_SHOWN}"
ANY = (
    "I stopped: I follow fixed rules, and none fits this; ask me `what can you do`. A language model can do more. "
    f"Connect one: {_SHOWN}"
)
WRITING = (
    "I stopped: I follow fixed rules, and write no code or text of my own. A language model does. "
    f"Connect one: {_SHOWN}"
)
QUESTION = (
    "I stopped: I follow fixed rules, and none answers that question. A language model may answer it. "
    f"Connect one: {_SHOWN}"
)
EDIT = (
    "I stopped: I follow fixed rules, and do not know exactly what to change. I need exact text, as in: "
    "replace 'OLD' with 'NEW' in {file}. For other wordings, " + CONNECT
)
_CHANGES = ("adds", "replaces", "deletes", "moves", "sets", "creates", "edits", "fixes")
_KIND = "function|class|method|klasse|funktion|methode|classe|fonction|clase|funzione"
_CALLED = tuple(
    re.compile(told, re.IGNORECASE)
    for told in (rf"\b({IDENTIFIER})\(", rf"\b(?:{_KIND}) ({IDENTIFIER})\b", rf"\b({IDENTIFIER}) (?:{_KIND})\b")
)
"""How a word is told to be a name."""
_NO_NAMES = frozenset({"do", "does", "did", "has", "have", "had", "was", "were", "that", "which", "works", "used"})
"""Words beside "function" that are no function's name."""


_TELL = re.compile(r"\b(?:and|then) (?:tell|explain|describe|summari[sz]e)\b", re.IGNORECASE)
"""What asks for words of its own behind a look."""


class Beyond(Enum):
    """What a sentence wishes for that no rule does."""

    WRITING = auto()
    QUESTION = auto()
    EDIT = auto()
    OTHER = auto()


def beyond(said: Sentence) -> Beyond:
    """Returns what kind of wish a sentence is that no rule takes."""
    short = said.short
    if says("asking", short):
        return Beyond.QUESTION
    if says("writing", short):
        return Beyond.WRITING
    asks = re.search(r"[?？]\W*$", said.text) is not None
    if _TELL.search(short) or (asks and not any(saying(idea).match(short) for idea in _CHANGES)):
        return Beyond.QUESTION
    return Beyond.EDIT if any(says(idea, said.bare) for idea in _CHANGES) else Beyond.OTHER


def subject_of(said: Sentence) -> str | None:
    """Returns the one name of code that a question is about; None where it names none, or several."""
    bare = without_paths(said)
    found = {word for word in re.findall(IDENTIFIER, bare) if is_name(word)}
    found |= {name for told in _CALLED for name in told.findall(bare)}
    found |= {text for text in said.quoted if re.fullmatch(IDENTIFIER, text)}
    found = {name for name in found if name.lower() not in filling() | _NO_NAMES}
    return found.pop() if len(found) == 1 else None


def decline(said: Sentence) -> str:
    """Returns the sentence that ends a turn for which there is no rule."""
    kind = beyond(said)
    match kind:
        case Beyond.WRITING:
            return WRITING
        case Beyond.QUESTION:
            return QUESTION
        case Beyond.EDIT:
            return EDIT.format(file=said.files[0] if len(said.files) == 1 else "FILE")
        case Beyond.OTHER:
            return ANY
        case _:
            assert_never(kind)
