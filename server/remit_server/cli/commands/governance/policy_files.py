"""`remit policy check|test|show|programs`: checks, tests and shows the policy's files (CLI-01)."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from remit_governance.errors import PolicyError, Problem
from remit_governance.intents import INTENT_TOOLS
from remit_governance.policy.language.compile import Source
from remit_governance.policy.language.load import (
    agent_tools_source,
    default_source,
    hook_default_source,
    load_policy,
    load_programs,
    load_rule,
    load_rules,
    read_source,
    workflow_source,
)
from remit_governance.policy.matching.paths import FOLDS_CASE
from remit_governance.policy.review.listing import ListedRule, describe_program, known_names, like
from remit_governance.policy.review.replay import RuleTest, rule_tests
from remit_governance.policy.review.update import row_difference
from remit_governance.policy.rules import Policy
from remit_governance.policy.shell.catalogue.rows import OwnRows
from remit_governance.values import Verdict
from remit_governance.visible import visible, visible_again
from remit_governance.work_items import SCOPE_RULES
from remit_server.cli.console import print_json, print_result, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import Subcommand, whole_number
from remit_server.contract import ErrorCode
from remit_server.counted import counted
from remit_server.errors import SetupError
from remit_server.runtime.policy.past_calls import CALLS, CountedRules, count_rules
from remit_server.runtime.policy.plugin_rules import load_plugin_rules
from remit_server.runtime.policy.policies import as_setup_error, load_permissions, own_sources, problems_of_rules
from remit_server.runtime.settings import Settings

COLOURS = {"allow": "green", "require_review": "yellow", "deny": "red", "pass": "dim"}
RISKS = {"low": "green", "medium": "yellow", "high": "red"}
SOURCES = {"remit": "what Remit knows", "person": "your row", "project": "the project’s row, which may only tighten"}
WORDS = {
    "otherwise": "anything else",
    "unlisted": "at least, with an option that is not listed",
    "reads_with_unlisted": "what reads, with an option that is not listed",
    "writes": "options that name a file to write",
    "judge": "its words are also checked by",
    "wraps": "runs another command, after these options",
    "refused": "asked about each time",
    "replaced_by": "runs code of the project, whatever its words are, by",
    "is": "another name of",
    "options": "options",
    "subcommands": "subcommands",
}


def _declare_check(parser: argparse.ArgumentParser) -> None:
    what = "policy files, `permissions.yaml`, `programs.yaml` and `.py` rules (default: those in force)"
    parser.add_argument("files", nargs="*", type=Path, help=what)


def _check(arguments: argparse.Namespace) -> int:
    """Checks the files; exit code 1 if one cannot be used. Warnings do not count."""
    settings = Settings.from_environment(arguments.workspace)
    known = (
        *(settings.person_policy, settings.person_permissions, settings.person_programs),
        *(settings.project_policy, settings.project_programs),
    )
    in_force = [path for path in known if path.exists()]
    programs = [file for file in arguments.files if file.suffix == ".py"]
    problems = _wrong_rules(settings, programs, in_force=not arguments.files)
    for file in (file for file in arguments.files or in_force if file not in programs):
        problems += _wrong_file(settings, file)
    good = all(problem.endswith("(warning)") for problem in problems)
    print_result(
        {"ok": good, "problems": problems},
        "\n".join(visible_again(each) for each in problems) or "no problem found",
        as_json=arguments.json,
    )
    return DONE if good else FAILED


def _wrong_file(settings: Settings, file: Path) -> list[str]:
    project = file.resolve() == settings.project_policy.resolve()
    try:
        if file.name == settings.person_permissions.name:
            load_permissions(file)
            return []
        if file.name == settings.person_programs.name:
            theirs = file.resolve() == settings.project_programs.resolve()
            load_programs(None, file) if theirs else load_programs(file)
            return []
        policy = load_policy(None, file) if project else load_policy(file)
    except PolicyError as error:
        return [str(problem) for problem in error.problems]
    denied = () if project or file.resolve().parent.name == ".remit" else _all_denied(policy, file)
    return [f"{warning} (warning)" for warning in (*policy.warnings, *denied)]


def _all_denied(policy: Policy, file: Path) -> Iterator[Problem]:
    """Yields a warning if no rule in the file allows or asks, so that the file denies everything."""
    written = (rule for layer in policy.layers for rule in layer.rules if rule.file == str(file))
    if all(rule.verdict is Verdict.DENY for rule in written):
        fix = "add rules that allow or ask: `remit policy show --default` prints a whole policy to begin with"
        yield Problem(str(file), 1, 1, "no rule allows or asks: everything is denied", fix)


def _wrong_rules(settings: Settings, files: Iterable[Path], *, in_force: bool) -> list[str]:
    """Returns the problems of extension rules: of these files, and if `in_force` of those in force."""
    try:
        rules = tuple(load_rule(file) for file in files)
        if in_force:
            rules = (*load_rules(settings.person_rules), *load_plugin_rules(settings.person_policy.parent))
    except PolicyError as error:
        return [str(problem) for problem in error.problems]
    return [str(problem) for problem in problems_of_rules(rules, settings)]


def _declare_test(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", type=Path, help="policy files (default: those in force)")


def _test(arguments: argparse.Namespace) -> int:
    """Runs the examples; exit code 1 if one fails or a file cannot be read. Rules without examples are listed, and do
    not fail.
    """
    settings = Settings.from_environment(arguments.workspace)
    tests: list[RuleTest] = []
    problems: list[str] = []
    try:
        for source in [read_source(file) for file in arguments.files] or own_sources(settings):
            tests += _run_examples(source, problems)
    except PolicyError as error:
        problems += [str(problem) for problem in error.problems]
    failed = sum(len(test.failures) for test in tests)
    if arguments.json:
        rules = [_test_payload(test) for test in tests]
        print_json({"ok": not failed and not problems, "rules": rules, "problems": problems})
    else:
        _show_tests(tests, problems)
    return FAILED if failed or problems else DONE


def _run_examples(source: Source, problems: list[str]) -> tuple[RuleTest, ...]:
    try:
        return tuple(rule_tests(source, FOLDS_CASE))
    except PolicyError as error:
        problems += [str(problem) for problem in error.problems]
        return ()


def _test_payload(test: RuleTest) -> dict[str, object]:
    return {
        "rule": test.name,
        "file": test.file,
        "line": test.line,
        "passed": test.passed,
        "failed": len(test.failures),
        "failures": [str(problem) for problem in test.failures],
    }


def _show_tests(tests: list[RuleTest], problems: list[str]) -> None:
    for problem in problems:
        say(problem)
    for test in tests:
        say(f"{_mark(test)}  {visible_again(f'{test.name} ({test.file}:{test.line})', 'show')}: {_count_words(test)}")
        for failure in test.failures:
            say(f"   {visible_again(str(failure))}")
    examples, failed = sum(test.examples for test in tests), sum(len(test.failures) for test in tests)
    bare = sum(not test.examples for test in tests)
    found = f"{counted(len(tests), 'rule')}, {counted(examples, 'example')}, {failed} failed"
    say(f"{found}; {counted(bare, 'rule')} without examples")


def _mark(test: RuleTest) -> str:
    if test.failures:
        return style_text("✗", "red")
    return style_text("✓", "green") if test.examples else style_text("–", "dim")


def _count_words(test: RuleTest) -> str:
    if not test.examples:
        return "no examples"
    return f"{test.passed} passed" + (f", {len(test.failures)} failed" if test.failures else "")


def _declare_show(parser: argparse.ArgumentParser) -> None:
    counted = f"count in the last N calls (default {CALLS})"
    parser.add_argument("-n", "--last", type=whole_number, default=CALLS, metavar="N", help=counted)
    parser.add_argument("--hooks", action="store_true", help="the rules for another agent's calls, as `remit hook` has")
    parser.add_argument(
        "--default", action="store_true", help="print the packaged default, to begin your own file with"
    )


def _show(arguments: argparse.Namespace) -> int:
    """Lists the rules, or prints the packaged default. Raises SetupError if a file cannot be used."""
    if arguments.default:
        source = hook_default_source() if arguments.hooks else default_source()
        print_result({"file": source.file, "text": source.text}, source.text.rstrip("\n"), as_json=arguments.json)
        return DONE
    counted = count_rules(Settings.from_environment(arguments.workspace), arguments.last, hooks=arguments.hooks)
    if arguments.json:
        print_json(counted.json)
    else:
        for line in _rule_lines(counted):
            say(line)
    return DONE


def _rule_lines(counted: CountedRules) -> Iterator[str]:
    for head, group in groupby(counted.rules, lambda each: _head(each.rule)):
        yield style_text(head, "bold")
        for each in group:
            yield f"  {_describe_rule(each.rule, each.hits)}"
            for why in _warnings(each.rule):
                yield f"      {style_text(why, 'yellow')}"
    yield f"counted in the last {counted.calls} calls" if counted.calls else "no calls have been recorded yet"
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


def _declare_programs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="what Remit knows about this program (default: list all)"
    )


def _programs(arguments: argparse.Namespace) -> int:
    """Lists the programs, or shows one. Raises SetupError if a file cannot be used, or the program is not known."""
    settings = Settings.of_places(arguments.workspace)
    with as_setup_error():
        own = load_programs(settings.person_programs, settings.project_programs)
    if arguments.name is None:
        names = known_names(own)
        print_result({"programs": list(names)}, "\n".join(names), as_json=arguments.json)
        return DONE
    described = describe_program(arguments.name, own)
    if not described["rows"]:
        raise _unknown(arguments.name, own)
    print_result(described, "\n".join(_program_lines(described)), as_json=arguments.json)
    return DONE


def _unknown(name: str, own: OwnRows) -> SetupError:
    near = like(name, own)
    return SetupError(
        f"Remit knows nothing about `{visible(name, 'show')}`",
        "no row names it: not Remit's, not yours, not the project's",
        f"did you mean `{near}`?" if near else "add a row for it to your programs.yaml",
        code=ErrorCode.NOT_FOUND,
    )


def _program_lines(described: Any) -> Iterator[str]:
    for row in described["rows"]:
        yield style_text(SOURCES[row["from"]], "bold")
        for effect, does in row.get("does", {}).items():
            yield f"  {style_text(effect, RISKS[does['risk']])} (risk {does['risk']}): {_shown(does['words'])}"
        for key, what in WORDS.items():
            if key in row:
                yield f"  {what}: {_shown(row[key])}"


def _shown(words: Any) -> str:
    return visible(words if isinstance(words, str) else ", ".join(words), "show")


CHECK = Subcommand(_check, "check policy files for mistakes", _declare_check)
TEST = Subcommand(_test, "run the examples in each rule", _declare_test)
SHOW = Subcommand(_show, "show all rules, how often each decided, and which never can", _declare_show)
PROGRAMS = Subcommand(
    _programs, "show the programs whose commands are known, or what is known about one", _declare_programs
)
