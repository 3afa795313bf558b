"""Compiled rules: what a policy is once its files have been read and checked (003 §Rule Evaluation Engine)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple

from remit_governance.errors import Problem
from remit_governance.patterns import SecretPattern
from remit_governance.policy.index import ANY, NOWHERE, Index, Key, Place, place_of
from remit_governance.values import Action, Decision, Reason, Verdict

LayerName = Literal["builtin", "yaml", "extension"]

RULE_DENY = "rule_deny"
RULE_ALLOW = "rule_allow"
RULE_REVIEW = "rule_review"
REVIEW_EACH_TIME = "rule_review_each_time"


class Subject(NamedTuple):
    """An action as rules look at it, and the place of its path. A tuple, since one is made for each evaluation."""

    action: Action
    place: Place = NOWHERE

    @classmethod
    def of(cls, action: Action) -> Subject:
        """The subject of this action."""
        return cls(action, NOWHERE if action.path is None else place_of(action.path))

    @property
    def path(self) -> str | None:
        """The path in one spelling, relative to the workspace."""
        return self.place.path

    @property
    def folded(self) -> str | None:
        """The path as a file system sees it that ignores case."""
        return self.place.folded


Condition = Callable[[Subject], bool]


@dataclass(frozen=True, slots=True)
class Constraints:
    """What an allow demands beyond its match."""

    max_file_size: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, ready to be asked.

    `matches` is asked only about actions with one of the `syscalls` (None: any); `keys` are where it is filed: nowhere
    where there are none. `suspects` holds for what a deny may mean, and asks about. `grants` is false for a review that
    may only tighten (a built-in's, a project's): it turns an allow into a review, but does not stand in for one.
    `standing` says whether a standing answer may answer its review.
    """

    name: str
    verdict: Verdict
    reason: str
    matches: Condition
    suspects: Condition | None = None
    syscalls: frozenset[str] | None = None
    keys: tuple[Key, ...] = (ANY,)
    excepted: Condition | None = None
    constraints: Constraints = Constraints()
    grants: bool = True
    standing: bool = True
    file: str | None = None
    line: int | None = None

    def applies(self, subject: Subject) -> bool:
        """Whether the rule speaks about this subject, which has one of its syscalls. Raises what a condition raises."""
        return self.matches(subject) and not (self.excepted is not None and self.excepted(subject))

    def may_apply(self, subject: Subject) -> bool:
        """Whether it may be what this rule denies, and nobody knows."""
        return (
            self.suspects is not None
            and self.suspects(subject)
            and not (self.excepted is not None and self.excepted(subject))
        )


@dataclass(frozen=True, slots=True)
class Filed:
    """A rule in its layer, with the reason it gives where nothing stands against it: made once, not for each action."""

    rule: Rule
    layer: LayerName
    says: Reason

    def reason(self, code: str, verdict: Verdict, message: str) -> Reason:
        """Another reason of this rule."""
        rule = self.rule
        return Reason(code, message, verdict, self.layer, rule.name, rule.file, rule.line)


def _filed(rule: Rule, layer: LayerName) -> Filed:
    codes = {
        Verdict.PASS: "",
        Verdict.ALLOW: RULE_ALLOW,
        Verdict.REQUIRE_REVIEW: RULE_REVIEW if rule.standing else REVIEW_EACH_TIME,
        Verdict.DENY: RULE_DENY,
    }
    says = Reason(codes[rule.verdict], rule.reason, rule.verdict, layer, rule.name, rule.file, rule.line)
    return Filed(rule, layer, says)


_BY_NAME = attrgetter("rule.name")


@dataclass(frozen=True, slots=True)
class Layer:
    """Rules of one origin, by name; found by what an action is."""

    name: LayerName
    rules: tuple[Rule, ...]
    index: Index[Filed]

    @classmethod
    def of(cls, name: LayerName, rules: Iterable[Rule]) -> Layer:
        """The layer of these rules. Their order means nothing: it becomes the order of their names."""
        ordered = tuple(sorted(rules, key=lambda rule: rule.name))
        return cls(name, ordered, Index((_filed(rule, name), rule.syscalls, rule.keys) for rule in ordered))

    def candidates(self, subject: Subject) -> Sequence[Filed]:
        """The rules that could speak about this subject, by name."""
        found = self.index.find(subject.action, subject.place)
        if len(found) < 2:
            return found[0] if found else ()
        return sorted({filed.rule.name: filed for some in found for filed in some}.values(), key=_BY_NAME)


Extension = Callable[[Action], Sequence[Reason]]
"""Rules that are programs (003 §Rule Language): what each of those that do not abstain says of an action.

It may take 100 ms, and raises ExtensionError where a program cannot be asked, which is a deny.
"""


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in force. `version` is a digest of every source text; `warnings` are about rules that can never fire,
    `unenforced` about conditions that keep the policy from being put in force; `redact` is what the person's own
    secrets look like; `wild` is how many characters its globs with wildcards have.

    `decided` is what `evaluate` remembers: it decides the same of the same action, always.
    """

    version: str
    layers: tuple[Layer, ...]
    extension: Extension | None = None
    warnings: tuple[Problem, ...] = ()
    unenforced: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    redact: tuple[SecretPattern, ...] = ()
    wild: int = 0
    decided: dict[Action, Decision] = field(
        default_factory=dict[Action, Decision], init=False, compare=False, repr=False
    )
