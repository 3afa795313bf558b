"""Finds the paths that a rule can deny, or that a rule is about, mostly by the names in a path alone. This is fast,
because a walk over a workspace asks about every file (POL-09).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from remit_governance.policy.matching.conditions import any_of
from remit_governance.policy.matching.index import ANYTHING, OUTSIDE, Key, KeyGroups, prefixes_of
from remit_governance.policy.matching.paths import fold, normalise, outside
from remit_governance.policy.rules import Policy, Rule, Subject
from remit_governance.values import Action, Verdict

Concerns = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class RulePaths:
    """The paths that some rules may be about, judged by the path alone.

    `concern` tells whether one of the rules may be about a path, relative to the workspace. `among` takes a folder and
    names in it, and returns the names for which that holds. The folder is a relative path, `""` for the workspace
    itself; the names have no slash.
    """

    concern: Concerns
    among: Callable[[str, Iterable[str]], list[str]]


OUTSIDE_ALONE: tuple[KeyGroups, ...] = (((OUTSIDE,),),)
"""The keys of a rule that is only about paths outside the workspace."""
_PATH_KINDS = ("prefix", "part", "start", "end", "middle")
_NO_NAMES = frozenset({"", ".", ".."})
_MOST_NAMES = 100_000
"""The most names that are remembered. The name of a folder comes again with every file in it."""


def find_denied_paths(policy: Policy, syscall: str) -> RulePaths:
    """Returns the paths for which a rule may deny the syscall.

    They include every path for which a rule makes `evaluate` deny, whatever else the action holds, and no path in the
    workspace that no rule is about.
    """
    return _find(policy, [rule for rule in _speaking(policy, syscall) if rule.verdict is Verdict.DENY], syscall)


def find_own_paths(policy: Policy, syscall: str) -> RulePaths:
    """Returns the paths for which a rule may decide otherwise than for most. For all other paths `evaluate` returns one
    verdict, as long as the actions differ only in the path."""
    return _find(policy, [rule for rule in _speaking(policy, syscall) if rule.by_path], syscall)


def _speaking(policy: Policy, syscall: str) -> Iterator[Rule]:
    for layer in policy.layers:
        for rule in layer.rules:
            if syscall in rule.syscalls if rule.syscalls is not None else syscall not in rule.spares:
                yield rule


def _find(policy: Policy, rules: Sequence[Rule], syscall: str) -> RulePaths:
    if policy.extension is not None:
        return RulePaths(_always, lambda _, names: list(names))
    keys = [key for rule in rules for key in _keys_of(rule)]
    has_key = _always if None in keys else _compile([key for key in keys if key is not None])
    # A key is only a part of a glob, so most paths that have the key are not matched by the rule.
    matches = any_of([rule.paths or _any_subject for rule in rules if rule.keys != OUTSIDE_ALONE]) or _any_subject

    def look(path: str) -> bool:
        plain = normalise(path)
        return outside(plain) or (has_key(plain) and matches(Subject.of(Action(syscall, plain))))

    above = frozenset(key[1].rpartition("/")[0] for key in keys if key is not None and key[0] == "prefix")
    return _remembering(has_key, look, above)


def _remembering(has_key: Concerns, look: Concerns, above: frozenset[str]) -> RulePaths:
    """Returns the paths for which `look` holds. Names and folders without keys are remembered, because most of them
    come again. `above` are the folders that directly contain the folder or file of a `prefix` key."""
    names, folders = set[str](), set[str]()

    def is_harmless(name: str) -> bool:
        """Returns whether a name by itself has no key, and remembers a name for which that holds."""
        if name in names:
            return True
        if not name.isascii() or name in _NO_NAMES or "\0" in name or has_key(name):
            return False
        if len(names) < _MOST_NAMES:
            names.add(name)
        return True

    def is_plain(folder: str) -> bool:
        """Returns whether neither a folder nor any folder around it has a key, and remembers a folder for which that
        holds."""
        if folder in folders:
            return True
        if folder in above or folder.lower() in above:
            return False
        if folder and (normalise(folder) != folder or outside(folder) or has_key(folder)):
            return False
        if len(folders) < _MOST_NAMES:
            folders.add(folder)
        return True

    def concern(path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return not (is_harmless(name) and is_plain(folder)) and look(path)

    def among(folder: str, found: Iterable[str]) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        rest = [name for name in found if name not in names and not is_harmless(name)] if is_plain(folder) else found
        return [name for name in rest if look(prefix + name)]

    return RulePaths(concern, among)


def _always(path: str) -> bool:
    del path
    return True


def _any_subject(subject: Subject) -> bool:
    del subject
    return True


def _keys_of(rule: Rule) -> Iterator[Key | None]:
    """Yields keys of which every path that the rule is about has at least one, or None if it may be about any path."""
    groups = next((group for group in rule.keys if _is_of_paths(group)), ANYTHING)
    for keys in groups:
        of_path = [key for key in keys if key[0] in _PATH_KINDS or key == OUTSIDE]
        yield max(of_path, key=_rarity, default=None)


def _rarity(key: Key) -> tuple[bool, int]:
    """Ranks the key that the fewest paths have highest: a name that begins with a dot, else the longest text."""
    kind, text = key
    return kind in {"part", "start"} and text.startswith(".") and len(text) > 1, len(text)


def _is_of_paths(group: KeyGroups) -> bool:
    return all(any(kind in _PATH_KINDS or (kind, value) == OUTSIDE for kind, value in keys) for keys in group)


def _compile(keys: list[Key]) -> Concerns:
    """Returns a function that tells whether a normalised path may have one of the keys, also as file systems that
    ignore case see it."""
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
        # A path that is not ASCII may have several forms, so it is left to the exact check.
        if not path.isascii():
            return True
        folder = path.rpartition("/")[0]
        return any(map(is_named, path.split("/"))) or path in below or path.lower() in below or is_below(folder)

    return may_have_key
