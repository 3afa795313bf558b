"""`repo_map`: the definitions of a project, the most used first, within a token budget (TOOL-09).

Files are parsed with tree-sitter. The results are remembered by content and by the file's stamp, and a file is read
again only if its stamp changed. Files that policy does not let be read are left out.

Also ranks the definitions of a project: those that many other files use come first (TOOL-09).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache, partial

from pydantic import Field

from remit_governance.values import Effect
from remit_server.errors import ToolError
from remit_server.tools.code.index.languages import FAMILIES, UnknownLanguages, language_of
from remit_server.tools.code.index.tags import REMEMBERED, Definition, TagCache, Tags, source_of, tags_of
from remit_server.tools.search.omissions import with_made
from remit_server.tools.spec import Arguments, Outcome, Plan, ReadPlan, Tool, ToolContext, always
from remit_server.tools.targets import path_targets
from remit_server.workspace.paths.workspace_path import WorkspacePath
from remit_server.workspace.trees.walk import Limits, walk

MAX_FILES = 5_000
MAX_LINE_CHARS = 160
MAX_SECONDS = 10.0


class RepoMapArguments(Arguments):
    """Arguments of `repo_map`."""

    path: str = Field(default=".", max_length=4096, description="folder to map, relative to the workspace")
    max_tokens: int = Field(default=1_500, ge=100, le=8_000, description="how long the map may be")


@dataclass(slots=True)
class _Found:
    """The files that were parsed, and the numbers of those that could not be read or parsed."""

    files: dict[str, Tags] = field(default_factory=dict[str, Tags])
    unreadable: int = 0
    unparsed: int = 0
    unknown: UnknownLanguages = field(default_factory=UnknownLanguages)
    complete: bool = True


def map_of(ctx: ToolContext, base: WorkspacePath, tokens: int, limits: Limits, cache: TagCache = REMEMBERED) -> Outcome:
    """Returns the map of the files below `base`. `cache` may hold the tags of some files. Raises ToolError if `base` is
    no folder."""
    found = _look(ctx, base, limits, cache)
    ranked = rank(found.files)
    taken = choose_definitions(ranked, _line_reader(ctx), tokens)
    shown = f"{len(taken)} of {len(ranked)} definitions in {len(found.files)} files below {base.relative}"
    notes = [
        "the most used first" if len(taken) < len(ranked) else "",
        "" if found.complete else "stopped early, there may be more",
        f"{found.unreadable} files may not be read" if found.unreadable else "",
        f"{found.unparsed} files could not be parsed" if found.unparsed else "",
        *found.unknown.said(),
    ]
    summary = "; ".join([shown, *filter(None, notes)])
    return Outcome(
        text="\n".join([summary, *draw_map(taken)]),
        summary=summary,
        data={
            "path": base.relative,
            "files": len(found.files),
            "definitions": len(ranked),
            "shown": len(taken),
            "skipped_unreadable": found.unreadable,
            "truncated": len(taken) < len(ranked) or not found.complete,
        },
        retried=tuple(limits.retries.noted),
    )


def _look(ctx: ToolContext, base: WorkspacePath, limits: Limits, cache: TagCache) -> _Found:
    found = _Found()
    found_names = ((path, None) for path in walk(ctx.workspace, base, limits))
    for relative, _ in with_made(ctx, base, found_names):
        language = language_of(relative)
        if language is None:
            found.unknown.count(relative, ctx.permits)
            continue
        if not ctx.permits("fs.read", relative):
            found.unreadable += 1
            continue
        if len(found.files) >= MAX_FILES:
            found.complete = False
            break
        try:
            found.files[relative] = limits.retries.read(
                relative, partial(tags_of, ctx, relative, language, limits, cache)
            )
        except (ToolError, UnicodeEncodeError, TimeoutError):
            found.unparsed += 1
    found.complete = found.complete and not limits.spent()
    return found


def _line_reader(ctx: ToolContext) -> Callable[[Ranked], str | None]:
    """Returns a function that gives the line on which a definition begins, from the text without secrets."""

    @lru_cache(maxsize=64)
    def lines(relative: str) -> list[str]:
        try:
            return ctx.redact(source_of(ctx, relative)).splitlines()
        except ToolError:
            return []

    def line_of(ranked: Ranked) -> str | None:
        text, number = lines(ranked.path), ranked.definition.line
        if number > len(text) or not text[number - 1].strip():
            return None
        line = text[number - 1].rstrip()
        return f"{number:>5}  {line if len(line) <= MAX_LINE_CHARS else line[:MAX_LINE_CHARS] + '…'}"

    return line_of


async def _prepare(arguments: RepoMapArguments, ctx: ToolContext) -> Plan:
    base = ctx.resolve(arguments.path)

    async def run() -> Outcome:
        return await Limits(seconds=MAX_SECONDS).look(partial(map_of, ctx, base, arguments.max_tokens))

    return ReadPlan(run)


REPO_MAP = Tool(
    name="repo_map",
    summary="Show what the project's code defines, the most used first.",
    effect=Effect.READ,
    arguments=RepoMapArguments,
    targets=path_targets("fs.read"),
    prepare=_prepare,
    most_chars=40_000,
    sees_collected=always,
    drop_rank=9,
)


CHARS_PER_TOKEN = 4
"""A rough value for source code; the map's size is little off in either direction."""


_NOBODY: AbstractSet[str] = frozenset()
MAX_MISSES = 50
"""After this many lines in a row that did not fit, the choice ends, because too little room is left."""

AMBIGUOUS = 3
"""A name that more files than this define does not show which of them another file uses."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A definition in a file. `users` other files use it; `score` is that number divided by the definitions of the
    name."""

    path: str
    definition: Definition
    users: int
    score: float


def rank(files: Mapping[str, Tags]) -> list[Ranked]:
    """Returns every definition, the most used first; equal ones by path and line.

    A name used by itself means a definition at the outermost level of a file. A member (`x.name()`) counts only if the
    using file also uses a name of the defining file by itself; otherwise `x.split()` would count for any `split`.
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
    """Returns the best definitions with their lines of source, as many as fit into `tokens`. Definitions whose line no
    longer exists are left out."""
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
    """Returns the lines below the names of their files. Files are ordered by their best definition, lines by number."""
    by_path: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for each, line in taken:
        by_path[each.path].append((each.definition.line, line))
    return [text for path, lines in by_path.items() for text in (path, *(line for _, line in sorted(lines)))]
