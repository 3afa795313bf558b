"""What is answered after a call that a rule found: what the tool said, as a sentence (MOD-23). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import assert_never

from remit_governance.values import Intent
from remit_server.contract import ErrorCode
from remit_server.models.embedded.closing_text import (
    CHANGED,
    DELETED,
    IMPORTED,
    INSERTED,
    NOT_FOUND,
    RENAMED,
    UNCHANGED,
    UNKNOWN,
    Ending,
    describe_definition,
    describe_exit,
)
from remit_server.models.embedded.patterns import DEFINED
from remit_server.models.embedded.route_edits import AmongImports, Insert, LineEdit, Remove, SetValue
from remit_server.models.embedded.routes import Routed

HELP = (
    "I am the small model that comes with Remit. I list, show and search files, run a command or the tests, show what "
    "git says, and make small edits that one sentence names: rename, replace, add or remove a line, change a value, "
    "create, move or delete a file. For anything else connect a model of your own: remit ask --model ollama:NAME."
)
REPLACED_TEXT = "Replaced every occurrence."
MOST_SHOWN = 4_000
_LINE = re.compile(r"(\d+)[|:](.*)")
_EXIT = re.compile(r"exit code (\d+)")


def answer(route: Routed, result: str) -> Ending:
    """Returns the sentence that ends the turn."""
    if result.startswith(f"error {ErrorCode.OUTCOME_UNKNOWN}:"):
        return Ending(UNKNOWN)
    if result.startswith("error "):
        why = result.partition(": ")[2].partition("\n")[0]
        return Ending(
            f"{UNCHANGED} {why[:1].upper()}{why[1:]}." if route.intent is Intent.CODE else f"I stopped: {why}."
        )
    return Ending(_ANSWERS[route.tool](route, result)[:MOST_SHOWN], done=True)


def answer_edit(edit: LineEdit, result: str) -> Ending:
    """Returns the sentence that ends a turn in which a line was edited."""
    refused = answer(Routed(Intent.CODE, "edit_file", {"path": ""}), result)
    if not refused.done:
        return refused
    match edit:
        case Insert(place=AmongImports()):
            return Ending(IMPORTED, done=True)
        case Insert():
            return Ending(INSERTED, done=True)
        case Remove():
            return Ending(DELETED, done=True)
        case SetValue():
            return Ending(CHANGED, done=True)
        case _:
            assert_never(edit)


def _listed(route: Routed, result: str) -> str:
    del route
    head, _, rest = result.partition("\n")
    return ", ".join(rest.split("\n")) if rest else head


def _shown(route: Routed, result: str) -> str:
    lines = [match[2] for line in result.split("\n")[1:] if (match := _LINE.fullmatch(line))]
    return "\n".join(lines) if lines else f"{route.arguments['path']} is empty."


def _found(route: Routed, result: str) -> str:
    head, *lines = result.split("\n")
    path, found = "", list[str]()
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            path = line or path
        else:
            found.append(f"{path}:{match[1]}: {match[2].strip()}")
    if str(route.arguments["pattern"]).startswith(DEFINED.split("NAME")[0]):
        if not found:
            return NOT_FOUND
        first, number, _ = found[0].split(":", 2)
        return describe_definition(first, int(number), int(head.split(" ", 1)[0]))
    return "\n".join(found) if found else "It is nowhere in the files."


def files_found(result: str) -> list[str]:
    """Returns the files in which a search found something."""
    return list(dict.fromkeys(line for line in result.split("\n")[1:] if line and _LINE.fullmatch(line) is None))


def _ran(route: Routed, result: str) -> str:
    del route
    ended = _EXIT.match(result)
    said = result.partition("\n")[2].removeprefix("stdout:\n").strip()
    if ended is None:
        return result
    return f"{said}\n{describe_exit(int(ended[1]))}" if said else describe_exit(int(ended[1]))


def _tested(route: Routed, result: str) -> str:
    del route
    return result


def _said(text: str) -> Callable[[Routed, str], str]:
    return lambda route, _: text.format(**route.arguments)


_ANSWERS: Mapping[str, Callable[[Routed, str], str]] = MappingProxyType(
    {
        "list_files": _listed,
        "read_file": _shown,
        "search_files": _found,
        "run_command": _ran,
        "run_tests": _tested,
        "git_status": _tested,
        "git_diff": _tested,
        "write_file": _said("Wrote {path}."),
        "delete_file": _said("Deleted {path}."),
        "move_file": _said("Moved {path} to {new_path}."),
        "edit_file": lambda route, _: RENAMED if "whole_word" in route.arguments else REPLACED_TEXT,
    }
)
