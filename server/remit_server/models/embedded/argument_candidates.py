"""What the embedded model may call next: one step of its skills, with arguments copied from what was said.

A model this small miscopies long names and loses its way. So its tools are offered step by step, and their arguments
list what can be meant: pieces of the request and of the last result, whole. Nothing that nobody spelled can reach a
tool. Which skill is meant, and which piece is which, stays the model's choice (MOD-09).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.models.embedded.patterns import IMPORT, LITERAL, MADE_UP, imports, match_pattern, searches
from remit_server.models.embedded.requests import Request
from remit_server.models.embedded.turns import Turn, turn_of
from remit_server.models.ports import Message, ToolSpec

Schema = dict[str, JsonValue]
Step = dict[tuple[Intent, str], list[Schema]]
"""For a tool under an intent, the forms its arguments may take."""

_AFTER = re.compile(r"\b(after|below|beneath|under|behind) +(line|it)\b|\bfollowed\b", re.IGNORECASE)
_BEFORE = re.compile(r"\b(before|above|over|ahead of) +(line|it)\b|\bpreceded\b", re.IGNORECASE)
_AWAY = re.compile(
    r"\b(delete|remove|drop|erase|strike|cut|take|throw|get|go|not needed|deleted|removed)\b", re.IGNORECASE
)
_RENAME = re.compile(
    r"\b(renam(e|ed|ing)|called|named|(new|better) name|(change|replace|use|gets?) the name)\b", re.IGNORECASE
)
_CHANGING = re.compile(
    r"\b(instead|replac(e|ed|ing)|chang(e|ed|ing)|swap|substitute|convert|turn|throughout|everywhere)\b|[-=]>|→",
    re.IGNORECASE,
)
_EDITING = re.compile(
    r"\b(set|assign|update|make|add|insert|append|put|write|create|edit|fix|move|delete|remove|drop|erase)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"\b(where|wherever|which|what|who|find|locate|look|looking|search|show|tell|defin\w+|declar\w+|implement\w*)\b",
    re.IGNORECASE,
)
_RUNNING = re.compile(
    r"\b(run|runs|running|execut\w+|launch|start|invoke|perform|try|shell|terminal|command)\b", re.IGNORECASE
)
"""With a word of the first two kinds and none that asks, no place is asked for: naming one would be no answer. With one
of the first and none that tells to run something, no command is meant: a name is none."""
_DOCUMENT = re.compile(r"\b(docstring|document|documented|describe|described|documentation)\b", re.IGNORECASE)
"""Without these words nothing is put there, deleted or described, whatever the model makes of the request."""
_RENAMING = frozenset(
    {
        "rename", "renamed", "renaming", "change", "changed", "replace", "replaced", "use", "used", "call", "called",
        "name", "named", "names", "needs", "need", "better", "new", "other", "every", "all", "everywhere", "throughout",
        "occurrence", "occurrences", "instead", "variable", "function", "class", "method", "identifier", "symbol",
        "field", "parameter", "constant", "type", "property", "key", "file", "want", "like", "give", "let", "open",
        "make", "into", "whole", "time", "instances", "see", "sure", "get", "gets", "rather", "ensure",
    }
)  # fmt: skip
"""Words of requests to rename, which are seldom the name."""
_MARKER = re.compile(r"</?tool_call>|<\|")
_VALUES = (re.compile(r"(?<![=!<>])= *([^=\s].*?)[,;]?(?:\s+(?:#|//|--).*)?$"), re.compile(r": +(.+?),?(?:\s+#.*)?$"))


def narrow_intents(
    messages: Sequence[Message], intents: Mapping[Intent, tuple[ToolSpec, ...]]
) -> dict[Intent, tuple[ToolSpec, ...]]:
    """Those tools among `intents` that can be the next step of a skill, their arguments limited to what was said."""
    offered: dict[Intent, tuple[ToolSpec, ...]] = {}
    for (intent, name), forms in _step(turn_of(messages)).items():
        possible = [form for form in forms if {"enum": []} not in _properties(form).values()]
        for tool in intents.get(intent, ()):
            if tool.name == name and possible:
                schema: Schema = possible[0] if len(possible) == 1 else {"anyOf": list[JsonValue](possible)}
                offered[intent] = (ToolSpec(name, tool.description, schema),)
    return offered


def is_certain(messages: Sequence[Message]) -> bool:
    """Returns whether the request is so plainly a rename that the model need not say first whether it can do it."""
    turn = turn_of(messages)
    request = turn.request
    names = [word for word in _unusual_words(request.words) if word not in request.paths]
    return turn.call is None and len(request.paths) == 1 and len(names) > 1 and bool(_RENAME.search(request.bare))


def is_ambiguous(messages: Sequence[Message], files: AbstractSet[str] | None) -> bool:
    """Returns whether a rename is asked for that names several of the `files`: it is made in one file, and which is a
    guess.

    Where the files are not known, what has a folder is one.
    """
    turn = turn_of(messages)
    request = turn.request
    if turn.call is not None or request.line or not (_RENAME.search(request.bare) or _CHANGING.search(request.bare)):
        return False
    paths = {_normal(path) for path in request.paths}
    return len({path for path in paths if "/" in path} if files is None else paths & files) > 1


def _normal(path: str) -> str:
    return path.removeprefix("./")


def _step(turn: Turn) -> Step:
    """What may be called now; nothing once a skill has come to its end or a call was refused."""
    request, call = turn.request, turn.call
    if call is None:
        return _first_step(request)
    if turn.refused:
        return {}
    arguments: Mapping[str, Any] = call.arguments
    path = str(arguments.get("path", ""))
    if call.name == "read_file" and "limit" not in arguments:
        return {(Intent.CODE, "edit_file"): _rename_schemas(request, path)}
    if turn.shown is None or call.name not in {"read_file", "search_files"}:
        return {}
    number, line = turn.shown
    kind, name = match_pattern(str(arguments.get("pattern", "")))
    pattern = str(arguments.get("pattern", ""))
    given = request.given(path, name) if kind != "assigned" and pattern != IMPORT else request.literals(path)
    read = call.name == "read_file"
    forms = (
        _line_edit_schemas(given, line, request.bare)
        if read
        else _schemas_after_search(given, line, kind or pattern, name)
    )
    edits = [_object_schema(path=_choice_schema([path]), **form, line=_choice_schema([number])) for form in forms]
    return {(Intent.CODE, "edit_file"): edits} if edits else {}


def _first_step(request: Request) -> Step:
    path = _choice_schema(request.paths)
    whole: dict[str, JsonValue] = {"context_lines": {"const": 0}, "max_results": {"const": 1}}
    patterns = searches(request.named, request.spans, documents=_DOCUMENT.search(request.bare) is not None)
    part = _object_schema(path=path, offset=_choice_schema(request.numbers), limit={"const": 1})
    found = _object_schema(pattern=_choice_schema(patterns.in_file), path=path, **whole)
    anywhere = _object_schema(pattern=_choice_schema(patterns.anywhere), **whole)
    if request.line or _RENAME.search(request.bare):
        # Who names a line by its number means that line, and nobody else means one; a rename reads the whole file.
        return {(Intent.READ_FILE, "read_file"): [part if request.line else _object_schema(path=path)]}
    changes = _CHANGING.search(request.bare)
    asks = _ASKING.search(request.bare) or not (changes or _EDITING.search(request.bare))
    runs = _RUNNING.search(request.bare) or not changes
    return {
        (Intent.READ_FILE, "read_file"): [_object_schema(path=path)],
        (Intent.ANALYZE, "search_files"): [found, anywhere] if asks else [found],
        (Intent.EXECUTE, "run_command"): [_object_schema(command=_choice_schema(request.spans))] if runs else [],
    }


def _rename_schemas(request: Request, path: str) -> list[Schema]:
    """Any two words, or any two of those that no sentence holds by itself, if there are two."""
    words = [word for word in request.words if word != path]
    either = next((few for few in (_invented_words(words), _unusual_words(words)) if len(few) > 1), words)
    every: Schema = {"const": True}
    return [
        _object_schema(
            path=_choice_schema([path]),
            old_text=_choice_schema([old]),
            new_text=_choice_schema(later),
            replace_all=every,
            whole_word=every,
        )
        for old, later in _pairs(either, reversed_="instead" in request.bare.lower())
    ]


def _pairs(names: Sequence[str], *, reversed_: bool) -> Iterator[tuple[str, Sequence[str]]]:
    """Each name with those it may become: the old name is said first, but in `use B instead of A`.

    Taken the wrong way round, a rename finds nothing: the new name is not in the file yet.
    """
    ordered = [*reversed(names)] if reversed_ else [*names]
    for number, old in enumerate(ordered[:-1], 1):
        yield old, ordered[number:]


def _invented_words(words: Sequence[str]) -> list[str]:
    return [word for word in words if MADE_UP.search(word)]


def _unusual_words(words: Sequence[str]) -> list[str]:
    """Those that are not what one says when something is to be renamed."""
    return [word for word in words if word.lower() not in _RENAMING]


def _line_edit_schemas(given: Sequence[str], line: str, bare: str) -> list[Schema]:
    """Replaces the line's text, delete the line, or put another before or after it, indented like it."""
    indent = line[: len(line) - len(line.lstrip())]
    whole = _choice_schema([f"{line}\n"])
    if _AFTER.search(bare):
        return [{"old_text": whole, "new_text": _choice_schema(f"{line}\n{indent}{span}\n" for span in given)}]
    if _BEFORE.search(bare):
        return [{"old_text": whole, "new_text": _choice_schema(f"{indent}{span}\n{line}\n" for span in given)}]
    away: list[Schema] = [{"old_text": whole, "new_text": {"const": ""}}] if _AWAY.search(bare) else []
    inner: Schema = {"old_text": _choice_schema([line.strip()]), "new_text": _choice_schema(given)}
    return [inner, *away] if line.strip() else away


