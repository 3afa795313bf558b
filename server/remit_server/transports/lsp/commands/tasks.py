"""The table of what a model can be asked to do with a piece of code, for code actions and commands (LSP-10); pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Ability: TypeAlias = Literal["rename", "explain", "edit"]
"""A copy of the contract's type, because the contract is slow to import."""


@dataclass(frozen=True, slots=True)
class Task:
    """One row: the title and the kind of a code action, the ability that the model needs, and the request to the model,
    with `{}` for the piece of code.
    """

    title: str
    kind: str
    needs: Ability
    words: str


TASKS: Mapping[str, Task] = {
    "remit.fix": Task("Fix with Remit", "quickfix.remit", "edit", "fix {}"),
    "remit.explain": Task("Explain with Remit", "refactor.remit.explain", "explain", "explain {}"),
    "remit.refactor": Task(
        "Refactor with Remit",
        "refactor.rewrite.remit.refactor",
        "edit",
        "refactor {}: make it simpler, and keep everything that it does",
    ),
    "remit.document": Task(
        "Document with Remit",
        "refactor.rewrite.remit.document",
        "edit",
        "write the documentation of {}, in the form that the rest of the file uses",
    ),
    "remit.writeTests": Task(
        "Write Tests with Remit", "refactor.remit.tests", "edit", "write tests for {}, beside the tests that there are"
    ),
}
"""The tasks by the command that runs each."""

PROBLEM_TASKS: Mapping[str, Task] = {
    "remit.fix": TASKS["remit.fix"],
    "remit.explain": Task("Explain with Remit", "quickfix.remit.explain", "explain", "explain {}"),
}
"""The tasks about the editor's diagnostics. Their texts come from the code, so the model gets them as data."""


def name_in(name: str, path: str) -> str:
    """Names an identifier of a file."""
    return f"{name} in {path}"


def lines_of(path: str, first: int, last: int) -> str:
    """Names lines of a file, counted from 1, the last one included."""
    return f"line {first} of {path}" if first == last else f"lines {first}-{last} of {path}"


def problem_at(path: str, first: int, last: int) -> str:
    """Names the problems that the editor shows in lines of a file."""
    return f"what the editor shows at {lines_of(path, first, last)}"


def with_problems(text: str, path: str) -> str:
    """Returns a chat line that attaches the editor's diagnostics of a file as data."""
    word = f"diagnostics:{path}"
    return f'{text} @"{word}"' if any(map(str.isspace, word)) else f"{text} @{word}"


def describe_task(task: Task, piece: str) -> str:
    """Returns the request to the model for a piece of code."""
    return task.words.format(piece)
