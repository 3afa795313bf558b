"""A proposed change of a policy file, as a value: what would change, and how a person has to confirm it (POL-12). Pure.

Besides rules it may change the intent matrix, which files are tests, and which files need no test first (POL-20).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from remit_governance.canonical import digest
from remit_governance.intents import Matrix
from remit_governance.policy.review.replay import Replay
from remit_governance.policy.rules import Policy
from remit_governance.values import Action, Intent
from remit_governance.workflow.test_files import CATEGORIES

SYSCALL = "policy.update"

MANY_BREAKING = 5
"""The most breaking changes for which a yes is enough; for more, the person has to give the phrase."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A new text (`after`) for the policy file `target`, which now holds `before` (None: there is no such file).

    `policy` is the policy that would then be in force, `replay` its replay of past calls, and `settings` the changes
    besides rules.
    """

    target: str
    before: str | None
    after: str
    policy: Policy
    replay: Replay
    settings: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the content of the file would change."""
        return self.before != self.after

    @property
    def needs_phrase(self) -> bool:
        """Whether a plain yes is not enough."""
        return len(self.replay.breaking) > MANY_BREAKING

    @property
    def phrase(self) -> str:
        """The phrase that confirms exactly this proposal: other texts, another file or other breaking changes have
        another phrase.
        """
        bound = {
            "target": self.target,
            "before": self.before,
            "after": self.after,
            "breaking": [change.call.record.number for change in self.replay.breaking],
        }
        return f"apply {digest(bound).removeprefix('sha256:')[:12]}"

    @property
    def diff(self) -> tuple[str, ...]:
        """The unified diff of the two texts, line by line."""
        old, new = (self.before or "").splitlines(), self.after.splitlines()
        return tuple(difflib.unified_diff(old, new, self.target, f"{self.target} (new)", lineterm=""))


def update_action(path: str | None) -> Action:
    """Returns the action of changing a policy file. `path` is the file's path in the workspace, or None if it is
    outside."""
    return Action(SYSCALL, path, tool="policy_update", caller_tags=frozenset({"human", "core_plugin"}))


def row_difference(intent: Intent, before: Matrix, after: Matrix) -> str:
    """Returns what an intent opens after the change and did not before, and the reverse; an empty text if nothing
    changed."""
    return _difference(_opened(intent, before), _opened(intent, after))


def changed_settings(before: Policy, after: Policy) -> Iterator[str]:
    """Yields a line for each setting besides rules in which the two policies differ."""
    for intent in Intent:
        if words := row_difference(intent, before.matrix, after.matrix):
            yield f"intent {intent} opens {words}"
    if words := _difference(_flat(before.test_globs), _flat(after.test_globs)):
        yield f"tdd_tests: {words}"
    for category in CATEGORIES:
        if words := _difference(before.exemptions[category], after.exemptions[category]):
            yield f"tdd_exemptions.{category}: {words}"


def _opened(intent: Intent, matrix: Matrix) -> tuple[str, ...]:
    row = matrix[intent]
    return (*row.tools, *(f"added tools of effect {effect}" for effect in sorted(row.external)))


def _flat(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(glob for globs in lists for glob in globs))


def _difference(old: Sequence[str], new: Sequence[str]) -> str:
    added, removed = (each for each in new if each not in old), (each for each in old if each not in new)
    return ", ".join((*(f"+{each}" for each in added), *(f"-{each}" for each in removed)))