def _schemas_after_search(given: Sequence[str], line: str, looked_for: str, name: str) -> list[Schema]:
    """What follows a search: an import after the one found, a docstring under its head, or a value in place of one."""
    indent = line[: len(line) - len(line.lstrip())]
    match looked_for:
        case "documented":
            under = (f'{line}\n{indent}    """{span}"""\n' for span in given)
            return [{"old_text": _choice_schema([f"{line}\n"]), "new_text": _choice_schema(under)}]
        case "assigned":
            old = next((found[1] for value in _VALUES if (found := value.search(line))), line.strip())
            new = _values(given, name)
            return [{"old_text": _choice_schema([old]), "new_text": _choice_schema(new), "whole_word": {"const": True}}]
        case _ if looked_for == IMPORT:
            return [
                {
                    "old_text": _choice_schema([f"{line}\n"]),
                    "new_text": _choice_schema(f"{line}\n{span}\n" for span in imports(given)),
                }
            ]
        case _:
            return []


def _values(given: Sequence[str], name: str) -> Sequence[str]:
    """Returns the literals among what was given, the name itself left out; anything where there is none."""
    named = [span for span in given if span.strip("\"'") != name]
    return [span for span in named if LITERAL.fullmatch(span)] or named


def _choice_schema(choices: Iterable[str | int]) -> Schema:
    """Any of them but a text that spells one of the model's markers: no grammar can force that."""
    return {"enum": [choice for choice in dict.fromkeys(choices) if not _MARKER.search(str(choice))]}


def _object_schema(**properties: JsonValue) -> Schema:
    """Returns an object that has all of `properties`, in that order, and no other."""
    names: list[JsonValue] = [*properties]
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _properties(form: Schema) -> Schema:
    properties = form["properties"]
    assert isinstance(properties, dict)
    return properties
