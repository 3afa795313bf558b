"""Finds in the audit log what hooked agents were asked about most, and the rule that would allow it (HOK-04)."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from remit_governance.audit.log.unfinished_calls import ELSEWHERE
from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.record import AuditKind, AuditRecord
from remit_governance.errors import AuditError
from remit_governance.permissions.permissions import PermissionRule
from remit_governance.permissions.remembered import rule_text
from remit_governance.policy.decision.recorded import recorded_actions
from remit_governance.policy.matching.command_match import is_script
from remit_governance.values import Action
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError

CALLS = 2_000
"""How many of the last calls are counted."""
_PROPOSED = frozenset({"process.exec", "agent.tool", "fs.write"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that was asked about, or denied because nobody could be asked: how often, and the rule that would allow
    exactly that, None if no rule can say it.
    """

    what: str
    times: int
    rule: PermissionRule | None

    @property
    def line(self) -> str:
        """The rule as a line of `permissions.yaml`."""
        return "" if self.rule is None else rule_text(self.rule)


def most_asked(database: Path, workspace: Path, last: int = CALLS) -> tuple[Asked, ...]:
    """Returns what was asked about, most often first. Raises SetupError if the log cannot be read."""
    if not database.exists():
        return ()
    try:
        records = query_audit(database, AuditFilter(kind=AuditKind.TOOL_INTENT, limit=last))
    except AuditError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.AUDIT_BROKEN) from error
    return count_asked(records, workspace)


def count_asked(records: Iterable[AuditRecord], workspace: Path) -> tuple[Asked, ...]:
    """Returns what was asked about in these records, most often first. What the person's own rules denied was not."""
    counted: Counter[str] = Counter()
    rules: dict[str, PermissionRule | None] = {}
    for record in records:
        event = record.event
        asked = event.policy_decision == "review_required" and event.denied_by != "standing_answer"
        if ELSEWHERE not in event.metadata or not asked:
            continue
        actions = recorded_actions(event)
        what = _describe(event.tool_name or "-", actions)
        counted[what] += 1
        rules[what] = _rule_for(actions, workspace)
    return tuple(Asked(what, times, rules[what]) for what, times in counted.most_common())


def _describe(tool: str, actions: tuple[Action, ...]) -> str:
    first = next(iter(actions), None)
    if first is None:
        return tool
    command = shlex.join(first.command) if first.command and first.script is None else first.script
    return f"{tool}: {command or first.path or first.host or first.syscall}"


def _rule_for(actions: tuple[Action, ...], workspace: Path) -> PermissionRule | None:
    """Returns the rule that allows exactly the first action; None if no rule can, or the action has doubts."""
    first = next(iter(actions), None)
    if first is None or first.syscall not in _PROPOSED or first.doubts or is_script(first.command):
        return None
    given: Mapping[str, Mapping[str, object]] = {
        "process.exec": {"argv": first.command},
        "agent.tool": {"syscall": (first.syscall,), "tool": (first.tool,)},
        "fs.write": {"syscall": (first.syscall,), "path": (first.path,)},
    }
    try:
        rule = PermissionRule.model_validate({**given[first.syscall], "workspace": str(workspace)})
    except ValueError:
        return None
    return rule if rule.covers(first) else None
