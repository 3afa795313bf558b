"""Compiled rules: what a policy is once its files have been read and checked (003 §Rule Evaluation Engine)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from remit_governance.errors import Problem
from remit_governance.patterns import SecretPattern
from remit_governance.policy.index import ANY, Index, Key, keys_of_action
from remit_governance.policy.paths import fold, normalise
from remit_governance.values import Action, Reason, Verdict

LayerName = Literal["builtin", "yaml", "extension"]


@dataclass(frozen=True, slots=True)
class Subject:
    """An action as rules look at it: its path brought to one spelling, and also folded as file systems may see it."""

    action: Action
    path: str | None
    folded: str | None
    keys: tuple[Key, ...]

    @classmethod
    def of(cls, action: Action) -> Subject:
        """The subject of this action."""
        if action.path is None:
            return cls(action, None, None, keys_of_action(action, ()))
        path = normalise(action.path)
        folded = fold(path)
        return cls(action, path, folded, keys_of_action(action, (path,) if folded == path else (path, folded)))


Condition = Callable[[Subject], bool]


@dataclass(frozen=True, slots=True)
class Constraints:
    """What an allow demands beyond its match. Sandbox and token are demands on whoever carries the action out."""

    max_file_size: int | None = None
    require_sandbox: Literal["L1", "L2"] | None = None
    require_capability_token: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, ready to be asked.

    `syscalls` None means any; `keys` are where it is filed: nowhere where there are none. `grants` is false for a
    review that may only tighten (a built-in's, a project's): it turns an allow into a review, but does not stand in
    for one. `standing` says whether a standing answer may answer its review.
    """

    name: str
    verdict: Verdict
    reason: str
    matches: Condition
    syscalls: frozenset[str] | None = None
    keys: tuple[Key, ...] = (ANY,)
    excepted: Condition | None = None
    constraints: Constraints = Constraints()
    grants: bool = True
    standing: bool = True
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """Rules of one origin, by name; found by what an action is."""

    name: LayerName
    rules: tuple[Rule, ...]
    index: Index[Rule]

    @classmethod
    def of(cls, name: LayerName, rules: Iterable[Rule]) -> Layer:
        """The layer of these rules. Their order means nothing: it becomes the order of their names."""
        ordered = tuple(sorted(rules, key=lambda rule: rule.name))
        index: Index[Rule] = Index()
        for rule in ordered:
            index.file(rule, rule.syscalls, rule.keys)
        return cls(name, ordered, index)

    def candidates(self, subject: Subject) -> list[Rule]:
        """The rules that could speak about this subject, by name."""
        found = self.index.find(subject.action.syscall, subject.keys)
        if len(found) < 2:
            return found
        return sorted({rule.name: rule for rule in found}.values(), key=lambda rule: rule.name)


Extension = Callable[[Action], Sequence[Reason]]
"""Rules that are programs (003 §Rule Language): what each of those that do not abstain says of an action.

It may take 100 ms, and raises ExtensionError where a program cannot be asked, which is a deny.
"""


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in force. `version` is a digest of every source text; `warnings` are about rules that can never fire;
    `redact` is what the person's own secrets look like."""

    version: str
    layers: tuple[Layer, ...]
    extension: Extension | None = None
    warnings: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    redact: tuple[SecretPattern, ...] = ()
