"""Judges past calls again, by another policy, for machines and in words (POL-13, EDI-12), and counts how often each
rule decided (POL-14).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from remit_governance.audit.log.unfinished_calls import ELSEWHERE
from remit_governance.audit.reading.query import AuditFilter, latest_audit, query_audit
from remit_governance.audit.record import AuditKind, AuditRecord
from remit_governance.canonical import Json
from remit_governance.intents import Matrix
from remit_governance.policy.editing.hover import count_decisions
from remit_governance.policy.language.compile import Source
from remit_governance.policy.review.listing import ListedRule, list_rules
from remit_governance.policy.review.replay import LAST, Change, PastCalls, Replay, past_calls, replay
from remit_governance.policy.rules import Policy
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Action, Decision, Reason
from remit_governance.visible import visible
from remit_governance.workflow.test_files import Category
from remit_server.runtime.audit.audit_service import as_audit_errors
from remit_server.runtime.policy.policies import as_setup_error, compile_texts, load_in_force, sources
from remit_server.runtime.settings import Settings

LOOKED_BACK = 20_000
"""The number of past calls that are searched for those that can be judged again."""
MAX_SHOWN = 80


def read_past_calls(database: Path, last: int) -> PastCalls:
    """Returns the last calls of a log that can be judged again; none if nothing was recorded. Raises SetupError."""
    if not database.exists():
        return PastCalls()
    with as_audit_errors(), closing(latest_audit(database, AuditFilter(kind=AuditKind.TOOL_INTENT))) as newest_first:
        # Leave out another agent's calls, because another default policy judges them.
        own = (record for record in newest_first if ELSEWHERE not in record.event.metadata)
        return past_calls(islice(own, LOOKED_BACK), last)


def preview(settings: Settings, text: Source, last: int = LAST) -> Replay:
    """Judges the last calls as if the policy file had this text; nothing is written (EDI-12).

    Raises SetupError if the text, or another file in force, cannot be used.
    """
    with closing(load_in_force(settings)) as in_force:
        with as_setup_error():
            policy = compile_texts(settings, sources(settings, text), in_force.policy)
        return replay(policy, read_past_calls(settings.audit_database, last))


def replay_payload(replay: Replay) -> dict[str, Json]:
    """Returns the changed verdicts as JSON."""
    return {
        "judged": replay.judged,
        "changed": [_payload(change) for change in replay.changes],
        "breaking": len(replay.breaking),
        "skipped": dict(replay.skipped),
    }


def deciding_rules(decision: Decision) -> str:
    """Returns the deciding rules, each with its place: `no-secrets (policy.yaml:7)`."""
    carried = dict.fromkeys(reason for reason in decision.reasons if reason.verdict is decision.verdict)
    return ", ".join(_place(reason) for reason in carried)


def about(action: Action) -> str:
    """Returns an action's path or command on one line."""
    command = action.script or " ".join(action.command or ())
    text = visible(command or action.path or action.host or "", "show")
    return shorten(text, MAX_SHOWN)


def _place(reason: Reason) -> str:
    place = f" ({reason.file}:{reason.line})" if reason.file else ""
    return f"{reason.rule or reason.message}{place}"


def _payload(change: Change) -> dict[str, Json]:
    record = change.call.record
    return {
        "number": record.number,
        "tool_call_id": record.event.tool_call_id,
        "session_id": record.event.session_id,
        "tool": record.event.tool_name,
        "about": [about(action) for action in change.call.actions],
        "was": change.call.was.word,
        "was_rule": record.event.policy_rule_name,
        "now": change.now.verdict.word,
        "now_rules": list(change.now.rules),
        "now_by": deciding_rules(change.now),
        "breaking": change.breaking,
        "redacted": record.event.metadata.get("actions") == "redacted",
    }


CALLS = 1000
"""How many of the last calls are counted by default."""


@dataclass(frozen=True, slots=True)
class CountedRule:
    """A rule, and how many of the counted calls it decided, by verdict."""

    rule: ListedRule
    hits: Counter[str]

    @property
    def json(self) -> dict[str, Json]:
        """The rule and its hits for machines."""
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
    """All rules by layer, and what else policy files set; `calls` is the number of calls that were counted."""

    calls: int
    rules: tuple[CountedRule, ...]
    matrix: Matrix
    test_globs: tuple[tuple[str, ...], ...]
    exemptions: Mapping[Category, tuple[str, ...]]

    @property
    def json(self) -> dict[str, Json]:
        """The rules, intents, globs of tests and exemptions for machines."""
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
    """Returns the rules in force, with `hooks` those for another agent's calls, and how often each decided in the last
    calls.

    Raises SetupError if a file cannot be used.
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
    """Returns the listed rules, and those in force that no policy file spells out: rules that protect Remit's own files
    in the workspace or the tests that a policy names, and the scopes of work items.
    """
    known = {rule.name for rule in rules}
    more = (rule for layer in policy.layers for rule in layer.rules if rule.name not in known)
    made = (ListedRule(r.name, "yaml", r.verdict.word, r.reason, r.file, r.line) for r in more)
    return (*rules, *sorted(made, key=lambda rule: (rule.file or "", rule.line or 0, rule.name)))


def _calls(settings: Settings, last: int) -> tuple[AuditRecord, ...]:
    if not settings.audit_database.exists():
        return ()
    with as_audit_errors():
        return query_audit(settings.audit_database, AuditFilter(kind=AuditKind.TOOL_INTENT, limit=last))
