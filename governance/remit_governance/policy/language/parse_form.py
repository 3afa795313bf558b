"""Turns a file's text into a checked form, and says in words for the person who wrote it what is wrong (POL-05)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.language.document import OWN, Document, Most, Plain, read_document

F = TypeVar("F", bound=BaseModel)


MOST_PROBLEMS = 100


def parse_form(
    file: str,
    text: str,
    form: type[F],
    keys: Mapping[str, type[BaseModel]],
    examples: type[BaseModel] | None = None,
    *,
    most: Most = OWN,
) -> tuple[Document, F]:
    """Returns a file's places and its checked content. An empty file is the form's default.

    `keys` says which form stands below a key, and `examples` which form stands everywhere else; they are only used to
    suggest a known key for an unknown one. Raises PolicyError with the problems found, of which at most
    `MOST_PROBLEMS` are pydantic's.
    """
    document = read_document(file, text, most)
    try:
        return document, form.model_validate({} if document.value is None else document.value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[:MOST_PROBLEMS]
    forms: dict[str, type[BaseModel]] = {"": form, **keys}
    raise PolicyError(tuple(problem_of(document, e, forms.get(_holder(e["loc"]), examples or form)) for e in found))


def _holder(location: tuple[str | int, ...]) -> str:
    """Returns the key below which a place lies; empty for the file's top-level keys."""
    return next((part for part in reversed(location[:-1]) if isinstance(part, str)), "")


Location = tuple[str | int, ...]

_MISMATCH = "string_pattern_mismatch"
_NAME = "^[A-Za-z0-9]"
"""The beginning of the patterns of names. The fix in `FIXES` describes only these; for other patterns pydantic's
message is shown."""

FIXES: Mapping[str, str] = MappingProxyType(
    {
        "bool_type": "write `true` or `false`",
        "dict_type": "write `key: value` pairs",
        "enum": "use {expected}",
        "int_from_float": "write a whole number",
        "int_parsing": "write a whole number",
        "int_type": "write a whole number",
        "literal_error": "use {expected}",
        "model_type": "write `key: value` pairs",
        _MISMATCH: "use up to 100 letters, digits, `.`, `_` and `-`, and begin with a letter or digit",
        "string_too_long": "write {max_length} characters at most",
        "string_too_short": "write something, or leave it out",
        "string_type": "write text, in quotes if it looks like something else",
        "tuple_type": "write a list, such as `[a, b]`",
    }
)
"""Pydantic's type of an error → what to do about it."""


def problem_of(document: Document, error: ErrorDetails, form: type[BaseModel]) -> Problem:
    """Returns one of pydantic's errors as a problem at its place; `form` is the form that holds the place."""
    location = _written(document, error["loc"])
    name = _name(location)
    match error["type"]:
        case "extra_forbidden":
            known = [field.alias or key for key, field in form.model_fields.items()]
            near = difflib.get_close_matches(name, known, n=1)
            fix = f"did you mean `{near[0]}`" if near else f"use one of {', '.join(known)}"
            return document.problem(location, f"unknown key `{name}`", fix)
        case "missing":
            return document.problem(location[:-1], f"the key `{name}` is missing", f"add `{name}:`")
        case "value_error":
            why, _, fix = error["msg"].removeprefix("Value error, ").partition(": ")
            return document.problem(location, why, fix or "correct the value")
        case kind:
            context = error.get("ctx", {})
            given = {**context, "expected": str(context.get("expected", "")).replace("'", "`")}
            plain = kind not in FIXES or (kind == _MISMATCH and not str(context.get("pattern")).startswith(_NAME))
            fix = error["msg"][:1].lower() + error["msg"][1:] if plain else FIXES[kind].format_map(given)
            return document.problem(location, f"{_shown(document, location)} is not right", fix)


def _written(document: Document, location: Location) -> Location:
    """Returns the place as it is in the file, where a single value may stand in place of a list."""
    alone = (
        location and isinstance(location[-1], int) and not isinstance(_value_at(document.value, location[:-1]), list)
    )
    return location[:-1] if alone else location


def _name(location: Location) -> str:
    """Returns the key to name for a place; for a value in a list, that is the list's key."""
    return next((part for part in reversed(location) if isinstance(part, str)), "the file")


def _shown(document: Document, location: Location) -> str:
    """Returns the key, with its value if that is short; for a value in a list, also which one."""
    name, value = _name(location), _value_at(document.value, location)
    written = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    shown = f"`{name}: {written}`" if isinstance(value, str | int | float) and len(written) <= 60 else f"`{name}`"
    return f"value {location[-1] + 1} of {shown}" if location and isinstance(location[-1], int) else shown


def _value_at(value: Plain, location: Location) -> Plain:
    for part in location:
        if isinstance(value, dict) and part in value:
            value = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value
