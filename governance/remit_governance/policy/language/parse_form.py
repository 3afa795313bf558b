"""A file's text into a checked form, and what is wrong with it in words for the person who wrote it
(POL-05)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from remit_governance.errors import PolicyError
from remit_governance.policy.language.document import OWN, Document, Most, read_document
from remit_governance.policy.language.wording import problem_of

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
    """A file's places and its checked content. An empty file is the form's default.

    `keys` says which form stands below a key, `examples` which one everywhere else: for the suggestion where a key is
    unknown. Raises PolicyError with the problems found, of those of the form `MOST_PROBLEMS` at most.
    """
    document = read_document(file, text, most)
    try:
        return document, form.model_validate({} if document.value is None else document.value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[:MOST_PROBLEMS]
    forms: dict[str, type[BaseModel]] = {"": form, **keys}
    raise PolicyError(tuple(problem_of(document, e, forms.get(_holder(e["loc"]), examples or form)) for e in found))


def _holder(location: tuple[str | int, ...]) -> str:
    """The key below which a place is; empty for the file's own keys."""
    return next((part for part in reversed(location[:-1]) if isinstance(part, str)), "")
