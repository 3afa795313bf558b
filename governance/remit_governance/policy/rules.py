"""Compiled rules: what a policy is once its files have been read and checked (003 §Rule Evaluation Engine)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from remit_governance.errors import Problem
from remit_governance.policy.paths import fold, normalise
from remit_governance.values import Action, Verdict

LayerName = Literal["builtin", "yaml", "extension"]


@dataclass(frozen=True, slots=True)
class Subject:
    """An action as rules look at it: its path brought to one spelling, and also folded as file systems may see it."""

    action: Action
    path: str | None
    folded: str | None

    @classmethod
    def of(cls, action: Action) -> Subject:
        """The subject of this action."""
        if action.path is None:
            return cls(action, None, None)
        path = normalise(action.path)
        return cls(action, path, fold(path))


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

    `syscalls` None means any. `grants` is false for a review that may only tighten (a built-in's, a project's): it
    turns an allow into a review, but does not stand in for one. `standing` says whether a standing answer may answer
    its review.
    """

    name: str
    verdict: Verdict
    reason: str
    matches: Condition
    syscalls: frozenset[str] | None = None
    excepted: Condition | None = None
    constraints: Constraints = Constraints()
    grants: bool = True
    standing: bool = True
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """Rules of one origin, found by syscall."""

    name: LayerName
    by_syscall: Mapping[str, tuple[Rule, ...]] = field(default_factory=dict[str, tuple[Rule, ...]])
    any_syscall: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, name: LayerName, rules: Iterable[Rule]) -> Layer:
        """The layer of these rules. Their order means nothing: it becomes the order of their names."""
        ordered = sorted(rules, key=lambda rule: rule.name)
        named = {s for rule in ordered if rule.syscalls is not None for s in rule.syscalls}
        return cls(
            name,
            {s: tuple(r for r in ordered if r.syscalls is None or s in r.syscalls) for s in named},
            tuple(r for r in ordered if r.syscalls is None),
        )

    def candidates(self, syscall: str) -> tuple[Rule, ...]:
        """The rules that could speak on this syscall, by name."""
        return self.by_syscall.get(syscall, self.any_syscall)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules of the layer, by name."""
        every = {r.name: r for rules in (*self.by_syscall.values(), self.any_syscall) for r in rules}
        return tuple(every[name] for name in sorted(every))


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in force. `version` is a digest of every source text; `warnings` are about rules that can never fire."""

    version: str
    layers: tuple[Layer, ...]
    warnings: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
