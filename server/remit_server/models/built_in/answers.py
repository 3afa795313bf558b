"""The answer after a rule's call: the tool's result as a sentence (MOD-23). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import assert_never

from remit_governance.values import Intent
from remit_server.contract import ErrorCode
from remit_server.errors import told_to_person
from remit_server.models.built_in.edits.line_edits import (
    AddSetting,
    AmongImports,
    Comment,
    Commented,
    Document,
    Insert,
    LineEdit,
    ListEntry,
    Pin,
    Remove,
    RemoveEntry,
    Rewrite,
    SetValue,
    Title,
)
from remit_server.models.built_in.routes import Routed
from remit_server.models.built_in.rules.looking import BY_KEYWORD, DEFINED

SHOWN = "`remit model` shows those that you can use."
CONNECT = f"connect a model: {SHOWN}"
ONLY_WITHIN = "it occurs only inside longer words"
REPLACED = "Replaced every occurrence."
RENAMED = "Renamed every occurrence."
DELETED = "Deleted the line."
DELETED_FILE = "Deleted {path}."
DELETED_LINES = "Deleted the lines."
ADDED = "Added it."
TAKEN_OUT = "Took it out."
TITLED = "Changed the title."
INSERTED = "Inserted the line."
REWRITTEN = "Replaced the line."
IMPORTED = "Added the import."
CHANGED = "Changed the value."
COMMENTED = "Changed the line."
UNCHANGED = "I stopped: nothing was changed."
ASKED_FOR = "For `{wish}`: {question}"
NOT_GONE_ON = "I did not go on to `{wish}`."
SOME = "Changed in part: you left out some of the changes."
PROPOSED = "Proposed. Your review decides what is written."
UNKNOWN = "I stopped: I do not know whether the file was changed. Look at it in the editor."
NOT_FOUND = "I stopped: no definition was found."
NO_DEFINITION = "I stopped: I found no definition of `{name}`."
WHAT = (
    "I am Remit's built-in model: fixed patterns, not a language model. I list, show and search files, run a command "
    "or the tests, show what git says, and make small edits that one sentence names: rename, replace, add or remove a "
    "line, a comment or a docstring, change or add a value, create, move or delete a file. For anything else "
    f"{CONNECT}"
)
WHERE = (
    "I am Remit's built-in model: fixed patterns, not a language model. I run on this machine, and send nothing "
    "anywhere. Another model may run elsewhere: `/status` says where your messages go."
)
LIST = "Ask me to `list the files`"
OUTSIDE_WORKFLOW = (
    "I cannot follow the workflow: a language model can, and writes the test that strict mode asks for first. Connect "
    "one (`remit model`), or choose explore mode: `/explore` in a chat, `--mode explore` for one request"
)
UNDO = "`/undo` in a chat, or `remit session undo` in a terminal, takes back what the last turn changed."
MODEL = (
    "I am Remit's built-in model: fixed patterns, not a language model. To connect one: `/model` in a chat, `remit "
    "model` in a terminal, *Remit: Connect a Model* in VS Code. They find those of this machine and say where messages "
    "go."
)
THANKS = "You are welcome."
HELP = {"what": WHAT, "where": WHERE, "model": MODEL, "undo": UNDO, "thanks": THANKS}
MOST_SHOWN = 6_000
LEFT_OUT = "(The rest is left out: {characters} characters.)"
LINES_LEFT_OUT = "(These are lines {first} to {last} of {all}.)"
_LINE = re.compile(r"(\d+)[|:](.*)")
_TOTAL = re.compile(r"\(lines \d+-\d+ of (\d+)")
_LINES = re.compile(r"\(lines (\d+)-(\d+) of (\d+); more with offset ")
_IN_PART = re.compile(r"written in part: the person accepted (\d+) of (\d+) changes")
_PROSE = re.compile(r"\.(?:md|rst|txt|adoc|html?)$|(?:^|/)[A-Z_-]+$")
"""Files that mention names but do not define them."""
_CLOSING = re.compile(r"\s*(?:[)\]}]|else\b|elif\b|except\b|finally\b|end\b)")
"""Matches a line that belongs to the block above it although it is not indented deeper than the first line."""
_COLLECTED = "collected for the person's review"
_BY_WORKFLOW = re.compile(r"\bby workflow\.")
_BACKTICKS = re.compile("`+")
_MARKUP = re.compile(r"__|[*`<\[]|(?:^|/)_")
"""What Markdown would take out of a file's name."""
_ANNOUNCES = re.compile(r"[;,] [^;,]*:$")
"""The announcement of lines that only a model reads."""
_EXIT = re.compile(r"exit code (-?\d+)")


