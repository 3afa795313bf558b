"""What policy files and work items say besides rules. Pure.

Further files that are tests, and files that are not, change the rules of the workflow (FLW-03). The scopes of work
items become rules that deny (INT-10). The person's file replaces rows of the intent matrix; a project's file only
narrows them (INT-08).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from remit_governance.errors import Problem
from remit_governance.intents import INTENT_TOOLS, PERSONS_OWN, IntentRow, Matrix, canonical_tool
from remit_governance.policy.language.document import Document
from remit_governance.policy.language.policy_form import IntentForm, IntentsForm, MatchForm, RuleForm
from remit_governance.policy.matching.paths import compile_globs
from remit_governance.policy.rules import Condition, Rule, Subject
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Intent, Verdict
from remit_governance.work_items import SCOPE_RULES, WorkItem, WorkItems
from remit_governance.workflow.test_files import TEST_GLOBS


@dataclass(frozen=True, slots=True)
class OwnTests:
    """The globs that `tdd_tests` names. The person's are tests for every rule; a project's are only locked like tests.

    Otherwise a project could declare its source to be tests, which may be written before a test has failed. `excluded`
    are globs of files that the person says are no tests; files that the project has locked stay locked.
    """

    person: tuple[tuple[str, ...], ...] = ()
    project: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()

    @property
    def tests(self) -> tuple[tuple[str, ...], ...]:
        """The globs of tests for every rule: one list for each policy file, because an exclusion in one file takes
        nothing out of another."""
        return tuple(self.without_excluded(globs) for globs in (TEST_GLOBS, *self.person))

    @property
    def locked(self) -> tuple[tuple[str, ...], ...]:
        """The globs of all files that are locked with the tests, the tests included."""
        return (*self.tests, *self.project)

    def without_excluded(self, globs: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the globs, changed so that they match no file that the person says is no test."""
        return (*globs, *(f"!{glob}" for glob in self.excluded))


def with_own_tests(rule: RuleForm, own: OwnTests) -> tuple[RuleForm, ...]:
    """Returns the rules that a packaged rule of the workflow becomes, so that it treats the files in `own` like the
    usual tests."""
    if rule.match.path_glob == TEST_GLOBS:
        return tuple(_locking(rule, globs, number) for number, globs in enumerate(own.locked))
    return (_excepting(rule, own),)


def _excepting(rule: RuleForm, own: OwnTests) -> RuleForm:
    if not any(match.path_glob == TEST_GLOBS for match in rule.except_):
        return rule
    others = tuple(match for match in rule.except_ if match.path_glob != TEST_GLOBS)
    tests = tuple(MatchForm(path_glob=globs) for globs in own.tests)
    return _changed_rule(rule, own, {"except_": (*others, *tests)})


def _locking(rule: RuleForm, globs: tuple[str, ...], number: int) -> RuleForm:
    match = rule.match.model_copy(update={"path_glob": globs})
    if globs == TEST_GLOBS:
        return rule
    name = f"{rule.name}.{number}" if number else rule.name
    return rule.model_copy(update={"name": name, "match": match, "examples": type(rule.examples)()})


def _changed_rule(rule: RuleForm, own: OwnTests, update: dict[str, object]) -> RuleForm:
    """Returns the rule with these changes. Its examples are about the usual tests, so they are dropped if the person
    excludes some."""
    return rule.model_copy(update=update | ({"examples": type(rule.examples)()} if own.excluded else {}))


def change_matrix(matrix: Matrix, form: IntentsForm, *, narrow: bool) -> Matrix:
    """Returns the matrix with the rows of a file; with `narrow`, a row only keeps what both have."""
    rows = {intent: _changed(row, _row_of(form, intent), narrow=narrow) for intent, row in matrix.items()}
    return MappingProxyType(rows)


def find_widened(matrix: Matrix, form: IntentsForm, document: Document) -> Iterator[Problem]:
    """Yields a problem for each intent for which a project's file would open more than `matrix` does."""
    for intent, row in matrix.items():
        if (given := _row_of(form, intent)) is None:
            continue
        more = [name for name in given.tools or () if canonical_tool(name) not in row.tools]
        more += [effect.value for effect in given.effects or () if effect not in row.external]
        if more:
            yield document.problem(
                ("intents", intent.value),
                f"{intent} would open {', '.join(more)}, and a project's policy may only narrow",
                "leave it out, or move it to your own policy file",
            )


def find_unknown_tools(form: IntentsForm, document: Document) -> Iterator[Problem]:
    """Yields a warning for each name that is no tool of Remit's own: it opens nothing unless such a tool is added."""
    known = {name for row in INTENT_TOOLS.values() for name in row.tools}
    for intent in INTENT_TOOLS:
        given = _row_of(form, intent)
        for position, name in enumerate(given.tools or () if given else ()):
            if canonical_tool(name) not in known:
                place = ("intents", intent.value, "tools", position)
                yield document.problem(place, f"`{name}` is not one of Remit's own tools", "correct it, or add it")


def _row_of(form: IntentsForm, intent: Intent) -> IntentForm | None:
    found: IntentForm | None = getattr(form, intent.value)
    return found


def _changed(row: IntentRow, form: IntentForm | None, *, narrow: bool) -> IntentRow:
    if form is None:
        return row
    own = [name for name in row.tools if name in PERSONS_OWN]
    tools = row.tools if form.tools is None else tuple(dict.fromkeys((*map(canonical_tool, form.tools), *own)))
    effects = row.external if form.effects is None else frozenset(form.effects)
    if narrow:
        return IntentRow(tuple(name for name in row.tools if name in tools), row.external & effects)
    return IntentRow(tools, effects)


def scope_rules(items: WorkItems, fold_case: bool) -> Iterator[Rule]:
    """Yields, for each work item, the rule that denies all writes outside its scope to a step that named the item."""
    for item in items.values():
        yield Rule(
            name=f"{SCOPE_RULES}{item.id}",
            verdict=Verdict.DENY,
            reason=shorten(f"it is outside the owned_scope of work item {item.id}: {', '.join(item.owned_scope)}", 500),
            matches=_outside_scope(item, fold_case),
            syscalls=frozenset({"fs.write"}),
            file=item.file,
            line=item.line,
        )


def _outside_scope(item: WorkItem, fold_case: bool) -> Condition:
    inside = compile_globs(item.owned_scope, fold_case)

    def matches(subject: Subject) -> bool:
        if subject.action.work_item != item.id:
            return False
        path = subject.folded if fold_case else subject.path
        return path is None or not inside(path)

    return matches
