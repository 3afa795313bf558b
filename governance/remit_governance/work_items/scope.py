"""The scopes of work items as rules that deny, so that they hold wherever policy is asked (INT-10)."""

from __future__ import annotations

from collections.abc import Iterator

from remit_governance.policy.matching.rule_globs import compile_globs
from remit_governance.policy.rules import Condition, Rule, Subject
from remit_governance.values import Verdict
from remit_governance.work_items.items import SCOPE_RULES, WorkItem, WorkItems


def scope_rules(items: WorkItems, fold_case: bool) -> Iterator[Rule]:
    """Yields for each item the rule that denies a step of it all writes outside its scope."""
    for item in items.values():
        yield Rule(
            name=f"{SCOPE_RULES}{item.id}",
            verdict=Verdict.DENY,
            reason=f"it is outside the owned_scope of work item {item.id}: {', '.join(item.owned_scope)}"[:500],
            matches=_outside_scope(item, fold_case),
            syscalls=frozenset({"fs.write"}),
            file=item.file,
            line=item.line,
        )


def _outside_scope(item: WorkItem, fold_case: bool) -> Condition:
    inside = compile_globs(item.owned_scope, fold_case)

    def matches(subject: Subject) -> bool:
        if subject.action.work_item != item.id:
            return False
        path = subject.folded if fold_case else subject.path
        return path is None or not inside(path)

    return matches
