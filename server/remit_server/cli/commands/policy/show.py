"""`remit policy show`: every rule, its place, what it matches, how often it decided, and whether it ever can."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from remit_governance.intents import INTENT_TOOLS
from remit_governance.policy.language.load import (
    agent_tools_source,
    default_source,
    hook_default_source,
    workflow_source,
)
from remit_governance.policy.review.listing import ListedRule
from remit_governance.policy.review.settings_changes import row_difference
from remit_governance.visible import visible
from remit_governance.work_items.items import SCOPE_RULES
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE
from remit_server.cli.usage import whole_number
from remit_server.runtime.policy.listed_rules import CALLS, CountedRules, count_rules
from remit_server.runtime.settings import Settings

COLOURS = {"allow": "green", "require_review": "yellow", "deny": "red", "pass": "dim"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    counted = f"count in the last N calls (default {CALLS})"
    parser.add_argument("-n", "--last", type=whole_number, default=CALLS, metavar="N", help=counted)
    parser.add_argument("--hooks", action="store_true", help="the rules for another agent's calls, as `remit hook` has")


def run(arguments: argparse.Namespace) -> int:
    """Lists the rules. Raises SetupError where a file cannot be used."""
    counted = count_rules(Settings.from_environment(arguments.workspace), arguments.last, hooks=arguments.hooks)
    if arguments.json:
        print_json(counted.json)
    else:
        for line in _lines(counted):
            say(line)
    return DONE


def _lines(counted: CountedRules) -> Iterator[str]:
    yield style_text("what each intent opens", "bold")
    for intent, row in counted.matrix.items():
        words = row_difference(intent, INTENT_TOOLS, counted.matrix)
        changed = style_text(f" (changed by a policy file: {words})", "yellow") if words else ""
        effects = [f"added tools of effect {effect}" for effect in sorted(row.external)]
        yield f"  {intent}: {', '.join((*row.tools, *effects)) or 'nothing'}{changed}"
    yield style_text("which files are locked with the tests", "bold")
    yield from (f"  {visible(', '.join(globs), 'show')}" for globs in counted.test_globs)
    yield style_text("which files need no failing test first, by exemption", "bold")
    yield from (f"  {category}: {visible(', '.join(globs), 'show')}" for category, globs in counted.exemptions.items())
    for head, group in groupby(counted.rules, lambda each: _head(each.rule)):
        yield style_text(head, "bold")
        for each in group:
            yield f"  {_describe_rule(each.rule, each.hits)}"
            for why in _warnings(each.rule):
                yield f"      {style_text(why, 'yellow')}"
    yield f"counted in the last {counted.calls} calls" if counted.calls else "no calls have been recorded yet"


def _head(rule: ListedRule) -> str:
    if rule.layer == "builtin":
        return "built in"
    if rule.name.startswith(SCOPE_RULES):
        return f"the scopes of work items ({rule.file})"
    if rule.file == workflow_source().file:
        return f"the packaged workflow ({rule.file})"
    if rule.file in {hook_default_source().file, agent_tools_source().file}:
        return f"packaged for hooks ({rule.file})"
    if rule.file == default_source().file:
        return f"the packaged default ({rule.file})"
    return f"{'the project’s' if rule.project else 'yours'} ({rule.file})"


def _describe_rule(rule: ListedRule, hits: Counter[str]) -> str:
    counted = ", ".join(f"{word} {count}" for word, count in hits.items()) or "no decisions"
    place = f":{rule.line} " if rule.line else ""
    return (
        f"{place}{style_text(rule.action, COLOURS[rule.action])} {rule.name}: {visible(rule.match, 'show')} · {counted}"
    )


def _warnings(rule: ListedRule) -> Iterator[str]:
    yield from (f"dead: {why}" for why in rule.dead)
    if rule.shadowed_by:
        yield f"shadowed: {rule.shadowed_by} is stricter and applies wherever this rule does"
