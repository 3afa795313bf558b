"""Rules found by what an action is, so that those which cannot match cost nothing (003 §Performance Optimization).

Each rule is filed under keys of which an action that it matches has at least one. The keys only narrow the choice:
whether a rule matches is still its condition's to say.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from remit_governance.policy.commands import command_prefix
from remit_governance.policy.file import MatchForm
from remit_governance.policy.paths import fold
from remit_governance.values import Action

Key = tuple[str, str]

ANY: Key = ("any", "")

_WILD = re.compile(r"[*?\[\]\\!#]|\s\Z")
_SUFFIX = re.compile(r".*(\.[^./*?\[\]\\]+)")

R = TypeVar("R")


class Index(Generic[R]):
    """What was filed, found again by syscall and key."""

    def __init__(self) -> None:
        self._tables: dict[str | None, dict[Key, list[R]]] = {}

    def file(self, item: R, syscalls: Iterable[str] | None, keys: Iterable[Key]) -> None:
        """File under each of the syscalls (None: any) and each of the keys; without keys, nowhere."""
        for syscall in (None,) if syscalls is None else tuple(syscalls):
            table = self._tables.setdefault(syscall, {})
            for key in dict.fromkeys(keys):
                table.setdefault(key, []).append(item)

    def find(self, syscall: str, keys: Iterable[Key]) -> list[R]:
        """What is filed under this syscall and any of the keys; an item may come more than once."""
        tables = [table for name in (syscall, None) if (table := self._tables.get(name)) is not None]
        return [item for table in tables for key in keys if key in table for item in table[key]]


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
        return tuple(("command", posixpath.basename(command_prefix(each)[0])) for each in given["command"])
    if "host" in given:
        return tuple(("host", host.lower()) for host in given["host"])
    for name in ("tool", "caller_tag", "intent", "state", "mode"):
        if name in given:
            return tuple((name, str(value)) for value in given[name])
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
        return ("prefix", "/".join(parts[:wild]))
    for part, plain in zip(parts, literal, strict=True):
        if plain:
            return ("part", part)
    for part in parts:
        suffix = _SUFFIX.fullmatch(part)
        if suffix and not _WILD.search(suffix[1]):
            return ("suffix", suffix[1])
    return ANY


def keys_of_action(action: Action, paths: Iterable[str]) -> tuple[Key, ...]:
    """Every key that a rule may be filed under which matches this action; `paths` are its path's spellings."""
    return (ANY, *(key for path in paths for key in _keys_of_path(path)), *_other_keys(action))


def _keys_of_path(path: str) -> Iterator[Key]:
    parts = path.split("/")
    prefix = ""
    for part in parts:
        prefix = f"{prefix}/{part}" if prefix else part
        yield ("prefix", prefix)
        yield ("part", part)
        dot = part.rfind(".")
        if dot >= 0:
            yield ("suffix", part[dot:])


def _other_keys(action: Action) -> Iterator[Key]:
    if action.command:
        yield ("command", posixpath.basename(action.command[0]))
    if action.host is not None:
        yield ("host", action.host.lower())
    if action.tool is not None:
        yield ("tool", action.tool)
    if action.intent is not None:
        yield ("intent", action.intent)
    for tag in action.caller_tags:
        yield ("caller_tag", tag)
    yield ("state", action.state)
    yield ("mode", action.mode)
