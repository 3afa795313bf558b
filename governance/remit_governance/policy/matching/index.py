"""An index that finds rules by the fields of an action, so that rules that cannot match cost nothing (POL-09).

Each rule is filed under keys, and every action that it matches has at least one of them. The keys only narrow the
choice: the rule's condition still decides whether it matches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from remit_governance.hosts import host_and_port
from remit_governance.policy.language.policy_form import MatchForm
from remit_governance.policy.matching.command_match import command_prefix
from remit_governance.policy.matching.paths import fold, normalise, outside
from remit_governance.policy.shell.options import forms_of
from remit_governance.values import Action

Key = tuple[str, str]
"""A kind and a value: `("prefix", "src")`."""

KeyGroups = tuple[tuple[Key, ...], ...]
"""For each value of one of a rule's conditions, the keys; an action that the value matches has all of these."""

ANY: Key = ("any", "")
OUTSIDE: Key = ("outside", "")
ANYTHING: KeyGroups = ((ANY,),)

MOST_PARTS = 12
"""The most parts of a prefix, because a path of many parts would otherwise have too many long keys."""

_LENGTHS = (24, 12, 6, 3, 2, 1)
"""The lengths, in characters, of the beginnings and ends of parts in a table; few, because a path is looked up for
each."""

_WILD = re.compile(r"[*?\[\]\\!#]|\s\Z")
_BETWEEN = re.compile(r"[*?]+([^*?\[\]\\!#\s]+)[*?\[\\]")
_EDGES = re.compile(r"([^*?\[\]\\!#]*)[*?\[\]\\!#].*?([^*?\[\]\\!#]*)", re.DOTALL)

R = TypeVar("R")


class PathForms(NamedTuple):
    """A path as rules look at it: normalised (`plain`), and folded as some file systems see it. `prefixes` are, for
    both, the folders around it from the workspace on, and the path itself; `parts` are the names in both.
    """

    plain: str | None = None
    folded: str | None = None
    prefixes: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    outside: bool = False


NO_PATH = PathForms()


def forms_of_path(path: str) -> PathForms:
    """Returns the forms of a path as it is written."""
    plain = normalise(path)
    folded = fold(plain)
    prefixes, parts = prefixes_of(plain), plain.split("/")
    if folded != plain:
        prefixes += prefixes_of(folded)
        parts += folded.split("/")
    return PathForms(plain, folded, tuple(prefixes), tuple(dict.fromkeys(parts)), outside(plain) or outside(folded))


def prefixes_of(path: str) -> list[str]:
    """Returns the folders around a path, from the workspace on, and the path itself unless it has too many parts."""
    prefixes: list[str] = []
    end = path.find("/")
    while end >= 0 and len(prefixes) < MOST_PARTS:
        prefixes.append(path[:end])
        end = path.find("/", end + 1)
    return prefixes if len(prefixes) == MOST_PARTS else [*prefixes, path]


class _Table(Generic[R]):
    """The rules for one syscall: those that any action may match, those by keys of paths, and by other keys."""

    def __init__(self) -> None:
        self.always: list[R] = []
        self.outside: list[R] = []
        self.by_prefix: dict[str, list[R]] = {}
        self.by_part: dict[str, list[R]] = {}
        self.by_start: dict[int, dict[str, list[R]]] = {}
        self.by_end: dict[int, dict[str, list[R]]] = {}
        self.by_middle: dict[str, list[R]] = {}
        self.by_kind: dict[str, dict[str, list[R]]] = {}

    def file(self, item: R, keys: Iterable[Key]) -> None:
        """Files an item under each of the keys."""
        for key in dict.fromkeys(keys):
            if key == ANY:
                self.always.append(item)
            elif key == OUTSIDE:
                self.outside.append(item)
            else:
                kind, value = key
                self._by_value(kind, len(value)).setdefault(value, []).append(item)

    def _by_value(self, kind: str, length: int) -> dict[str, list[R]]:
        match kind:
            case "prefix":
                return self.by_prefix
            case "part":
                return self.by_part
            case "start":
                return self.by_start.setdefault(length, {})
            case "end":
                return self.by_end.setdefault(length, {})
            case "middle":
                return self.by_middle
            case _:
                return self.by_kind.setdefault(kind, {})

    def find(self, action: Action, path: PathForms) -> list[list[R]]:
        """Returns lists of the items that may match."""
        found = [self.by_prefix[prefix] for prefix in path.prefixes if prefix in self.by_prefix]
        for part in path.parts:
            if part in self.by_part:
                found.append(self.by_part[part])
            for length, starts in self.by_start.items():
                if (start := part[:length]) in starts:
                    found.append(starts[start])
            for length, ends in self.by_end.items():
                if (end := part[-length:]) in ends:
                    found.append(ends[end])
            found += [items for middle, items in self.by_middle.items() if middle in part]
        if path.outside and self.outside:
            found.append(self.outside)
        if self.always:
            found.append(self.always)
        for kind, table in self.by_kind.items():
            found += [table[value] for value in VALUES[kind](action) if value in table]
        return found


