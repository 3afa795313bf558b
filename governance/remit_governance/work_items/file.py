"""The file of work items: its form, checked with the same care as a policy (INT-10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StrictStr

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.language.document import OF_PROJECT, Document
from remit_governance.policy.language.parse_form import parse_form
from remit_governance.policy.language.policy_form import Form, Globs
from remit_governance.work_items.items import WorkItem, WorkItems

MAX_ITEMS = 100

Line = Annotated[StrictStr, Field(min_length=1, max_length=1_000)]


class WorkItemForm(Form):
    """One work item. `owned_scope` are globs as in `.gitignore`; a write that none of them matches is refused."""

    id: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    owned_scope: Annotated[Globs, Field(min_length=1, max_length=200)]
    constraints: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    acceptance_criteria: Annotated[tuple[Line, ...], Field(max_length=50)] = ()


class WorkItemsForm(Form):
    """A whole `.orchestration/active_intents.yaml`."""

    version: Literal[1] = 1
    active_intents: Annotated[tuple[WorkItemForm, ...], Field(max_length=MAX_ITEMS)] = ()


_FORMS: Mapping[str, type[BaseModel]] = {"active_intents": WorkItemForm}


def parse_work_items(file: str, text: str) -> WorkItems:
    """Returns the work items of a file's text. Raises PolicyError with every problem found."""
    document, form = parse_form(file, text, WorkItemsForm, _FORMS, most=OF_PROJECT)
    if problems := tuple(_find_doubles(document, form)):
        raise PolicyError(problems)
    found = {
        each.id: WorkItem(
            each.id,
            each.owned_scope,
            each.constraints,
            each.acceptance_criteria,
            file,
            document.mark(("active_intents", position))[0],
        )
        for position, each in enumerate(form.active_intents)
    }
    return MappingProxyType(found)


def _find_doubles(document: Document, form: WorkItemsForm) -> Iterator[Problem]:
    seen: set[str] = set()
    for position, each in enumerate(form.active_intents):
        if each.id in seen:
            place = ("active_intents", position, "id")
            yield document.problem(place, f"the id `{each.id}` is taken", "give each work item its own id")
        seen.add(each.id)
