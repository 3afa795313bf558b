"""Compiled rules: what a policy is once its files have been read and checked (POL-02)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple, get_args

from remit_governance.errors import Problem
from remit_governance.intents import INTENT_TOOLS, Matrix
from remit_governance.policy.matching.index import ANYTHING, NO_PATH, Index, KeyGroups, PathForms, forms_of_path
from remit_governance.policy.shell.catalogue.rows import NO_ROWS, OwnRows
from remit_governance.secrets.secret_patterns import SecretPattern
from remit_governance.values import Action, Intent, Reason, SandboxName, Verdict
from remit_governance.work_items import WorkItems
from remit_governance.workflow.test_files import DEFAULT_GLOBS, TEST_GLOBS, Category

LayerName = Literal["builtin", "yaml", "extension"]

RULE_DENY = "rule_deny"
RULE_ALLOW = "rule_allow"
RULE_REVIEW = "rule_review"
REVIEW_EACH_TIME = "rule_review_each_time"


class Subject(NamedTuple):
    """An action as rules look at it, and the forms of its path. A tuple, because one is made for each evaluation."""

    action: Action
    forms: PathForms = NO_PATH

    @classmethod
    def of(cls, action: Action) -> Subject:
        """Returns the subject of this action."""
        return cls(action, NO_PATH if action.path is None else forms_of_path(action.path))

    @property
    def path(self) -> str | None:
        """The normalised path, relative to the workspace."""
        return self.forms.plain

    @property
    def folded(self) -> str | None:
        """The path as a file system that ignores case sees it."""
        return self.forms.folded


Condition = Callable[[Subject], bool]


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a rule that allows demands besides its match: at most this size in bytes, one of these sandboxes, a token
    (POL-17, POL-18)."""

    max_file_size: int | None = None
    sandboxes: frozenset[SandboxName] | None = None
    token: bool = False

    def unmet(self, action: Action) -> str | None:
        """Returns which constraint an action does not meet, in words, or None if it meets all. An action without a size
        exceeds no size."""
        if self.max_file_size is not None and action.size is not None and action.size > self.max_file_size:
            return f"{action.size} bytes exceed its max_file_size of {self.max_file_size}"
        if self.sandboxes is not None and action.sandbox not in self.sandboxes:
            where = "without a sandbox" if action.sandbox is None else f"in a sandbox of {action.sandbox}"
            return f"it is done {where}, but its require_sandbox demands {' or '.join(sorted(self.sandboxes))}"
        if self.token and not action.permit:
            return "it is done without a token of its own, which its require_capability_token demands"
        return None


SANDBOXES: frozenset[SandboxName] = frozenset(get_args(SandboxName))
"""Every sandbox template, which is what `require_sandbox: L2` means."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One compiled rule.

    `matches` is called only for actions with one of the `syscalls` (None: any) and with at least one of the keys under
    which the index files the rule; these are one item of `keys`. It never holds for the syscalls in `spares`.
    `excepted` holds for actions that the rule leaves out. `paths` is the part of the match about paths alone, or None
    if it has no `path_glob`. `suspects` holds for actions that a rule may deny, without certainty; these get a review.
    `wild` is the number of characters of globs with wildcards that have to be matched. If `by_path` is false, the rule
    treats all paths of the workspace alike. `grants` is false for a review that may only tighten (of a built-in rule or
    of a project): it turns an allow into a review, but does not replace an allow. `standing` tells whether a standing
    answer may answer the rule's review. `intents` are those that its match names, or None if it names none.
    """

    name: str
    verdict: Verdict
    reason: str
    matches: Condition
    paths: Condition | None = None
    suspects: Condition | None = None
    syscalls: frozenset[str] | None = None
    spares: frozenset[str] = frozenset()
    keys: tuple[KeyGroups, ...] = (ANYTHING,)
    excepted: Condition | None = None
    wild: int = 0
    by_path: bool = True
    constraints: Constraints = Constraints()
    grants: bool = True
    standing: bool = True
    intents: frozenset[Intent] | None = None
    file: str | None = None
    line: int | None = None

    def applies(self, subject: Subject) -> bool:
        """Tells whether the rule applies to this subject, which has one of its syscalls. Raises what a condition
        raises.
        """
        return self.matches(subject) and not (self.excepted is not None and self.excepted(subject))

    def may_apply(self, subject: Subject) -> bool:
        """Tells whether the subject may be what this rule denies, without certainty."""
        return (
            self.suspects is not None
            and self.suspects(subject)
            and not (self.excepted is not None and self.excepted(subject))
        )


