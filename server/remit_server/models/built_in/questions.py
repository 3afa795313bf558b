"""The built-in model's questions whether a sentence is meant, and what the person's answer to a question completes
(MOD-23, MOD-29). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from remit_server.models.built_in.answers import Ending
from remit_server.models.built_in.language.sentences import trimmed
from remit_server.models.built_in.routes import (
    COMMAND,
    DOCSTRING,
    FILE,
    MESSAGE,
    NEW_NAME,
    NEW_TEXT,
    TEXT,
    VALUE,
    Missing,
)
from remit_server.models.built_in.routing import MOST_CHARS, may_be_wish, route
from remit_server.models.built_in.turns import Turn

_DID_YOU_MEAN = "Did you mean{only}: {plain}? Say `yes`, or say it in other words."
_MEANT = re.compile(r"Did you mean(?: only)?: (?P<mark>`+) ?(?P<plain>.+?) ?(?P=mark)\? Say `yes`")
_YES = re.compile(
    r"\W*(?:yes|yep|yeah|yup|y|sure|ok|okay|exactly|right|correct|do it|go ahead|please do|ja|genau|jawohl|mach das|"
    r"oui|d'accord|sí|si|claro|sì|certo|sim|はい)"
    r"(?:[,!. ]+(?:please|bitte|stp|svp|por favor|per favore|do it|do that|mach das))?\W*",
    re.IGNORECASE,
)


def as_code(text: str) -> str:
    """Returns a text as code of Markdown, in two marks if it has one itself."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def did_you_mean(plain: str, *, in_part: bool = False) -> str:
    """Returns the question whether a plain sentence is meant, and nothing but it if that is `in_part` what was said."""
    return _DID_YOU_MEAN.format(plain=as_code(plain), only=" only" if in_part else "")


def suggest(plain: str, *, in_part: bool = False) -> Ending:
    """Returns the ending that asks whether a plain sentence is meant, and names it."""
    return Ending(did_you_mean(plain, in_part=in_part), asks=True, suggestion=plain)


_WAYS: Mapping[str, Sequence[str]] = {
    FILE: ("{wish} in {said}", "{wish} {said}"),
    NEW_NAME: ("{wish} to {said}", "{wish} {said}"),
    NEW_TEXT: ('{wish} with "{text}"', "{wish} {said}"),
    TEXT: ('{wish} "{text}"', "{wish} {said}"),
    VALUE: ("{wish} to {said}", "{wish} {said}"),
    DOCSTRING: ('{wish}: "{text}"',),
    MESSAGE: ('{wish} with the message "{text}"', "{wish} {said}"),
    COMMAND: ("{wish} `{text}`",),
}
"""For each question the ways to put its answer into the sentence. `text` is the answer without quotes."""


def whole_wish(turn: Turn, files: AbstractSet[str]) -> str:
    """Returns the person's last sentence; or, if it answers a question, the sentence that the question was about with
    the answer in it. A sentence that a rule takes is a new wish and answers nothing."""
    wish, asked = "", ""
    for said, answer in (*((each.said, each.answer) for each in turn.earlier), (turn.text, "")):
        wish = (_completed(wish, asked, said, files) if asked and "\n" not in said else None) or said
        asked = answer
    return wish


def _completed(wish: str, asked: str, said: str, files: AbstractSet[str]) -> str | None:
    if (meant := _MEANT.match(asked)) is not None and _YES.fullmatch(said):
        return meant["plain"]
    if not (may_be_wish(wish) and may_be_wish(said)):  # a pasted text may have any length
        return None
    lacks = route(wish, files)
    is_new = not isinstance(route(said, files), Missing | None)
    if not isinstance(lacks, Missing) or is_new or lacks.question.partition("?")[0] not in asked:
        return None
    text = trimmed(said).strip("\"'`“”„«»") if lacks.question != DOCSTRING else said.strip().strip("\"'`“”„«»")
    for way in _WAYS.get(lacks.question, ()):
        told = way.format(wish=wish.rstrip(" .!?"), said=trimmed(said), text=text)
        found = route(told, files) if len(told) <= MOST_CHARS and text else None
        if found is not None and not (isinstance(found, Missing) and found.question == lacks.question):
            return told
    return None
