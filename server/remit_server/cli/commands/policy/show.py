"""`remit policy show`: every rule, its place, what it matches, how often it decided, and whether it ever can."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby

from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.record import AuditKind, AuditRecord
from remit_governance.errors import AuditError
from remit_governance.policy.editing.hits import count_decisions
from remit_governance.policy.language.load import default_source
from remit_governance.policy.review.listing import ListedRule, list_rules
from remit_governance.visible import visible
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE
from remit_server.cli.usage import whole_number
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.policy.policy_files import as_setup_error, sources
from remit_server.runtime.settings import Settings

CALLS = 1000
COLOURS = {"allow": "green", "require_review": "yellow", "deny": "red", "pass": "dim"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    counted = f"count in the last N calls (default {CALLS})"
    parser.add_argument("-n", "--last", type=whole_number, default=CALLS, metavar="N", help=counted)


def run(arguments: argparse.Namespace) -> int:
    """Lists the rules. Raises SetupError where a file cannot be used."""
    settings = Settings.from_environment(arguments.workspace)
    load_in_force(settings).close()
    with as_setup_error():
        rules = list_rules(sources(settings))
    calls = _calls(settings, arguments.last)
    counted = count_decisions(calls)
    if arguments.json:
        print_json({"calls": len(calls), "rules": [_payload(rule, counted) for rule in rules]})
    else:
        for line in _lines(rules, counted, len(calls)):
            say(line)
    return DONE


def _calls(settings: Settings, last: int) -> tuple[AuditRecord, ...]:
    if not settings.audit_database.exists():
        return ()
    try:
        return query_audit(settings.audit_database, AuditFilter(kind=AuditKind.TOOL_INTENT, limit=last))
    except AuditError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.AUDIT_BROKEN) from error


def _payload(rule: ListedRule, counted: Mapping[str, Counter[str]]) -> dict[str, object]:
    return {
        "rule": rule.name,
        "layer": rule.layer,
        "project": rule.project,
        "action": rule.action,
        "match": rule.match,
        "file": rule.file,
        "line": rule.line,
        "hits": dict(counted.get(rule.name, {})),
        "dead": list(rule.dead),
        "shadowed_by": rule.shadowed_by,
    }


def _lines(rules: tuple[ListedRule, ...], counted: Mapping[str, Counter[str]], calls: int) -> Iterator[str]:
    for head, group in groupby(rules, _head):
        yield style_text(head, "bold")
        for rule in group:
            yield f"  {_describe_rule(rule, counted.get(rule.name, Counter()))}"
            for why in _warnings(rule):
                yield f"      {style_text(why, 'yellow')}"
    yield f"counted in the last {calls} calls" if calls else "no calls have been recorded yet"


def _head(rule: ListedRule) -> str:
    if rule.layer == "builtin":
        return "built in"
    if rule.file == default_source().file:
        return f"the packaged default ({rule.file})"
    return f"{'the project’s' if rule.project else 'yours'} ({rule.file})"


def _describe_rule(rule: ListedRule, hits: Counter[str]) -> str:
    counted = ", ".join(f"{word} {count}" for word, count in hits.items()) or "decided none"
    place = f":{rule.line} " if rule.line else ""
    return (
        f"{place}{style_text(rule.action, COLOURS[rule.action])} {rule.name}: {visible(rule.match, 'show')} · {counted}"
    )


def _warnings(rule: ListedRule) -> Iterator[str]:
    yield from (f"dead: {why}" for why in rule.dead)
    if rule.shadowed_by:
        yield f"shadowed: {rule.shadowed_by} is stricter and applies wherever this rule does"
