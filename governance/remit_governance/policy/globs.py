"""Globs as in `.gitignore`, several compiled into one expression (003 §Rule Language, Match semantics)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from remit_governance.policy.paths import fold

PathMatcher = Callable[[str], bool]

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_PLAIN_FOLDER = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*/\*\*", re.ASCII)
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")


def glob_fault(glob: str) -> str | None:
    """Why this glob can never match, or None. Paths are normalised before they are matched."""
    body = glob.removeprefix("!")
    if not body.strip():
        return "it is empty"
    if glob.startswith("#"):
        return "`#` starts a comment in .gitignore, write `\\#`"
    if any(part in {".", ".."} for part in body.split("/")) or "//" in body:
        return "paths are matched without `.`, `..` and `//`"
    if "\0" in body:
        return "no path holds a NUL"
    return None if _expression(body) else "it matches nothing"


@lru_cache(maxsize=4096)
def compile_globs(globs: Sequence[str], fold_case: bool = False) -> PathMatcher:
    """A matcher for normalised paths relative to the workspace: any glob matches and no `!glob` does.

    Unlike in `.gitignore` the order does not count: an exclusion always wins. With `fold_case` the globs are folded,
    and the paths have to be folded by the caller. `globs` must be hashable. A glob that `glob_fault` names matches
    nothing.
    """
    folded = [fold(g) for g in globs] if fold_case else list(globs)
    wanted = _any_of([g for g in folded if not g.startswith("!")])
    unwanted = [g[1:] for g in folded if g.startswith("!")]
    if not unwanted:
        return wanted
    excluded = _any_of(unwanted)
    return lambda path: wanted(path) and not excluded(path)


def _any_of(globs: list[str]) -> PathMatcher:
    """Plain names and plain folders need no expression: most globs are such, and most of the time would go to them."""
    names = frozenset(g for g in globs if _PLAIN_NAME.fullmatch(g))
    folders = tuple(g[:-2] for g in globs if _PLAIN_FOLDER.fullmatch(g))
    rest = _alternation([g for g in globs if g not in names and not _PLAIN_FOLDER.fullmatch(g)])
    if folders and not names and rest is None:
        return lambda path: path.startswith(folders)

    def matches(path: str) -> bool:
        return (
            path.startswith(folders)
            or (bool(names) and not names.isdisjoint(path.split("/")))
            or (rest is not None and rest.match(path) is not None)
        )

    return matches


def _alternation(globs: list[str]) -> re.Pattern[str] | None:
    expressions = [e for g in globs if (e := _expression(g))]
    # DOTALL: a line feed in a name must not hide what follows it.
    return re.compile("|".join(f"(?:{e})" for e in expressions), re.DOTALL) if expressions else None


def _expression(glob: str) -> str | None:
    """pathspec's translation, without its group names (they may not repeat) and with `$` meaning only the very end."""
    try:
        expression, _ = GitIgnoreSpecPattern.pattern_to_regex(glob)
    except ValueError:
        return None
    if expression is None:
        return None
    plain = _NAMED_GROUP.sub("(?:", expression if expression.startswith("^") else f".*{expression}")
    return f"{plain[:-3]}|\\Z)" if plain.endswith("|$)") else plain
