"""Work items: what a step may work on, from a file that only people write (INT-09; INT-10).

This module has the work items as values, the text that tells a model about one, and the parser of their file, which
checks it as strictly as a policy. Absent: any access to the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StrictStr

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.language.document import OF_PROJECT, Document
from remit_governance.policy.language.parse_form import parse_form
from remit_governance.policy.language.policy_form import Form, Globs

WORK_ITEMS_FILE = ".orchestration/active_intents.yaml"
"""Relative to the workspace."""


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One work item, and where it is written."""

    id: str
    owned_scope: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    acceptance_criteria: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    file: str = WORK_ITEMS_FILE
    line: int = 1


WorkItems = Mapping[str, WorkItem]
"""By id, in the order of the file."""

SCOPE_RULES = "work-item."
"""The prefix of the names of the rules that enforce scopes."""


def describe_work_item(item: WorkItem) -> str:
    """Returns the text that tells a model about the work item that it works on."""
    parts = (
        ("writes are refused outside its owned_scope", item.owned_scope),
        ("constraints", item.constraints),
        ("acceptance criteria", item.acceptance_criteria),
        ("skills to read before you begin, which allow nothing (`read_skill`)", item.skills),
    )
    lines = [f"{title}:\n" + "\n".join(f"- {line}" for line in found) for title, found in parts if found]
    return f"work item {item.id}, from {WORK_ITEMS_FILE}:\n" + "\n".join(lines)


MAX_ITEMS = 100

Line = Annotated[StrictStr, Field(min_length=1, max_length=1_000)]
SkillName = Annotated[StrictStr, Field(max_length=64, pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]


class WorkItemForm(Form):
    """One work item. `owned_scope` are globs as in `.gitignore`; a write that none of them matches is refused. `skills`
    are names of those that say how this work is done."""

    id: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    owned_scope: Annotated[Globs, Field(min_length=1, max_length=200)]
    constraints: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    acceptance_criteria: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    skills: Annotated[tuple[SkillName, ...], Field(max_length=8)] = ()


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
            each.skills,
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
