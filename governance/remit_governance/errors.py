"""The errors of governance. Refusals are values, so these errors are only for what could not be judged at all.

GovernanceError
├── PolicyError    a policy file is missing, unreadable or wrong; carries every problem with its place
├── ActionError    the value to be judged is not an action
├── ExtensionError a rule that is a program cannot be asked; the caller then denies
└── AuditError     the audit log cannot be written or read; the caller then fails closed

All of them carry what happened, why, and how to fix it, in words for a person.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One error at one place of a file. `line` and `column` count from 1; an error of the whole file is at 1:1."""

    file: str
    line: int
    column: int
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}; {self.fix}"


class GovernanceError(Exception):
    """An error of governance: what happened, why, and how to fix it."""

    def __init__(self, what: str, why: str, fix: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what, self.why, self.fix = what, why, fix


class PolicyError(GovernanceError):
    """The sources cannot be compiled to a policy. `problems` is never empty, and is in the order of the files."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(
            "the policy cannot be used",
            f"{first.file}:{first.line}:{first.column}: {first.message}{more}",
            first.fix,
        )
        self.problems = problems


class ActionError(GovernanceError):
    """The given value is not an action that policy could judge."""


class ExtensionError(GovernanceError):
    """An extension rule crashed, took too long or returned no verdict, or there is no sandbox to isolate it."""


class AuditError(GovernanceError):
    """The audit log cannot be written or read."""
