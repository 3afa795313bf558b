"""Compiles policy sources into a policy: parses them, checks rules against their own examples, and indexes them
(POL-05).

Several sources make one policy. A source marked `project` comes with a workspace and may only tighten: it cannot allow,
and its reviews turn an allow into a question but do not replace an allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar, cast

from pydantic import BaseModel

from remit_governance.canonical import Json, digest
from remit_governance.errors import PolicyError, Problem
from remit_governance.intents import INTENT_TOOLS
from remit_governance.policy.decision.builtin import BUILTIN, builtin_layer
from remit_governance.policy.language.action_form import ActionForm, example_faults
from remit_governance.policy.language.besides_rules import (
    OwnTests,
    change_matrix,
    find_unknown_tools,
    find_widened,
    scope_rules,
    with_own_tests,
)
from remit_governance.policy.language.document import OF_PROJECT, OWN, Document, Most, Place
from remit_governance.policy.language.parse_form import parse_form
from remit_governance.policy.language.policy_form import (
    ConstraintsForm,
    ExamplesForm,
    ExemptionForm,
    ExemptionsForm,
    IntentForm,
    IntentsForm,
    MatchForm,
    PolicyForm,
    RedactForm,
    RuleForm,
    TestFilesForm,
)
from remit_governance.policy.language.rule_warnings import warnings_of
from remit_governance.policy.matching.command_match import Match
from remit_governance.policy.matching.conditions import any_of, compile_match, on_path
from remit_governance.policy.matching.index import keys_of_match
from remit_governance.policy.matching.paths import wild_chars
from remit_governance.policy.rules import SANDBOXES, Constraints, Layer, Policy, Rule
from remit_governance.policy.shell.catalogue.rows import NO_ROWS, OwnRows
from remit_governance.secrets.secret_patterns import SecretPattern
from remit_governance.values import Intent, SandboxName, Verdict
from remit_governance.work_items import SCOPE_RULES, WorkItem, WorkItems
from remit_governance.workflow.states import Mode
from remit_governance.workflow.test_files import CATEGORIES, DEFAULT_GLOBS

MAX_WILD_CHARS = 200_000
"""The most characters of globs with wildcards that may have to be matched with one path. For so many, RE2 takes about a
second with the longest path."""

KEPT, MOST_KEPT = 16, 20_000
"""So many sources, of at most so many characters each, are compiled once in a process: first of all the packaged ones,
which are a part of nearly every policy."""

_FORMS: Mapping[str, type[BaseModel]] = {
    "capabilities": RuleForm,
    "redact": RedactForm,
    "match": MatchForm,
    "except": MatchForm,
    "constraints": ConstraintsForm,
    "examples": ExamplesForm,
    "tdd_exemptions": ExemptionsForm,
    "intents": IntentsForm,
    **dict.fromkeys((intent.value for intent in Intent), IntentForm),
    **dict.fromkeys(CATEGORIES, ExemptionForm),
    "tdd_tests": TestFilesForm,
}
"""Key → the form of what stands below it."""

_TO_STRICT = MatchForm(syscall=("session.set_mode",), mode=(Mode.STRICT,))
"""An exception to every rule of a project, so that a person who asks for the strictest mode gets it (FLW-07)."""

_VERDICTS = {verdict.word: verdict for verdict in Verdict}


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one policy file, whether it came with the workspace, and whether it is the workflow's own."""

    file: str
    text: str
    project: bool = False
    workflow: bool = False


def compile_policy(
    sources: Sequence[Source],
    fold_case: bool = False,
    own: Sequence[str] = (),
    work_items: WorkItems | None = None,
    programs: OwnRows = NO_ROWS,
) -> Policy:
    """Returns one policy of all sources, the scopes of the work items, the built-in rules, and the rows of programs.

    `fold_case` is whether the workspace's file system ignores case; `own` are Remit's own files and folders that lie in
    the workspace, relative to it. Raises PolicyError with every problem found.
    """
    problems: list[Problem] = []
    warnings: list[Problem] = []
    rules: dict[str, Rule] = {}
    wild = _WildChars()
    redact: list[SecretPattern] = []
    exemptions = dict(DEFAULT_GLOBS)
    matrix = INTENT_TOOLS
    parsed = tuple(_parse_each(sources, problems))
    tests = _own_tests(parsed)
    for source, document, form in parsed:
        warnings.extend((*_warned(source), *find_unknown_tools(form.intents, document)))
        problems.extend(_loosened(form, document, source))
        problems.extend(find_widened(matrix, form.intents, document) if source.project else ())
        matrix = change_matrix(matrix, form.intents, narrow=source.project)
        exemptions |= {
            category: each.path_glob for category in CATEGORIES if (each := getattr(form.tdd_exemptions, category))
        }
        redact.extend(SecretPattern(entry.name, entry.pattern, source.project) for entry in form.redact)
        for place, rule, faults in _compiled(source, tests, fold_case):
            problems.extend((*_taken(rule, rules.get(rule.name), document, place), *faults))
            before = wild.total
            wild.add(rule)
            if before <= MAX_WILD_CHARS < wild.total:
                problems.append(_too_wild(document, place))
            rules.setdefault(rule.name, rule)
    if problems:
        raise PolicyError(tuple(problems))
    scopes = () if work_items is None else scope_rules(work_items, fold_case)
    return Policy(
        version=_version(sources, fold_case, own, work_items, programs),
        layers=(builtin_layer(tuple(own)), Layer.of("yaml", [*rules.values(), *scopes])),
        warnings=tuple(warnings),
        files=(*(source.file for source in sources), *programs.files),
        redact=tuple(redact),
        exemptions=exemptions,
        test_globs=tests.locked,
        matrix=matrix,
        work_items=work_items,
        programs=programs,
    )