@dataclass(frozen=True, slots=True)
class Ending:
    """The last sentence of a turn, and whether the request was `done`, or `asks` for what it lacks. `suggestion` is the
    plain sentence that a yes stands for."""

    text: str
    done: bool = False
    asks: bool = False
    suggestion: str | None = None

    @classmethod
    def asking(cls, text: str) -> Ending:
        """Returns the question for what a request lacks, or what it says in place of one."""
        return cls(text, asks="?" in text)


def answer(route: Routed, result: str) -> Ending:
    """Returns the sentence that ends the turn."""
    if result.startswith(f"error {ErrorCode.OUTCOME_UNKNOWN}:"):
        return Ending(UNKNOWN)
    if result.startswith("error "):
        why = told_to_person(result.partition(": ")[2].partition("\n")[0], route.arguments).removeprefix("not done: ")
        if result.startswith(f"error {ErrorCode.DRY_RUN}:"):
            return Ending(f"{why[:1].upper()}{why[1:]}.", done=True)
        why = _ANNOUNCES.sub("", why)
        names_file = "path" in route.arguments
        why += f". {LIST}" if names_file and result.startswith(f"error {ErrorCode.NOT_FOUND}:") else ""
        why += f". {OUTSIDE_WORKFLOW}" if _BY_WORKFLOW.search(why) else ""
        return Ending(
            f"{UNCHANGED} {why[:1].upper()}{why[1:]}." if route.intent is Intent.CODE else f"I stopped: {why}."
        )
    text = _reviewed(result) if route.intent is Intent.CODE else None
    return Ending(text or _ANSWERS.get(route.tool, _as_told)(route, result), done=True)


def has_failed(result: str) -> bool:
    """Returns whether a command or the tests ended with an exit code other than 0."""
    code = _EXIT.search(result.partition("\n")[0])
    return code is not None and code[1] != "0"


def bounded(text: str) -> str:
    """Returns a text cut at a line or a comma to at most `MOST_SHOWN` characters, with a note of what is left out."""
    shown, note = _cut(text)
    return f"{shown}{note}"


