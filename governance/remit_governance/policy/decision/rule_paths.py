"""Tells, mostly by its names alone, that no rule can deny a path, or that none speaks of it: a walk over a workspace
asks about every file (POL-09).
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
    """The paths that some rules are about, as far as paths tell.

    `concern` says whether one of the rules may be about a path, relative to the workspace. `among` returns those of the
    names in a folder for which that holds: the folder as a relative path, `""` for the workspace itself, names without
    a slash.
    """

    concern: Concerns
    among: Callable[[str, Iterable[str]], list[str]]


OUTSIDE_ALONE: tuple[KeyGroups, ...] = (((OUTSIDE,),),)
"""The keys of a rule about what is outside the workspace."""
_PATH_KINDS = ("prefix", "part", "start", "end", "middle")
_NO_NAMES = frozenset({"", ".", ".."})
_MOST_NAMES = 100_000
"""Names that are kept with what is known of them: those of folders come back with every file in them."""


def find_denied_paths(policy: Policy, syscall: str) -> RulePaths:
    """Returns which paths a rule may deny the syscall for.

    None is left out that `evaluate` denies by a rule, whatever else the action is, and none in the workspace is among
    them that no rule speaks of.
    """
    return _find(policy, [rule for rule in _speaking(policy, syscall) if rule.verdict is Verdict.DENY], syscall)


def find_own_paths(policy: Policy, syscall: str) -> RulePaths:
    """Returns the paths for which a rule may decide otherwise than for most: `evaluate` comes to one verdict about all
    others, as long as the action is the same but for its path."""
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
    # A key is a part of what a glob says: most paths that have one are matched by no rule.
    matches = any_of([rule.paths or _any_subject for rule in rules if rule.keys != OUTSIDE_ALONE]) or _any_subject

    def look(path: str) -> bool:
        plain = normalise(path)
        return outside(plain) or (has_key(plain) and matches(Subject.of(Action(syscall, plain))))

    above = frozenset(key[1].rpartition("/")[0] for key in keys if key is not None and key[0] == "prefix")
    return _remembering(has_key, look, above)


def _remembering(has_key: Concerns, look: Concerns, above: frozenset[str]) -> RulePaths:
    """Returns the paths that `look` finds, where `above` are the folders in which a path of its own has a key: most
    names and folders of a workspace come back, and are looked at once."""
    names, folders = set[str](), set[str]()

    def is_harmless(name: str) -> bool:
        """Returns whether a name has no key in a folder that has none; it is remembered."""
        if name in names:
            return True
        if not name.isascii() or name in _NO_NAMES or "\0" in name or has_key(name):
            return False
        if len(names) < _MOST_NAMES:
            names.add(name)
        return True

    def is_plain(folder: str) -> bool:
        """Returns whether nothing that a folder is in, nor the folder, has a key; it is remembered."""
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
    """Yields keys of which a path that the rule is about has at least one; None where it may be about any path."""
    groups = next((group for group in rule.keys if _is_of_paths(group)), ANYTHING)
    for keys in groups:
        of_path = [key for key in keys if key[0] in _PATH_KINDS or key == OUTSIDE]
        yield max(of_path, key=_rarity, default=None)


def _rarity(key: Key) -> tuple[bool, int]:
    """Ranks what fewest paths have highest: a hidden name, which begins with a dot, else the longest text."""
    kind, text = key
    return kind in {"part", "start"} and text.startswith(".") and len(text) > 1, len(text)


def _is_of_paths(group: KeyGroups) -> bool:
    return all(any(kind in _PATH_KINDS or (kind, value) == OUTSIDE for kind, value in keys) for keys in group)


def _compile(keys: list[Key]) -> Concerns:
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
