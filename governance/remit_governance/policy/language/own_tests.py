"""Files that are tests besides the usual ones, and those that are none, as rules of the workflow (FLW-03)."""

from __future__ import annotations

from dataclasses import dataclass

from remit_governance.policy.language.policy_form import MatchForm, RuleForm
from remit_governance.workflow.test_files import TEST_GLOBS


@dataclass(frozen=True, slots=True)
class OwnTests:
    """What `tdd_tests` names: the person's are tests, and so are they for every rule; a project's are locked only.

    So that a project cannot make of its source what may be written before a test has failed. `excluded` is what the
    person says is no test; what the project has locked stays so.
    """

    person: tuple[tuple[str, ...], ...] = ()
    project: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()

    @property
    def tests(self) -> tuple[tuple[str, ...], ...]:
        """What is a test for every rule, a list for each file: an exclusion in one takes nothing out of another."""
        return tuple(self.without_excluded(globs) for globs in (TEST_GLOBS, *self.person))

    @property
    def locked(self) -> tuple[tuple[str, ...], ...]:
        """What is locked with the tests."""
        return (*self.tests, *self.project)

    def without_excluded(self, globs: tuple[str, ...]) -> tuple[str, ...]:
        """Returns globs that match none of what is no test."""
        return (*globs, *(f"!{glob}" for glob in self.excluded))


def with_own_tests(rule: RuleForm, own: OwnTests) -> tuple[RuleForm, ...]:
    """Returns a packaged rule of the workflow, and those that hold files named besides as it holds the usual tests."""
    if rule.match.path_glob == TEST_GLOBS:
        return tuple(_locking(rule, globs, number) for number, globs in enumerate(own.locked))
    return (_excepting(rule, own),)


def _excepting(rule: RuleForm, own: OwnTests) -> RuleForm:
    if not any(match.path_glob == TEST_GLOBS for match in rule.except_):
        return rule
    others = tuple(match for match in rule.except_ if match.path_glob != TEST_GLOBS)
    tests = tuple(MatchForm(path_glob=globs) for globs in own.tests)
    return _changed(rule, own, {"except_": (*others, *tests)})


def _locking(rule: RuleForm, globs: tuple[str, ...], number: int) -> RuleForm:
    match = rule.match.model_copy(update={"path_glob": globs})
    if globs == TEST_GLOBS:
        return rule
    name = f"{rule.name}.{number}" if number else rule.name
    return rule.model_copy(update={"name": name, "match": match, "examples": type(rule.examples)()})


def _changed(rule: RuleForm, own: OwnTests, update: dict[str, object]) -> RuleForm:
    """Returns the rule; its examples are of everybody's tests, and need not hold where a person takes some out."""
    return rule.model_copy(update=update | ({"examples": type(rule.examples)()} if own.excluded else {}))
