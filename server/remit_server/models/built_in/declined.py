"""The answer to a sentence that no rule takes: what kind of wish it is, and what to do instead (MOD-23). Pure."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from enum import Enum, auto
from typing import assert_never

from remit_server.models.built_in.answers import CONNECT, SHOWN
from remit_server.models.built_in.language.phrases import find_phrases
from remit_server.models.built_in.language.sentences import Sentence, is_name, without_paths
from remit_server.models.built_in.language.texts import begins_with_article
from remit_server.models.built_in.language.words import IDENTIFIER, filling, saying, says
from remit_server.models.built_in.routes import Edited, Routed
from remit_server.models.built_in.routing import route

ANY = (
    "I stopped: I follow fixed patterns, and none fits this; ask me `what can you do`. A language model can do more. "
    f"Connect one: {SHOWN}"
)
WRITING = (
    "I stopped: I follow fixed patterns, and write no code or text of my own. A language model does. "
    f"Connect one: {SHOWN}"
)
QUESTION = (
    "I stopped: I follow fixed patterns, and none answers that question. A language model may answer it. "
    f"Connect one: {SHOWN}"
)
EDIT = (
    "I stopped: I follow fixed patterns, and do not know exactly what to change. I need exact text, as in: "
    "{example}. For other wordings, " + CONNECT
)
_CHANGES = ("adds", "replaces", "deletes", "moves", "sets", "creates", "edits", "fixes")
_KIND = "function|class|method|klasse|funktion|methode|classe|fonction|clase|funzione"
_CALLED = tuple(
    re.compile(told, re.IGNORECASE)
    for told in (rf"\b({IDENTIFIER})\(", rf"\b(?:{_KIND}) ({IDENTIFIER})\b", rf"\b({IDENTIFIER}) (?:{_KIND})\b")
)
"""Patterns that show that a word is a name in code."""
_DOES = re.compile(
    rf"(?:what does|was macht|was tut|que fait|qu[ée] hace|cosa fa) ({IDENTIFIER})(?: do)?\W*|"
    rf"what is ({IDENTIFIER}) for\W*",
    re.IGNORECASE,
)
"""Matches a question about what a word does; the word may be a name in code or anything else."""
_NO_NAMES = frozenset({"do", "does", "did", "has", "have", "had", "was", "were", "that", "which", "works", "used"})
"""Words beside "function" that are no function's name."""


_TELL = re.compile(r"\b(?:and|then) (?:tell|explain|describe|summari[sz]e)\b", re.IGNORECASE)
"""Words that ask for an explanation, which no look at files gives."""


class Beyond(Enum):
    """The kinds of wishes that no rule takes."""

    WRITING = auto()
    QUESTION = auto()
    EDIT = auto()
    OTHER = auto()


def beyond(said: Sentence) -> Beyond:
    """Returns the kind of wish of a sentence that no rule takes."""
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
    """Returns the one name in code that a question is about, or None if it names none or several."""
    bare = without_paths(said)
    found = {word for word in re.findall(IDENTIFIER, bare) if is_name(word)}
    found |= {name for told in _CALLED for name in told.findall(bare)}
    found |= {text for text in said.quoted if re.fullmatch(IDENTIFIER, text)}
    found = {name for name in found if name.lower() not in filling() | _NO_NAMES}
    return found.pop() if len(found) == 1 else None


def maybe_name(said: Sentence) -> str | None:
    """Returns the word X of a sentence such as "what does X do", or None; it is a name only if the code defines it."""
    found = _DOES.fullmatch(said.short)
    word = next(filter(None, found.groups())) if found else None
    return None if word is None or word.lower() in filling() | _NO_NAMES else word


def decline(said: Sentence) -> str:
    """Returns the sentence that ends a turn for which there is no rule."""
    kind = beyond(said)
    match kind:
        case Beyond.WRITING:
            return WRITING
        case Beyond.QUESTION:
            return QUESTION
        case Beyond.EDIT:
            file = said.files[0] if len(said.files) == 1 else "FILE"
            return EDIT.format(example=f"replace 'OLD' with 'NEW' in {file}")
        case Beyond.OTHER:
            return ANY
        case _:
            assert_never(kind)


_QUOTABLE = (
    "change_line", "replace", "insert_end", "insert_top", "insert_after", "insert_before", "insert_after_line",
    "insert_before_line", "append_to", "remove_text",
)  # fmt: skip
_TEXTS = ("old", "new", "text", "anchor", "literal")
"""The parts of a phrase that may be any text; without quotes it is not clear where they end or what they mean."""


def in_quotes(said: Sentence, files: AbstractSet[str]) -> str | None:
    """Returns the sentence with its texts in quotes if a rule takes it then, or else None."""
    if any(mark in said.text for mark in '"`“„«「'):
        return None
    for parts in (found for idea in _QUOTABLE for found in find_phrases(idea, said)):
        told = said.text
        plain = [parts[name] for name in _TEXTS if parts.get(name) and name not in parts.quoted]
        if any(map(begins_with_article, plain)):  # the text describes what is wanted
            continue
        for text in plain:
            told = re.sub(rf"(?<![\w./\"-]){re.escape(text)}(?![\w/\"-]|\.\w)", lambda found: f'"{found[0]}"', told)
        if told != said.text and isinstance(route(told, files), Edited | Routed):
            return told
    return None