def verbatim(text: str, path: str = "") -> str:
    """Returns a text as a block of code, which every client of Markdown shows line by line; it is cut as `bounded` cuts
    it. The ending of `path` says which language it is in."""
    shown, note = _cut(text)
    longest = max((len(run[0]) for run in _BACKTICKS.finditer(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{_language(path)}\n{shown}\n{fence}{note}"


def _language(path: str) -> str:
    ending = PurePosixPath(path).suffix[1:]
    return ending if ending.isalnum() and ending.isascii() else ""


def _cut(text: str) -> tuple[str, str]:
    """Returns the first part of a text, and a note of what is left out; the note is empty if nothing is."""
    if len(text) <= MOST_SHOWN:
        return text, ""
    shown = text[:MOST_SHOWN]
    end = max(shown.rfind("\n"), shown.rfind(", ") + 1) or MOST_SHOWN
    return shown[:end], f"\n\n{LEFT_OUT.format(characters=f'{len(text) - end:,}')}"


def answer_edit(edit: LineEdit, result: str) -> Ending:
    """Returns the sentence that ends a turn in which a line was edited."""
    refused = answer(Routed(Intent.CODE, "edit_file", {"path": ""}), result)
    if not refused.done:
        return refused
    return Ending(_reviewed(result) or _said_of(edit), done=True)


def taken_in_part(result: str) -> bool:
    """Returns whether the person took only a part of a change."""
    return _IN_PART.match(result) is not None


def _reviewed(result: str) -> str | None:
    """Returns the answer for a change that the person took in part or reviews later, or None for any other."""
    if part := _IN_PART.match(result):
        return f"Changed in part: you took {part[1]} of {part[2]} changes."
    return PROPOSED if _COLLECTED in result.rpartition("\n")[2] else None


def _said_of(edit: LineEdit) -> str:
    match edit:
        case Insert(place=AmongImports()):
            said = IMPORTED
        case Insert():
            said = INSERTED
        case AddSetting() | Comment() | Document() | ListEntry(added=True):
            said = ADDED
        case Remove(last=last):
            said = DELETED if last is None else DELETED_LINES
        case RemoveEntry():
            said = DELETED
        case ListEntry():
            said = TAKEN_OUT
        case Rewrite():
            said = REWRITTEN
        case Title():
            said = TITLED
        case Commented():
            said = COMMENTED
        case SetValue() | Pin():
            said = CHANGED
        case _:
            assert_never(edit)
    return said


def _listed(route: Routed, result: str) -> str:
    del route
    head, _, rest = result.partition("\n")
    names = rest.split("\n") if rest else []
    marked = [f"`{name}`" for name in names] if any(map(_MARKUP.search, names)) else names
    return bounded(", ".join(marked)) if names else head


def shown_lines(result: str) -> list[str]:
    """Returns the lines that a read has shown."""
    return [match[2] for line in result.split("\n")[1:] if (match := _LINE.fullmatch(line))]


def _shown(route: Routed, result: str) -> str:
    head, lines = result.partition("\n")[0], shown_lines(result)
    part = _LINES.search(head)
    told = f"\n\n{LINES_LEFT_OUT.format(first=part[1], last=part[2], all=part[3])}" if part else ""
    path = str(route.arguments["path"])
    return verbatim("\n".join(lines), path) + told if lines else f"{path} is empty."


def total_lines(result: str) -> int:
    """Returns how many lines the file has that a read has shown."""
    found = _TOTAL.search(result.partition("\n")[0])
    return int(found[1]) if found else 0


@dataclass(frozen=True, slots=True)
class Place:
    """A line that a search found."""

    path: str
    line: int
    text: str


def _places(result: str) -> list[Place]:
    path, found = "", list[Place]()
    for line in result.split("\n")[1:]:
        match = _LINE.fullmatch(line)
        if match is None:
            path = line or path
        else:
            found.append(Place(path, int(match[1]), match[2].strip()))
    return found


def definitions(result: str) -> list[Place]:
    """Returns the definitions that a search found: those by a keyword, or else those by assignment; none in prose."""
    found = [place for place in _places(result) if not _PROSE.search(place.path)]
    return [place for place in found if BY_KEYWORD.match(place.text)] or found


_SETTINGS = re.compile(r"\.(?:json|ya?ml|toml|ini|cfg|conf|env|properties)$|(?:^|/)\.env[\w.]*$")
_NO_SETTING = re.compile(r"^\s*(?:#|//|\*)|==|!=")
_CONSTANT = re.compile(r"(?:export |const |static |final |public )*[A-Z][A-Z0-9_]*\b(?:\s*:[^=]*)?\s*=")


def settings_found(result: str, *, anywhere: bool) -> list[Place]:
    """Returns the settings that a search found: in files of settings, and constants in code; every line if the person
    named the file."""
    return [
        each
        for each in _places(result)
        if not _NO_SETTING.search(each.text)
        and (anywhere or _SETTINGS.search(each.path) or (_CONSTANT.match(each.text) and not _PROSE.search(each.path)))
    ]


def _found(route: Routed, result: str) -> str:
    if str(route.arguments["pattern"]).startswith(DEFINED.split("NAME")[0]):
        return _definition(definitions(result), result)
    lines = [f"{each.path}:{each.line}: {each.text}" for each in _places(result)]
    if lines:
        return verbatim("\n".join(lines))
    where = route.arguments.get("path", "the files that I may read")
    sought = _sought(str(route.arguments["pattern"]))
    left_out = _FOR_MODEL.sub("", result.split("\n", 1)[0].partition("; ")[2])
    return f"{sought} is nowhere in {f'what I searched; {left_out}' if left_out else where}."


_FOR_MODEL = re.compile(r"; name [^;]* as `path` to search it")


def _sought(pattern: str) -> str:
    """Returns the text that a pattern looks for, or "it" if the pattern stands for several texts."""
    text = re.sub(r"^\\b|(?<!\\)\\b$", "", pattern)
    if re.search(r"[.^$*+?{}\[\]|()`]|\\\w", re.sub(r"\\[^\w`]", "", text)):
        return "It"
    return "`" + re.sub(r"\\(\W)", r"\1", text) + "`"


def answer_shown(place: Place, result: str) -> str:
    """Returns a definition as the file has it: its first line, and what is indented below it."""
    lines = shown_lines(result)
    body = "\n".join([*lines[:1], *takewhile(lambda line: _is_within(line, lines[0]), lines[1:])])
    return f"{place.path}, line {place.line}:\n\n{verbatim(body.rstrip(), place.path)}"


def _is_within(line: str, first: str) -> bool:
    """Returns whether a line belongs to the definition that begins with `first`."""
    return not line.strip() or _indent(line) > _indent(first) or _CLOSING.match(line) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def files_found(result: str) -> list[str]:
    """Returns the files in which a search found something."""
    return list(dict.fromkeys(line for line in result.split("\n")[1:] if line and _LINE.fullmatch(line) is None))


def _ran(route: Routed, result: str) -> str:
    ended = _EXIT.match(result)
    said = result.partition("\n")[2].removeprefix("stdout:\n").strip()
    if ended is None:
        return _as_told(route, result)
    return f"{verbatim(said)}\n\n{_exit_code(ended[1])}" if said else _exit_code(ended[1])


def _exit_code(code: str) -> str:
    return f"The command ended with exit code {code}."


def _definition(places: Sequence[Place], result: str) -> str:
    if not places:
        return NOT_FOUND
    first = places[0]
    every = len(places) == len(_places(result)) and not BY_KEYWORD.match(first.text)
    count = int(result.split(" ", 1)[0]) if every else len(places)
    if count == 1:
        return f"It is defined in {first.path}, line {first.line}."
    return f"It is defined in {count} places, first in {first.path}, line {first.line}."


def _as_told(route: Routed, result: str) -> str:
    """Returns what the tool told; several lines stay lines."""
    del route
    return verbatim(result) if "\n" in result else result


def _as_diff(route: Routed, result: str) -> str:
    return verbatim(result, "a.diff") if "\n" in result else _as_told(route, result)


def _said(text: str) -> Callable[[Routed, str], str]:
    return lambda route, _: text.format(**route.arguments)


_ANSWERS: Mapping[str, Callable[[Routed, str], str]] = MappingProxyType(
    {
        "list_files": _listed,
        "read_file": _shown,
        "search_files": _found,
        "run_command": _ran,
        "run_tests": _as_told,
        "start_process": _as_told,
        "git_status": _as_told,
        "git_diff": _as_diff,
        "write_file": _said("Wrote {path}."),
        "delete_file": _said(DELETED_FILE),
        "move_file": _said("Moved {path} to {new_path}."),
        "edit_file": lambda route, _: RENAMED if "whole_word" in route.arguments else REPLACED,
    }
)
