"""How often a rule has decided of late, from the audit log's records (protocol.md §3, Standard; governance.md §7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from remit_governance.audit.record import AuditRecord

CALLS = 100
"""How many of the last calls are looked at."""

_WORDS = {"allowed": "allowed", "allowed_by_token": "allowed", "review_required": "asked about", "denied": "denied"}


def hits(calls: Sequence[AuditRecord], rule: str) -> str:
    """`allowed 3, denied 12 of the last 100 calls`: calls in which this rule carried the verdict.

    `calls` are one record each. A rule that shares a verdict with others counts as well.
    """
    if not calls:
        return "no calls have been recorded yet"
    last = f"of the last {len(calls)} calls" if len(calls) > 1 else "of one call"
    counted = count_decisions(calls).get(rule, Counter())
    said = [f"{word} {counted[word]}" for word in dict.fromkeys(_WORDS.values()) if counted[word]]
    return f"{', '.join(said) or 'decided none'} {last}"


def count_decisions(calls: Iterable[AuditRecord]) -> dict[str, Counter[str]]:
    """For each rule in how many of these calls it carried the verdict, by what that was (`allowed`, `asked about`,
    `denied`)."""
    counted: dict[str, Counter[str]] = {}
    for record in calls:
        word = _WORDS.get(record.event.policy_decision or "", "")
        for rule in filter(None, (record.event.policy_rule_name or "").split(", ")):
            counted.setdefault(rule, Counter())[word] += 1
    return counted
