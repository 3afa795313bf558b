"""Chooses the sentence that ends the embedded model's turn, by its last call and the result.

Without it, a model this small sometimes claims to have done what was refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from remit_server.contract import ErrorCode
from remit_server.models.embedded.patterns import DEFINED, IMPORT
from remit_server.models.embedded.turns import Turn

RENAMED = "Renamed every occurrence."
REPLACED = "Replaced the line."
DELETED = "Deleted the line."
INSERTED = "Inserted the line."
IMPORTED = "Added the import."
CHANGED = "Changed the value."
DOCUMENTED = "Added the docstring."
UNCHANGED = "I stopped: nothing was changed."
UNKNOWN = "I stopped: it is not known whether the file was changed. Look at it in the editor."
NOT_FOUND = "I stopped: no definition was found."
NOT_RUN = "I stopped: the command was not run."
TIMED_OUT = "The command was stopped at its time limit."
DECLINED = (
    "I stopped: I only do small edits, searches and commands that one sentence names. "
    "For more connect a model of your own, as in: remit ask --model ollama:NAME."
)
AMBIGUOUS = "I stopped: more than one file is named, and I rename in one."

_MATCHES = re.compile(r"(\d+)(?: or more)? matches for ")
_LOOKED_UP = DEFINED.split("NAME")[0]
_EXIT = re.compile(r"exit code (\d+)")


@dataclass(frozen=True, slots=True)
class Ending:
    """The last sentence of a turn, and whether the request was `done`."""

    text: str
    done: bool = False


def describe_exit(code: int) -> str:
    """Returns the sentence about a command's exit code."""
    return f"The command ended with exit code {code}."


def describe_definition(path: str, line: int, places: int = 1) -> str:
    """Returns the sentence about where a name is defined: the first of several places."""
    return (
        f"It is defined in {path}, line {line}."
        if places == 1
        else (f"It is defined in {places} places, first in {path}, line {line}.")
    )


def ending(turn: Turn) -> Ending:
    """Returns the ending of a turn in which no further call is made; before the first call it has no text."""
    if turn.call is None:
        return Ending(DECLINED)
    if turn.call.name == "run_command":
        return _text_after_command(turn.result)
    if turn.result.startswith(f"error {ErrorCode.OUTCOME_UNKNOWN}:"):
        return Ending(UNKNOWN)
    if turn.searched.startswith(_LOOKED_UP):
        return _text_after_look_up(turn)
    arguments = turn.call.arguments
    edited = turn.call.name == "edit_file" and turn.result.startswith(f"edited {arguments.get('path')}: ")
    return Ending(_text_after_edit(turn, arguments), done=True) if edited else Ending(UNCHANGED)


def _text_after_edit(turn: Turn, arguments: Mapping[str, JsonValue]) -> str:
    old, new = str(arguments.get("old_text")), str(arguments.get("new_text"))
    if "replace_all" in arguments:
        return RENAMED
    if turn.searched:
        return IMPORTED if turn.searched == IMPORT else CHANGED if "whole_word" in arguments else DOCUMENTED
    return DELETED if not new else INSERTED if old.endswith("\n") else REPLACED


def _text_after_look_up(turn: Turn) -> Ending:
    places = _MATCHES.match(turn.result)
    if turn.shown is None or places is None:
        # An empty result answers the question, if the search could be made.
        return Ending(NOT_FOUND, done=not turn.refused)
    return Ending(describe_definition(turn.result.split("\n")[1], turn.shown[0], int(places[1])), done=True)


def _text_after_command(result: str) -> Ending:
    if ended := _EXIT.match(result):
        return Ending(describe_exit(int(ended[1])), done=True)
    return Ending(TIMED_OUT, done=True) if result.startswith("stopped ") else Ending(NOT_RUN)
