"""Which definitions of a project matter most: those that many other files use (TOOL-09)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from remit_server.tools.code.index.languages import FAMILIES
from remit_server.tools.code.index.tags import Definition, Tags

CHARS_PER_TOKEN = 4
"""Roughly, for source code; a map errs on neither side by much."""


_NOBODY: AbstractSet[str] = frozenset()
MAX_MISSES = 50
"""Lines in a row that did not fit: what is left of the room is then not worth looking at every definition for."""

AMBIGUOUS = 3
"""A name that more files define says nothing about which of them a file uses."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A definition in a file. `users` other files use it; `score` shares them among all that define that name."""

    path: str
    definition: Definition
    users: int
    score: float


def rank(files: Mapping[str, Tags]) -> list[Ranked]:
    """Every definition, the most used first; equal ones by path and line.

    A name by itself means what stands at the outermost level of a file. A member (`x.name()`) counts only for a file of
    which something else is used by its own name: `x.split()` is nobody's `split` otherwise.
    """
    families: defaultdict[str, dict[str, Tags]] = defaultdict(dict)
    for path, tags in files.items():
        families[FAMILIES.get(tags.language, tags.language)][path] = tags
    ranked = [each for family in families.values() for each in _rank(family)]
    return sorted(ranked, key=lambda each: (-each.score, each.path, each.definition.line))


def _rank(files: Mapping[str, Tags]) -> Iterator[Ranked]:
    using = _by_name((path, tags.uses) for path, tags in files.items())
    calling = _by_name((path, tags.members) for path, tags in files.items())
    outer = {path: {each.name for each in tags.definitions if not each.inner} for path, tags in files.items()}
    defining = _by_name((path, {each.name for each in tags.definitions}) for path, tags in files.items())
    for path, tags in files.items():
        known = [name for name in outer[path] if len(defining[name]) <= AMBIGUOUS]
        near = set[str]().union(*(using[name] for name in known if name in using))
        for each in tags.definitions:
            by_name = _NOBODY if each.inner else using.get(each.name, _NOBODY)
            count = len((near & calling.get(each.name, _NOBODY) | by_name) - {path})
            yield Ranked(path, each, count, count / len(defining[each.name]))


def _by_name(named: Iterable[tuple[str, Iterable[str]]]) -> dict[str, AbstractSet[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path, names in named:
        for name in names:
            found[name].add(path)
    return dict(found)


def choose_definitions(
    ranked: Iterable[Ranked], line_of: Callable[[Ranked], str | None], tokens: int
) -> list[tuple[Ranked, str]]:
    """The best with their lines of source, as many as fit into `tokens`; what has no line any more is left out."""
    room, missed = tokens * CHARS_PER_TOKEN, 0
    taken: list[tuple[Ranked, str]] = []
    paths: set[str] = set()
    for each in ranked:
        if room <= 0 or missed >= MAX_MISSES:
            break
        line = line_of(each)
        cost = 0 if line is None else len(line) + 1 + (0 if each.path in paths else len(each.path) + 1)
        if line is None or cost > room:
            missed += line is not None
            continue
        room, missed = room - cost, 0
        paths.add(each.path)
        taken.append((each, line))
    return taken


def draw_map(taken: Sequence[tuple[Ranked, str]]) -> list[str]:
    """The lines below the names of their files; files by their best definition, lines in the order of the file."""
    by_path: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for each, line in taken:
        by_path[each.path].append((each.definition.line, line))
    return [text for path, lines in by_path.items() for text in (path, *(line for _, line in sorted(lines)))]
