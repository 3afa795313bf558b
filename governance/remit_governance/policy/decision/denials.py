"""Tells, mostly by its names alone, that no rule can deny a path: a walk over a workspace asks about every file
(POL-09).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from remit_governance.policy.matching.conditions import any_of
from remit_governance.policy.matching.index import ANYTHING, OUTSIDE, Key, KeyGroups, prefixes_of
from remit_governance.policy.matching.paths import fold, normalise, outside
from remit_governance.policy.rules import Policy, Rule, Subject
from remit_governance.values import Action, Verdict

MayDeny = Callable[[str], bool]

OUTSIDE_ALONE: tuple[KeyGroups, ...] = (((OUTSIDE,),),)
"""The keys of a rule about what is outside the workspace."""
_PATH_KINDS = ("prefix", "part", "start", "end", "middle")
_MOST_NAMES = 100_000
"""Names that are kept with what is known of them: those of folders come back with every file in them."""


def find_denials(policy: Policy, syscall: str) -> MayDeny:
    """Returns whether a rule may deny the syscall for a path, relative to the workspace.

    It is never false where `evaluate` denies by a rule, whatever else the action is, and true for no path in the
    workspace that no rule speaks of.
    """
    if policy.extension is not None:
        return _always
    rules = [rule for layer in policy.layers for rule in layer.rules if _may_deny(rule, syscall)]
    keys = [key for rule in rules for key in _keys_of(rule)]
    has_key = _always if None in keys else _compile([key for key in keys if key is not None])
    # A key is a part of what a glob says: most paths that have one are denied by no rule.
    matches = any_of([rule.paths or _any_subject for rule in rules if rule.keys != OUTSIDE_ALONE]) or _any_subject

    def may_deny(path: str) -> bool:
        plain = normalise(path)
        return outside(plain) or (has_key(plain) and matches(Subject.of(Action(syscall, plain))))

    return may_deny


def _always(path: str) -> bool:
    del path
    return True


def _any_subject(subject: Subject) -> bool:
    del subject
    return True


def _may_deny(rule: Rule, syscall: str) -> bool:
    speaks = syscall in rule.syscalls if rule.syscalls is not None else syscall not in rule.spares
    return rule.verdict is Verdict.DENY and speaks


def _keys_of(rule: Rule) -> Iterator[Key | None]:
    """Yields keys of which a path that the rule denies has at least one; None where it may deny any path."""
    groups = next((group for group in rule.keys if _is_of_paths(group)), ANYTHING)
    for keys in groups:
        of_path = [key for key in keys if key[0] in _PATH_KINDS or key == OUTSIDE]
        yield max(of_path, key=_rarity, default=None)


def _rarity(key: Key) -> tuple[bool, int]:
    """Ranks what fewest paths have highest: a hidden name, which begins with a dot, else the longest text."""
    kind, text = key
    return kind in {"part", "start"} and text.startswith("."), len(text)


def _is_of_paths(group: KeyGroups) -> bool:
    return all(any(kind in _PATH_KINDS or (kind, value) == OUTSIDE for kind, value in keys) for keys in group)


def _compile(keys: list[Key]) -> MayDeny:
    """Returns whether a path, as it is normalised, has one of the keys, in the spelling of any file system."""
    prefixes, parts, starts, ends, middles = (
        tuple({value for each, value in keys if each == kind}) for kind in _PATH_KINDS
    )
    known, below = frozenset(parts), frozenset(prefixes)

    @lru_cache(maxsize=_MOST_NAMES)
    def is_named(name: str) -> bool:
        return any(has_key(form) for form in {name, fold(name)})

    def has_key(name: str) -> bool:
        return (
            name in known or name.startswith(starts) or name.endswith(ends) or any(middle in name for middle in middles)
        )

    @lru_cache(maxsize=_MOST_NAMES)
    def is_below(folder: str) -> bool:
        return not below.isdisjoint(prefixes_of(folder)) or not below.isdisjoint(prefixes_of(folder.lower()))

    def may_have_key(path: str) -> bool:
        # What is written oddly is looked at in every form that it has.
        if not path.isascii():
            return True
        folder = path.rpartition("/")[0]
        return any(map(is_named, path.split("/"))) or path in below or path.lower() in below or is_below(folder)

    return may_have_key
