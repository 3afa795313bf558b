"""`remit policy test`: runs each rule's own examples."""

from __future__ import annotations

import argparse
from pathlib import Path

from remit_governance.errors import PolicyError
from remit_governance.policy.language.compile import Source
from remit_governance.policy.language.load import read_source
from remit_governance.policy.matching.paths import FOLDS_CASE
from remit_governance.policy.review.replay import RuleTest, rule_tests
from remit_governance.visible import visible_again
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.runtime.policy.policy_files import own_sources
from remit_server.runtime.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("files", nargs="*", type=Path, help="policy files (default: those in force)")


def run(arguments: argparse.Namespace) -> int:
    """Runs the examples; 1 where one fails or a file cannot be read. Rules without examples are listed, and do not
    fail.
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
        rules = [_payload(test) for test in tests]
        print_json({"ok": not failed and not problems, "rules": rules, "problems": problems})
    else:
        _show(tests, problems)
    return FAILED if failed or problems else DONE


def _run_examples(source: Source, problems: list[str]) -> tuple[RuleTest, ...]:
    try:
        return tuple(rule_tests(source, FOLDS_CASE))
    except PolicyError as error:
        problems += [str(problem) for problem in error.problems]
        return ()


def _payload(test: RuleTest) -> dict[str, object]:
    return {
        "rule": test.name,
        "file": test.file,
        "line": test.line,
        "passed": test.passed,
        "failed": len(test.failures),
        "failures": [str(problem) for problem in test.failures],
    }


def _show(tests: list[RuleTest], problems: list[str]) -> None:
    for problem in problems:
        say(problem)
    for test in tests:
        say(f"{_mark(test)}  {visible_again(f'{test.name} ({test.file}:{test.line})', 'show')}: {_count_words(test)}")
        for failure in test.failures:
            say(f"   {visible_again(str(failure))}")
    examples, failed = sum(test.examples for test in tests), sum(len(test.failures) for test in tests)
    bare = sum(not test.examples for test in tests)
    say(f"{len(tests)} rules, {examples} examples, {failed} failed; {bare} rules without examples")


def _mark(test: RuleTest) -> str:
    if test.failures:
        return style_text("✗", "red")
    return style_text("✓", "green") if test.examples else style_text("–", "dim")


def _count_words(test: RuleTest) -> str:
    if not test.examples:
        return "no examples"
    return f"{test.passed} passed" + (f", {len(test.failures)} failed" if test.failures else "")