def _parse_each(sources: Sequence[Source], problems: list[Problem]) -> Iterator[tuple[Source, Document, PolicyForm]]:
    """Yields the sources that can be read with their content, and adds the problems of the others to `problems`."""
    for source in sources:
        try:
            yield source, *_parsed(source)
        except PolicyError as error:
            problems.extend(error.problems)


P = ParamSpec("P")
T = TypeVar("T")


def _remembered(work: Callable[Concatenate[Source, P], T]) -> Callable[Concatenate[Source, P], T]:
    """Keeps what a function makes of the last sources, unless they are large."""
    once = cast("Callable[Concatenate[Source, P], T]", lru_cache(KEPT)(work))

    @wraps(work)
    def remembering(source: Source, /, *more: P.args, **named: P.kwargs) -> T:
        return (once if len(source.text) <= MOST_KEPT else work)(source, *more, **named)

    return remembering


@_remembered
def _parsed(source: Source) -> tuple[Document, PolicyForm]:
    """Returns a source's places and its checked content. Raises PolicyError with every problem found."""
    return parse_policy(source.file, source.text, OF_PROJECT if source.project else OWN)


@_remembered
def _warned(source: Source) -> tuple[Problem, ...]:
    """Returns the warnings about the rules of a source that can be read."""
    return tuple(warnings_of(*_parsed(source)))


_Checked: TypeAlias = tuple[Place, Rule, tuple[Problem, ...]]
"""A rule with its place, and with the problems that it has by itself."""


@_remembered
def _compiled(source: Source, tests: OwnTests, fold_case: bool) -> tuple[_Checked, ...]:
    """Returns the rules of a source that can be read."""
    document, form = _parsed(source)
    checked: list[_Checked] = []
    for i, entry in _rules_of(form, source, tests):
        place: Place = ("capabilities", i)
        rule = compile_rule(entry, document.mark(place)[0], source, fold_case)
        checked.append((place, rule, tuple(_faults(entry, rule, document, place))))
    return tuple(checked)


def _own_tests(parsed: Sequence[tuple[Source, Document, PolicyForm]]) -> OwnTests:
    forms = [(source.project, form.tdd_tests) for source, _, form in parsed if form.tdd_tests]
    given = [(project, form.path_glob) for project, form in forms if form.path_glob]
    return OwnTests(
        person=tuple(globs for project, globs in given if not project),
        project=tuple(globs for project, globs in given if project),
        excluded=tuple(glob for project, form in forms if not project for glob in form.except_),
    )


def _rules_of(form: PolicyForm, source: Source, tests: OwnTests) -> Iterator[tuple[int, RuleForm]]:
    """Yields each rule with its number in the file. A rule of the workflow's own source is adapted to `tests`, and may
    become several."""
    for i, entry in enumerate(form.capabilities):
        yield from ((i, each) for each in (with_own_tests(entry, tests) if source.workflow else (entry,)))


class _WildChars:
    """Counts the characters of globs with wildcards that one path may have to be matched with. A path is in one folder
    of each depth, so for each depth only the folder with the most characters counts."""

    def __init__(self) -> None:
        self._anywhere = 0
        self._in_folder: Counter[str] = Counter()
        self._most_at_depth: Counter[int] = Counter()

    @property
    def total(self) -> int:
        """The most characters that any path may have to be matched with."""
        return self._anywhere + self._most_at_depth.total()

    def add(self, rule: Rule) -> None:
        """Adds a rule. The first item of its keys has those of its globs."""
        keys = {keys[0] for keys in rule.keys[0]}
        if any(kind != "prefix" for kind, _ in keys):
            self._anywhere += rule.wild
            return
        for _, folder in keys:
            self._in_folder[folder] += rule.wild
            depth = folder.count("/")
            self._most_at_depth[depth] = max(self._most_at_depth[depth], self._in_folder[folder])


def _too_wild(document: Document, place: Place) -> Problem:
    return document.problem(
        place,
        f"from here on, globs that a path may match have more than {MAX_WILD_CHARS} characters with wildcards",
        "name folders, such as `src/**`, instead of single files",
    )


def parse_policy(file: str, text: str, most: Most = OWN) -> tuple[Document, PolicyForm]:
    """Returns a policy file's places and its checked content. An empty file is a policy without rules; it denies all.

    Raises PolicyError with every problem found.
    """
    return parse_form(file, text, PolicyForm, _FORMS, ActionForm, most=most)


