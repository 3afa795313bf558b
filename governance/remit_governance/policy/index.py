"""Rules found by what an action is, so that those which cannot match cost nothing (003 §Performance Optimization).

Each rule is filed under keys of which an action that it matches has at least one. The keys only narrow the choice:
whether a rule matches is still its condition's to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from remit_governance.hosts import host_and_port
from remit_governance.policy.commands import command_prefix
from remit_governance.policy.file import MatchForm
from remit_governance.policy.paths import fold, normalise, outside
from remit_governance.policy.shell.options import forms_of
from remit_governance.values import Action

Key = str
"""A kind, a blank, and a value: `prefix src`. A string, because strings remember their hash."""

ANY: Key = "any"
OUTSIDE: Key = "outside"

MOST_PARTS = 12
"""Parts of a path that a prefix counts: beyond, a path of many parts would have too many long keys."""
_REMEMBERED_PATH, _REMEMBERED = 512, 4096
"""Characters of a path that is remembered, and how many of them are."""

_WILD = re.compile(r"[*?\[\]\\!#]|\s\Z")
_SUFFIX = re.compile(r".*(\.[^./*?\[\]\\]+)")
_START = re.compile(r"[\w.-]{3}")

R = TypeVar("R")


class Place(NamedTuple):
    """A path as rules look at it: in one spelling, also folded as file systems may see it, and where it is filed."""

    path: str | None = None
    folded: str | None = None
    keys: tuple[Key, ...] = ()


NOWHERE = Place()


def place_of(path: str) -> Place:
    """The place of a path; the last few thousand are remembered, since an agent comes back to the same files."""
    return _remembered(path) if len(path) <= _REMEMBERED_PATH else _place(path)


def _place(path: str) -> Place:
    plain = normalise(path)
    folded = fold(plain)
    return Place(plain, folded, keys_of_paths((plain,) if folded == plain else (plain, folded)))


_remembered = lru_cache(maxsize=_REMEMBERED)(_place)


class Drawer(Generic[R]):
    """Rules for one syscall: those that any action may match, by keys of paths, and by other kinds of keys."""

    def __init__(self) -> None:
        self.always: list[R] = []
        self.by_place: dict[Key, list[R]] = {}
        self.by_kind: dict[str, dict[str | None, list[R]]] = {}
        self._seen: dict[str | None, list[list[R]]] = {}

    def file(self, item: R, keys: Iterable[Key]) -> None:
        """File under each of the keys."""
        for key in dict.fromkeys(keys):
            kind, _, value = key.partition(" ")
            if key == ANY:
                self.always.append(item)
            elif kind in VALUES:
                self.by_kind.setdefault(kind, {}).setdefault(value, []).append(item)
            else:
                self.by_place.setdefault(key, []).append(item)

    def at(self, place: Place) -> list[list[R]]:
        """Lists of what is filed under keys of this place; those of short paths are remembered. Not to be changed."""
        found = self._seen.get(place.path)
        if found is None:
            found = [self.by_place[key] for key in place.keys if key in self.by_place]
            if len(place.path or "") <= _REMEMBERED_PATH:
                if len(self._seen) >= _REMEMBERED:
                    self._seen.clear()
                self._seen[place.path] = found
        return found


class Index(Generic[R]):
    """What was filed, found again. `entries` are an item, its syscalls (None: any) and its keys; without keys it is
    filed nowhere.
    """

    def __init__(self, entries: Iterable[tuple[R, Iterable[str] | None, Sequence[Key]]]) -> None:
        filed = [(item, None if names is None else frozenset(names), keys) for item, names, keys in entries]
        syscalls = frozenset[str]().union(*(names for _, names, _ in filed if names is not None))
        self._drawers = {syscall: Drawer[R]() for syscall in sorted(syscalls)}
        self._others = Drawer[R]()
        for item, names, keys in filed:
            for syscall in syscalls if names is None else names:
                self._drawers[syscall].file(item, keys)
            if names is None:
                self._others.file(item, keys)

    def find(self, action: Action, place: Place) -> list[list[R]]:
        """Lists of what may match, each in the order of filing; an item may be in more than one."""
        drawer = self._drawers.get(action.syscall, self._others)
        found = drawer.at(place)
        if drawer.always:
            found = [*found, drawer.always]
        for kind, table in drawer.by_kind.items():
            for value in VALUES[kind](action):
                if value in table:
                    found = [*found, table[value]]
        return found


def keys_of_match(match: MatchForm, fold_case: bool) -> tuple[Key, ...]:
    """Where a rule with this `match` is filed: by its most telling condition. Empty where it can never match."""
    given = {name: values for name, values in match if values is not None}
    if any(not values for values in given.values()):
        return ()
    if "path_glob" in given:
        keys = keys_of_globs(given["path_glob"], fold_case)
        if ANY not in keys:
            return keys
    if "command" in given:
        return tuple(f"command {name}" for each in given["command"] for name in _programs(command_prefix(each)))
    if "host" in given:
        return tuple(f"host {host_and_port(host)[0]}" for host in given["host"])
    for name in ("tool", "caller_tag", "intent", "state", "mode"):
        if name in given:
            return tuple(f"{name} {value}" for value in given[name])
    return (ANY,)


def keys_of_globs(globs: Iterable[str], fold_case: bool) -> tuple[Key, ...]:
    """One key for each glob that includes; what an excluding one takes away does not matter here."""
    return tuple(_key_of_glob(fold(glob) if fold_case else glob) for glob in globs if not glob.startswith("!"))


def _key_of_glob(glob: str) -> Key:
    parts = glob.strip("/").split("/")
    anchored = "/" in glob.rstrip("/")
    literal = [not _WILD.search(part) and bool(part) for part in parts]
    if anchored and literal[0]:
        wild = next((n for n, plain in enumerate(literal) if not plain), len(parts))
        return f"prefix {'/'.join(parts[: min(wild, MOST_PARTS)])}"
    for part, plain in zip(parts, literal, strict=True):
        if plain:
            return f"part {part}"
    for part in parts:
        suffix = _SUFFIX.fullmatch(part)
        if suffix and not _WILD.search(suffix[1]):
            return f"suffix {suffix[1]}"
        if start := _START.match(part):
            return f"start {start[0]}"
    return ANY


def keys_of_paths(paths: Iterable[str]) -> tuple[Key, ...]:
    """Every key under which a rule may be filed that matches a path with these spellings."""
    keys: list[Key] = []
    for path in paths:
        if outside(path):
            keys.append(OUTSIDE)
        parts = path.split("/")
        prefix = ""
        for part in parts[:MOST_PARTS]:
            prefix = f"{prefix}/{part}" if prefix else part
            keys.append(f"prefix {prefix}")
        for part in parts:
            keys += (f"part {part}", f"start {part[:3]}")
            dot = part.rfind(".")
            if dot >= 0:
                keys.append(f"suffix {part[dot:]}")
    return tuple(dict.fromkeys(keys))


def _programs(command: tuple[str, ...]) -> Iterable[str]:
    """The programs that a command is one of, by their one name each."""
    return dict.fromkeys(form[0] for form in forms_of(command) if form)


VALUES: Mapping[str, Callable[[Action], Iterable[str | None]]] = MappingProxyType(
    {
        "caller_tag": lambda action: action.caller_tags,
        "command": lambda action: _programs(action.command) if action.command else (),
        "host": lambda action: () if action.host is None else (host_and_port(action.host)[0],),
        "intent": lambda action: (action.intent,),
        "mode": lambda action: (action.mode,),
        "state": lambda action: (action.state,),
        "tool": lambda action: (action.tool,),
    }
)
"""What an action has of each kind of key that is not about its path."""
