"""Lists the embedded model's possible next calls: one step of a skill, with argument values copied from the
conversation.

So small a model miscopies long names and loses track of its task. So its tools are offered step by step, and their
arguments are limited to whole pieces of the request and of the last result. No value that is not in the conversation
can reach a tool. The model still chooses the skill and the pieces (MOD-09).
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
"""Maps each tool under an intent to the alternative schemas of its arguments."""

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
"""A request for a change or edit that asks nothing gets no search of the workspace: a place would not be an answer.
One for a change that does not speak of running gets no command: a name in it is not one.
"""
_DOCUMENT = re.compile(r"\b(docstring|document|documented|describe|described|documentation)\b", re.IGNORECASE)
"""Without these words the model cannot search for the place of a docstring."""
_RENAMING = frozenset(
    {
        "rename", "renamed", "renaming", "change", "changed", "replace", "replaced", "use", "used", "call", "called",
        "name", "named", "names", "needs", "need", "better", "new", "other", "every", "all", "everywhere", "throughout",
        "occurrence", "occurrences", "instead", "variable", "function", "class", "method", "identifier", "symbol",
        "field", "parameter", "constant", "type", "property", "key", "file", "want", "like", "give", "let", "open",
        "make", "into", "whole", "time", "instances", "see", "sure", "get", "gets", "rather", "ensure",
    }
)  # fmt: skip
"""Words of rename requests that are seldom the name."""
_MARKER = re.compile(r"</?tool_call>|<\|")
_VALUES = (re.compile(r"(?<![=!<>])= *([^=\s].*?)[,;]?(?:\s+(?:#|//|--).*)?$"), re.compile(r": +(.+?),?(?:\s+#.*)?$"))


def narrow_intents(
    messages: Sequence[Message], intents: Mapping[Intent, tuple[ToolSpec, ...]]
) -> dict[Intent, tuple[ToolSpec, ...]]:
    """Returns the tools of `intents` that can be a skill's next step, with arguments limited to pieces of the
    conversation.
    """
    offered: dict[Intent, tuple[ToolSpec, ...]] = {}
    for (intent, name), forms in _step(turn_of(messages)).items():
        possible = [form for form in forms if {"enum": []} not in _properties(form).values()]
        for tool in intents.get(intent, ()):
            if tool.name == name and possible:
                schema: Schema = possible[0] if len(possible) == 1 else {"anyOf": list[JsonValue](possible)}
                offered[intent] = (ToolSpec(name, tool.description, schema),)
    return offered


def is_certain(messages: Sequence[Message]) -> bool:
    """Returns whether the request is so clearly a rename that the model need not say first whether it can do it."""
    turn = turn_of(messages)
    request = turn.request
    names = [word for word in _unusual_words(request.words) if word not in request.paths]
    return turn.call is None and len(request.paths) == 1 and len(names) > 1 and bool(_RENAME.search(request.bare))


def is_ambiguous(messages: Sequence[Message], files: AbstractSet[str] | None) -> bool:
    """Returns whether a rename request names several of the `files`: it is made in one file, so the choice would be a
    guess.

    Where the files are not known, paths with a folder count.
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
    """Returns the possible next calls; none after a skill's last step or a refused call."""
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
        # A line number names a line; without one no line edit is meant. A rename reads the whole file.
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
    """Returns schemas for any two words, or for two unusual ones if the request has them."""
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
    """Yields each old name with its possible new names: the old one comes first, except in `use B instead of A`.

    A rename in the wrong direction finds nothing: the new name is not in the file yet.
    """
    ordered = [*reversed(names)] if reversed_ else [*names]
    for number, old in enumerate(ordered[:-1], 1):
        yield old, ordered[number:]


def _invented_words(words: Sequence[str]) -> list[str]:
    return [word for word in words if MADE_UP.search(word)]


def _unusual_words(words: Sequence[str]) -> list[str]:
    """Returns the words that are not common in rename requests."""
    return [word for word in words if word.lower() not in _RENAMING]


def _line_edit_schemas(given: Sequence[str], line: str, bare: str) -> list[Schema]:
    """Returns schemas that replace the line, delete it, or insert one before or after it, with its indentation."""
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
    """Returns the edits after a search: an import below the found one, a docstring, or another value."""
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
    """Returns the literals among the candidates, without the name itself; all candidates where there is none."""
    named = [span for span in given if span.strip("\"'") != name]
    return [span for span in named if LITERAL.fullmatch(span)] or named


def _choice_schema(choices: Iterable[str | int]) -> Schema:
    """Returns a schema of the choices without those that spell a marker of the model: no grammar can force these."""
    return {"enum": [choice for choice in dict.fromkeys(choices) if not _MARKER.search(str(choice))]}


def _object_schema(**properties: JsonValue) -> Schema:
    """Returns the schema of an object with exactly `properties`, in that order."""
    names: list[JsonValue] = [*properties]
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _properties(form: Schema) -> Schema:
    properties = form["properties"]
    assert isinstance(properties, dict)
    return properties