def _loosened(form: PolicyForm, document: Document, source: Source) -> Iterator[Problem]:
    if source.project and "tdd_exemptions" in form.model_fields_set:
        yield document.problem(
            ("tdd_exemptions",),
            "`tdd_exemptions` loosens the workflow, and a project's policy may only tighten",
            "move it to your own policy file",
        )
    if source.project and form.tdd_tests is not None and form.tdd_tests.except_:
        yield document.problem(
            ("tdd_tests", "except"),
            "`except` says which files are not tests, and a project's policy may only tighten",
            "move it to your own policy file",
        )


def _version(
    sources: Sequence[Source], fold_case: bool, own: Sequence[str], work_items: WorkItems | None, programs: OwnRows
) -> str:
    builtin = [[rule.name, rule.verdict.word, rule.reason] for rule in BUILTIN.rules]
    return digest(
        {
            "builtin": builtin,
            "own": sorted(own),
            "fold_case": fold_case,
            "sources": [[s.project, s.text] for s in sources],
            **({} if work_items is None else {"work_items": [_spell_item(item) for item in work_items.values()]}),
            **({"programs": [list(text) for text in programs.texts]} if programs.texts else {}),
        }
    )


def _spell_item(item: WorkItem) -> list[Json]:
    told = [list(each) for each in (item.owned_scope, item.constraints, item.acceptance_criteria, item.skills)]
    return [item.id, *told]


def compile_rule(form: RuleForm, line: int, source: Source, fold_case: bool) -> Rule:
    """Returns the compiled rule of a form."""
    verdict = _VERDICTS[form.action]
    # A review also applies to commands that it may mean. A deny applies if that is certain, and asks otherwise.
    stops = {Verdict.DENY: Match.YES, Verdict.REQUIRE_REVIEW: Match.MAYBE}.get(verdict)
    suspects = verdict is Verdict.DENY and form.match.command is not None
    return Rule(
        name=form.name,
        verdict=verdict,
        reason=form.reason or f"rule {form.name}",
        matches=compile_match(form.match, fold_case, stops=stops, indexed=True),
        syscalls=None if form.match.syscall is None else frozenset(form.match.syscall),
        paths=None if form.match.path_glob is None else on_path(form.match.path_glob, fold_case),
        suspects=compile_match(form.match, fold_case, stops=Match.MAYBE, indexed=True) if suspects else None,
        keys=keys_of_match(form.match, fold_case),
        excepted=any_of([compile_match(item, fold_case) for item in _exceptions(form, source)]),
        wild=sum(wild_chars(match.path_glob or ()) for match in (form.match, *form.except_)),
        by_path=any(each.path_glob not in {None, _EVERY_PATH} for each in (form.match, *_exceptions(form, source))),
        constraints=_constraints(form.constraints),
        grants=not source.project,
        standing=form.standing_answer,
        intents=None if form.match.intent is None else frozenset(form.match.intent),
        file=source.file,
        line=line,
    )


_EVERY_PATH = ("**",)


def _exceptions(form: RuleForm, source: Source) -> tuple[MatchForm, ...]:
    return (*form.except_, _TO_STRICT) if source.project else tuple(form.except_)


def _constraints(form: ConstraintsForm) -> Constraints:
    wanted = form.require_sandbox
    sandboxes: frozenset[SandboxName] | None = None
    if wanted is not None:
        sandboxes = SANDBOXES if wanted == "L2" else frozenset((wanted,))
    return Constraints(form.max_file_size, sandboxes, form.require_capability_token)


def _taken(rule: Rule, namesake: Rule | None, document: Document, place: Place) -> Iterator[Problem]:
    """Yields a problem if another rule has the name."""
    if namesake is not None:
        yield document.problem(
            (*place, "name"),
            f"the name `{rule.name}` is taken by a rule at {namesake.file}:{namesake.line}",
            "give each rule its own name",
        )


def _faults(form: RuleForm, rule: Rule, document: Document, place: Place) -> Iterator[Problem]:
    """Yields the problems that a rule whose form is valid has by itself."""
    if form.name.startswith(SCOPE_RULES):
        yield document.problem((*place, "name"), f"the name `{form.name}` belongs to a work item", "use another word")
    if form.name.startswith("builtin."):
        yield document.problem((*place, "name"), f"the name `{form.name}` looks built in", "start it with another word")
    if not rule.grants and form.action == "allow":
        yield document.problem(
            (*place, "action"),
            f"`{form.name}` allows, and a project's policy may only tighten",
            "move the rule to your own policy file",
        )
    if not rule.grants and "session.set_mode" in (form.match.syscall or ()) and Mode.STRICT in (form.match.mode or ()):
        yield document.problem(
            (*place, "match"),
            f"`{form.name}` prevents strict mode, and a project's policy may only tighten",
            "name only looser modes: `mode: [explore, debug]`",
        )
    yield from example_faults(form, rule, document, place)