class Index(Generic[R]):
    """Rules by their keys. Each of `entries` is an item, its syscalls (None: any) and its conditions. The item is filed
    under the keys of the condition that the fewest others share, and nowhere if that condition has no values.
    """

    def __init__(self, entries: Iterable[tuple[R, Iterable[str] | None, Sequence[KeyGroups]]]) -> None:
        entries = [(item, names, [_cut_all(each) for each in conditions]) for item, names, conditions in entries]
        uses = Counter(key for _, _, conditions in entries for each in conditions for keys in each for key in keys)
        uses[ANY] = len(entries) + 1
        syscalls = frozenset[str]().union(*(names for _, names, _ in entries if names is not None))
        self._tables = {syscall: _Table[R]() for syscall in sorted(syscalls)}
        self._others = _Table[R]()
        for item, names, conditions in entries:
            keys = _most_telling(conditions, uses)
            for syscall in syscalls if names is None else frozenset(names):
                self._tables[syscall].file(item, keys)
            if names is None:
                self._others.file(item, keys)

    def find(self, action: Action, path: PathForms) -> list[list[R]]:
        """Returns lists of the items that may match, each in the order of filing; an item may be in more than one."""
        return self._tables.get(action.syscall, self._others).find(action, path)


def _cut_all(groups: KeyGroups) -> KeyGroups:
    return tuple(tuple(map(_cut, keys)) for keys in groups)


def _most_telling(conditions: Sequence[KeyGroups], uses: Mapping[Key, int]) -> Sequence[Key]:
    choices = ([min(keys, key=uses.__getitem__) for keys in condition] for condition in conditions)
    return min(choices, key=lambda keys: sum(map(uses.__getitem__, keys)))


def keys_of_match(match: MatchForm, fold_case: bool) -> tuple[KeyGroups, ...]:
    """Returns the keys of each condition under which a rule with this `match` may be filed; at least one condition."""
    given = {name: values for name, values in match if values is not None}
    return tuple(_KEYS_OF[name](values, fold_case) for name, values in given.items() if name in _KEYS_OF) or (ANYTHING,)


def keys_of_globs(globs: Iterable[str], fold_case: bool) -> KeyGroups:
    """Returns the keys of each glob that includes; globs with `!` only take paths away, so they need no keys."""
    return tuple(tuple(_keys_of_glob(fold(glob) if fold_case else glob)) for glob in globs if not glob.startswith("!"))


def _keys_of_glob(glob: str) -> Iterator[Key]:
    """Yields keys that every path has that the glob matches: a folder around it, and names, beginnings and ends of its
    parts at any place.
    """
    parts = glob.strip("/").split("/")
    literal = [not _WILD.search(part) and bool(part) for part in parts]
    anchored = "/" in glob.rstrip("/") and literal[0]
    wild = next((n for n, plain in enumerate(literal) if not plain), len(parts)) if anchored else 0
    if anchored:
        yield "prefix", "/".join(parts[: min(wild, MOST_PARTS)])
    for part, plain in zip(parts[wild:], literal[wild:], strict=True):
        if plain:
            yield "part", part
    edges = [edge for part in parts[wild:] for edge in _edges(part)]
    yield from sorted(edges, key=lambda key: -len(key[1]))
    if not anchored and not any(literal) and not edges:
        yield ANY


def _edges(part: str) -> Iterator[Key]:
    """Yields the beginning and end of a part with wildcards, or the text between them. A blank at the end is not used,
    because `.gitignore` may drop it.
    """
    edges = _EDGES.fullmatch(part)
    if edges is None:
        return
    start, end = edges[1], edges[2]
    if start:
        yield "start", start
    if end and not end[-1].isspace():
        yield "end", end
    if not start and (between := _BETWEEN.match(part)):
        yield "middle", between[1]


def _cut(key: Key) -> Key:
    """Returns the key as a table has it: a beginning or an end is cut to one of `_LENGTHS`."""
    kind, value = key
    length = next((each for each in _LENGTHS if each <= len(value)), 0)
    match kind:
        case "start":
            return kind, value[:length]
        case "end":
            return kind, value[-length:]
        case _:
            return key


def _programs(command: tuple[str, ...]) -> Iterable[str]:
    """Returns the main names of the programs that a command may stand for."""
    return dict.fromkeys(form[0] for form in forms_of(command) if form)


def _keys_of_commands(commands: Sequence[str], fold_case: bool) -> KeyGroups:
    del fold_case
    return tuple((("command", name),) for each in commands for name in _programs(command_prefix(each)))


def _keys_of_hosts(hosts: Sequence[str], fold_case: bool) -> KeyGroups:
    del fold_case
    return tuple((("host", host_and_port(host)[0]),) for host in hosts)


def _keys_of_words(kind: str) -> Callable[[Sequence[str], bool], KeyGroups]:
    return lambda words, fold_case: tuple(((kind, word),) for word in words)


_KEYS_OF: Mapping[str, Callable[[Sequence[str], bool], KeyGroups]] = MappingProxyType(
    {
        "path_glob": keys_of_globs,
        "command": _keys_of_commands,
        "host": _keys_of_hosts,
        **{kind: _keys_of_words(kind) for kind in ("tool", "caller_tag", "intent", "state", "mode")},
    }
)
"""`match` key → the function that makes index keys of its values."""

VALUES: Mapping[str, Callable[[Action], Iterable[str]]] = MappingProxyType(
    {
        "caller_tag": lambda action: action.caller_tags,
        "command": lambda action: _programs(action.command) if action.command else (),
        "host": lambda action: () if action.host is None else (host_and_port(action.host)[0],),
        "intent": lambda action: () if action.intent is None else (action.intent,),
        "mode": lambda action: () if action.mode is None else (action.mode,),
        "state": lambda action: () if action.state is None else (action.state,),
        "tool": lambda action: () if action.tool is None else (action.tool,),
    }
)
"""Kind of key → the function that returns an action's values of it, for kinds that are not about its path."""
