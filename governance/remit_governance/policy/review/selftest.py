"""Rules tested by their own examples, each with its count (POL-06). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remit_governance.errors import Problem
from remit_governance.policy.language.action_form import example_faults
from remit_governance.policy.language.compile import Source, compile_rule, parse_policy


@dataclass(frozen=True, slots=True)
class RuleTest:
    """The outcome for one rule: how many examples it has, and a problem for each that failed."""

    name: str
    file: str
    line: int
    examples: int
    failures: tuple[Problem, ...]

    @property
    def passed(self) -> int:
        """Counts the examples that it takes as they say."""
        return self.examples - len(self.failures)


def rule_tests(source: Source, fold_case: bool = False) -> Iterator[RuleTest]:
    """Every rule of a file against its examples. Raises PolicyError where the file cannot be read as a policy."""
    document, form = parse_policy(source.file, source.text)
    for i, entry in enumerate(form.capabilities):
        place = ("capabilities", i)
        line = document.mark(place)[0]
        rule = compile_rule(entry, line, source, fold_case)
        failures = tuple(example_faults(entry, rule, document, place))
        count = len(entry.examples.match) + len(entry.examples.not_match)
        yield RuleTest(entry.name, source.file, line, count, failures)