@dataclass(frozen=True, slots=True)
class IndexedRule:
    """A rule in its layer, with its rank there by name, and the reason that it gives if no constraint is unmet."""

    rule: Rule
    layer: LayerName
    rank: int
    says: Reason

    def reason(self, code: str, verdict: Verdict, message: str) -> Reason:
        """Returns another reason of this rule."""
        rule = self.rule
        return Reason(code, message, verdict, self.layer, rule.name, rule.file, rule.line)


def _index_rule(rule: Rule, layer: LayerName, rank: int) -> IndexedRule:
    codes = {
        Verdict.PASS: "",
        Verdict.ALLOW: RULE_ALLOW,
        Verdict.REQUIRE_REVIEW: RULE_REVIEW if rule.standing else REVIEW_EACH_TIME,
        Verdict.DENY: RULE_DENY,
    }
    says = Reason(codes[rule.verdict], rule.reason, rule.verdict, layer, rule.name, rule.file, rule.line)
    return IndexedRule(rule, layer, rank, says)


_BY_RANK = attrgetter("rank")


@dataclass(frozen=True, slots=True)
class Layer:
    """The rules of one origin, sorted by name, with an index that finds them by the fields of an action."""

    name: LayerName
    rules: tuple[Rule, ...]
    index: Index[IndexedRule]

    @classmethod
    def of(cls, name: LayerName, rules: Iterable[Rule]) -> Layer:
        """Returns the layer of these rules, sorted by name; the order in which they are given does not matter."""
        ordered = tuple(sorted(rules, key=lambda rule: rule.name))
        entries = ((_index_rule(rule, name, rank), rule.syscalls, rule.keys) for rank, rule in enumerate(ordered))
        return cls(name, ordered, Index(entries))

    def candidates(self, subject: Subject) -> Sequence[IndexedRule]:
        """Returns the rules that may apply to this subject, in the order of their names."""
        found = self.index.find(subject.action, subject.forms)
        if len(found) < 2:
            return found[0] if found else ()
        return sorted({rule.rank: rule for some in found for rule in some}.values(), key=_BY_RANK)


Extension = Callable[[Action], Sequence[Reason]]
"""Returns the reasons of the rules that are programs, about an action; those that abstain give none (POL-02).

A call may take 100 ms. Raises ExtensionError if a program cannot be asked, which is a deny.
"""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in force. `version` is a digest of everything that the policy was compiled from; `warnings` are about
    rules that cannot do what they seem to. `redact` are the patterns of the person's own secrets, and `exemptions` the
    globs of files that need no test first, by category. `test_globs` are the globs of files that are locked while code
    is written, one list for each policy file that names some. `matrix` says which tools each intent opens. `work_items`
    are those of the workspace, or None if it has no file of them. `programs` are the rows besides Remit's own.
    """

    version: str
    layers: tuple[Layer, ...]
    extension: Extension | None = None
    warnings: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    redact: tuple[SecretPattern, ...] = ()
    exemptions: Mapping[Category, tuple[str, ...]] = field(default_factory=lambda: DEFAULT_GLOBS)
    test_globs: tuple[tuple[str, ...], ...] = (TEST_GLOBS,)
    matrix: Matrix = field(default_factory=lambda: INTENT_TOOLS)
    work_items: WorkItems | None = None
    programs: OwnRows = NO_ROWS
