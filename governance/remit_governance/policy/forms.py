"""A file's text into a checked form, and what is wrong with it in words for the person who wrote it
(governance.md §2, Policy engine)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.document import Document, Plain, read_document

F = TypeVar("F", bound=BaseModel)


def parse_form(
    file: str, text: str, form: type[F], keys: Mapping[str, type[BaseModel]], examples: type[BaseModel] | None = None
) -> tuple[Document, F]:
    """A file's places and its checked content. An empty file is the form's default.

    `keys` says which form stands below a key, `examples` which one everywhere else: for the suggestion where a key is
    unknown. Raises PolicyError with every problem found.
    """
    document = read_document(file, text)
    try:
        return document, form.model_validate({} if document.value is None else document.value)
    except ValidationError as error:
        found = error.errors()
    forms: dict[str, type[BaseModel]] = {"": form, **keys}
    problems = (
        _problem(document, e["type"], e["loc"], e["msg"], forms.get(_holder(e["loc"]), examples or form)) for e in found
    )
    raise PolicyError(tuple(problems))


def _problem(
    document: Document, kind: str, location: tuple[str | int, ...], message: str, form: type[BaseModel]
) -> Problem:
    name = str(location[-1]) if location else "the file"
    if kind == "extra_forbidden":
        known = [field.alias or key for key, field in form.model_fields.items()]
        near = difflib.get_close_matches(name, known, n=1)
        fix = f"did you mean `{near[0]}`" if near else f"use one of {', '.join(known)}"
        return document.problem(location, f"unknown key `{name}`", fix)
    if kind == "missing":
        return document.problem(location[:-1], f"the key `{name}` is missing", f"add `{name}:`")
    if kind == "value_error":
        why, _, fix = message.removeprefix("Value error, ").partition(": ")
        return document.problem(location, why, fix or "correct the value")
    value = _value_at(document.value, location)
    shown = f"`{name}: {value}`" if isinstance(value, str | int | float) else f"`{name}`"
    return document.problem(location, f"{shown} is not right", message[:1].lower() + message[1:])


def _holder(location: tuple[str | int, ...]) -> str:
    """The key below which a place is; empty for the file's own keys."""
    return next((part for part in reversed(location[:-1]) if isinstance(part, str)), "")


def _value_at(value: Plain, location: tuple[str | int, ...]) -> Plain:
    for part in location:
        if isinstance(value, dict) and part in value:
            value = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value
