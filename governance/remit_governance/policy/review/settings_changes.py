"""What a new text of a policy file changes besides rules: the intent matrix, which files are tests, and which need none
first (POL-20). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remit_governance.intents import Matrix
from remit_governance.policy.rules import Policy
from remit_governance.values import Intent
from remit_governance.workflow.exemptions import CATEGORIES


def row_difference(intent: Intent, before: Matrix, after: Matrix) -> str:
    """Returns what an intent opens now and did not, and the other way round; an empty text where nothing changed."""
    return _difference(_opened(intent, before), _opened(intent, after))


def changed_settings(before: Policy, after: Policy) -> tuple[str, ...]:
    """Returns a line for each change, none where the two say the same."""
    return tuple(_changes(before, after))


def _changes(before: Policy, after: Policy) -> Iterator[str]:
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
