"""What the answer to a question of the built-in model completes: the sentence that lacked a part (MOD-23). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

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
from remit_server.models.built_in.routing import MOST_CHARS, route
from remit_server.models.built_in.turns import Turn

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
