"""Every rule with how often it decided of late, and whether it ever can, for whoever shows rules (POL-14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.record import AuditKind, AuditRecord
from remit_governance.canonical import Json
from remit_governance.errors import AuditError
from remit_governance.intents import Matrix
from remit_governance.policy.editing.hits import count_decisions
from remit_governance.policy.review.listing import ListedRule, list_rules
from remit_governance.policy.rules import Policy
from remit_governance.workflow.exemptions import Category
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.policy.policy_files import as_setup_error, sources
from remit_server.runtime.settings import Settings

CALLS = 1000
"""How many of the last calls are counted, unless it is said otherwise."""


@dataclass(frozen=True, slots=True)
class CountedRule:
    """A rule, and in how many of the counted calls it carried which verdict."""

    rule: ListedRule
    hits: Counter[str]

    @property
    def json(self) -> dict[str, Json]:
        """The same for machines."""
        return {
            "rule": self.rule.name,
            "layer": self.rule.layer,
            "project": self.rule.project,
            "action": self.rule.action,
            "match": self.rule.match,
            "file": self.rule.file,
            "line": self.rule.line,
            "hits": dict(self.hits),
            "dead": list(self.rule.dead),
            "shadowed_by": self.rule.shadowed_by,
        }


@dataclass(frozen=True, slots=True)
class CountedRules:
    """All rules in the order of their layers, and what policy files say besides; `calls` is how many were counted."""

    calls: int
    rules: tuple[CountedRule, ...]
    matrix: Matrix
    test_globs: tuple[tuple[str, ...], ...]
    exemptions: Mapping[Category, tuple[str, ...]]

    @property
    def json(self) -> dict[str, Json]:
        """The same for machines."""
        intents: dict[str, Json] = {
            intent.value: {"tools": list(row.tools), "effects": sorted(row.external)}
            for intent, row in self.matrix.items()
        }
        return {
            "calls": self.calls,
            "rules": [rule.json for rule in self.rules],
            "intents": intents,
            "tests": [list(globs) for globs in self.test_globs],
            "exemptions": {category: list(globs) for category, globs in self.exemptions.items()},
        }


def count_rules(settings: Settings, last: int = CALLS, *, hooks: bool = False) -> CountedRules:
    """Returns the rules in force, with `hooks` those for another agent's calls, counted in the last calls.

    Raises SetupError where a file cannot be used.
    """
    in_force = load_in_force(settings, hooks=hooks)
    in_force.close()
    with as_setup_error():
        rules = _whole(list_rules(sources(settings, hooks=hooks)), in_force.policy)
    calls = _calls(settings, last)
    counted = count_decisions(calls)
    listed = tuple(CountedRule(rule, counted.get(rule.name, Counter())) for rule in rules)
    policy = in_force.policy
    return CountedRules(len(calls), listed, policy.matrix, policy.test_globs, policy.exemptions)


def _whole(rules: tuple[ListedRule, ...], policy: Policy) -> tuple[ListedRule, ...]:
    """The listed rules, and those in force that no text writes out: what protects Remit's own files in the workspace,
    the tests that a policy names, the scopes of work items.
    """
    known = {rule.name for rule in rules}
    more = (rule for layer in policy.layers for rule in layer.rules if rule.name not in known)
    made = (ListedRule(r.name, "yaml", r.verdict.word, r.reason, r.file, r.line) for r in more)
    return (*rules, *sorted(made, key=lambda rule: (rule.file or "", rule.line or 0, rule.name)))


def _calls(settings: Settings, last: int) -> tuple[AuditRecord, ...]:
    if not settings.audit_database.exists():
        return ()
    try:
        return query_audit(settings.audit_database, AuditFilter(kind=AuditKind.TOOL_INTENT, limit=last))
    except AuditError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.AUDIT_BROKEN) from error
