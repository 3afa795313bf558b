"""What a rule can return for a sentence: a call, an edit of a line, help, or one exact question (MOD-23). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.models.built_in.edits.line_edits import LineEdit
from remit_server.models.built_in.language.words import IDENTIFIER


@dataclass(frozen=True, slots=True)
class Routed:
    """The one call that a sentence asks for."""

    intent: Intent
    tool: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


def replaced_everywhere(path: str, old: str, new: str, *, within_words: bool = False) -> Routed:
    """Returns the call that replaces a text everywhere in a file. A name is replaced only where it is a whole word,
    unless `within_words`."""
    words = not within_words and all(re.fullmatch(IDENTIFIER, text) for text in (old, new))
    whole: dict[str, JsonValue] = {"whole_word": True} if words else {}
    given: dict[str, JsonValue] = {"path": path, "old_text": old, "new_text": new, "replace_all": True}
    return Routed(Intent.CODE, "edit_file", given | whole)


@dataclass(frozen=True, slots=True)
class Missing:
    """The question for a part that a sentence leaves out. If the file is left out, it is the only file that contains
    `sought`. If the wish is only `guessed` and no file contains it, no rule takes the sentence."""

    question: str
    sought: str = ""
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Help:
    """The person asks what the model can do, where it runs, which one it is, or how to undo a turn; or says thanks."""

    about: Literal["what", "where", "model", "undo", "thanks"] = "what"


@dataclass(frozen=True, slots=True)
class Edited:
    """An edit of a line in one file, which is read first. If the wish is only `guessed` and the file has no place for
    the edit, no rule takes the sentence."""

    path: str
    edit: LineEdit
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Define:
    """The definition of a name, which is searched for first, in one file if `path` is given."""

    name: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class ValueOf:
    """The value of a setting, which is searched for by all its words first, then by the last one; in one file if `path`
    is given."""

    words: tuple[str, ...]
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Tail:
    """The last `count` lines of a file; or, if `count` is 0, how many lines the file has."""

    path: str
    count: int


Route = Routed | Edited | Define | ValueOf | Tail | Missing | Help | None
FILE = "Which file? Name it in the sentence, as in: show notes.txt"
NEW_NAME = "What is the new name? As in: rename total to subtotal in cart.py"
NEW_TEXT = 'With which text? As in: replace "old" with "new" in README.md'
TEXT = 'Which text shall I search for? As in: search for "total"'
LINE = 'Which line? As in: remove line 3 from notes.txt, or: remove the line "milk" from notes.txt'
PLACE = 'Where? As in: add the line "{text}" at the end of {file}, or: after line 3 of {file}'
VALUE = "Which value? As in: set RATE to 0.3 in tax.py"
DOCSTRING = 'What shall the docstring say? As in: add the docstring "Adds two numbers." to add in sums.py'
MESSAGE = 'With which message? As in: commit everything with the message "Name the totals"'
OWN_GIT = "Commands that I run cannot write `.git`. In your own terminal: {command}"
BRANCH = "Commands that I run cannot write `.git`, so I make no branches. In your own terminal: git switch -c {name}"
NO_FOLDER = "I delete single files, and no folders. To delete it with all that it holds, say: run `{command}`"
COMMAND = "Which command? As in: run `make test`"

_LOOKS = frozenset({"read_file", "search_files", "list_files", "get_symbols", "git_status", "git_diff"})


def runs_tests(found: Route) -> bool:
    """Returns whether a sentence asks for a run of the tests."""
    return isinstance(found, Routed) and found.tool == "run_tests"


def is_look(found: Route) -> bool:
    """Returns whether a sentence asks to see something, so that doing it changes nothing."""
    match found:
        case Define() | ValueOf() | Tail():
            return True
        case Routed(tool="run_command", arguments=arguments):
            return str(arguments.get("command")).startswith(("git log ", "git show "))
        case Routed(tool=tool):
            return tool in _LOOKS
        case _:
            return False
