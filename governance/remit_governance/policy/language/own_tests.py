"""Files that are tests besides the usual ones, as rules of the workflow (FLW-03)."""

from __future__ import annotations

from dataclasses import dataclass

from remit_governance.policy.language.policy_form import MatchForm, RuleForm
from remit_governance.workflow.test_files import TEST_GLOBS


@dataclass(frozen=True, slots=True)
class OwnTests:
    """What `tdd_tests` names: the person's are tests, and so are they for every rule; a project's are locked only.

    So that a project cannot make of its source what may be written before a test has failed.
    """

    person: tuple[tuple[str, ...], ...] = ()
    project: tuple[tuple[str, ...], ...] = ()

    @property
    def locked(self) -> tuple[tuple[str, ...], ...]:
        """All of them, a list for each file: an exclusion in one takes nothing out of another."""
        return (*self.person, *self.project)


def with_own_tests(rule: RuleForm, own: OwnTests) -> tuple[RuleForm, ...]:
    """Returns a packaged rule of the workflow, and those that hold files named besides as it holds the usual tests."""
    return (_excepting(rule, own), *_locking(rule, own))


def _excepting(rule: RuleForm, own: OwnTests) -> RuleForm:
    if not any(match.path_glob == TEST_GLOBS for match in rule.except_):
        return rule
    more = tuple(MatchForm(path_glob=globs) for globs in own.person)
    return rule.model_copy(update={"except_": (*rule.except_, *more)})


def _locking(rule: RuleForm, own: OwnTests) -> tuple[RuleForm, ...]:
    if rule.match.path_glob != TEST_GLOBS:
        return ()
    return tuple(
        rule.model_copy(
            update={
                "name": f"{rule.name}.{number}",
                "match": rule.match.model_copy(update={"path_glob": globs}),
                "examples": type(rule.examples)(),
            }
        )
        for number, globs in enumerate(own.locked, 1)
    )
