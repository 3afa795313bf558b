"""Work items as values, and what a model is told of one (INT-09; INT-10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WORK_ITEMS_FILE = ".orchestration/active_intents.yaml"
"""Relative to the workspace."""


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One work item, and where it is written."""

    id: str
    owned_scope: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    acceptance_criteria: tuple[str, ...] = ()
    file: str = WORK_ITEMS_FILE
    line: int = 1


WorkItems = Mapping[str, WorkItem]
"""By id, in the order of the file."""

SCOPE_RULES = "work-item."
"""What the names of the rules of scopes begin with."""


def describe_work_item(item: WorkItem) -> str:
    """Returns what a model is told of the item that it works on."""
    parts = (
        ("writes are refused outside its owned_scope", item.owned_scope),
        ("constraints", item.constraints),
        ("acceptance criteria", item.acceptance_criteria),
    )
    lines = [f"{title}:\n" + "\n".join(f"- {line}" for line in found) for title, found in parts if found]
    return f"work item {item.id}, from {WORK_ITEMS_FILE}:\n" + "\n".join(lines)
