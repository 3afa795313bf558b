"""Normalises paths, so that each has one spelling (FILE-01), and matches the globs of a rule, several at once (POL-08).

Globs are as in `.gitignore`. A match takes time proportional to the lengths of the globs and of the path: pathspec
translates a glob into a regular expression and RE2, which does not backtrack, matches it. That is necessary because
globs also come with a project and cannot be trusted.
"""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

PathMatcher = Callable[[str], bool]

MAX_GLOB_CHARS = 512
"""The most characters of one glob."""

_CHUNK_CHARS = 8_000
"""The most characters of one compiled expression; the states of a larger one no longer fit into RE2's memory."""

_EVERYTHING = "."
"""The expression that pathspec makes of `**`."""

_SELF_OR_BELOW = "(?:(?:/)|$)"
_NEGATED = re.compile(r"(?<!\\)\[\^")
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")
_re2 = cast("Any", re2)


def escape_glob(text: str) -> str:
    """Returns a glob that matches this text alone."""
    # Spaces are escaped, because one at the end of a glob would be dropped.
    escaped: str = GitIgnoreSpecPattern.escape(text)
    return escaped.replace(" ", "\\ ")


def glob_expression(glob: str, *, below: bool = True) -> str | None:
    """Returns the regular expression, in RE2's syntax, for the paths that a glob matches; None if it matches none.

    With `below`, a glob that names a folder also matches everything in it, as in `.gitignore`; without it, only the
    path itself.
    """
    try:
        # An expression cannot hold a lone surrogate, so `?` stands for it.
        translated, _ = GitIgnoreSpecPattern.pattern_to_regex(_encode(glob).decode())
    except ValueError:
        return None
    if translated is None:
        return None
    expression = _NAMED_GROUP.sub("(?:", translated if translated.startswith("^") else f".*{translated}")
    # Only `**` may match a slash, but pathspec lets `[!a]` match one too.
    expression = _NEGATED.sub("[^/", expression)
    if not below:
        # The expression of a glob that names a folder ends with a slash, and matches the paths in that folder.
        named = expression.endswith(_SELF_OR_BELOW) or translated == _EVERYTHING
        expression = f"{expression.removesuffix(_SELF_OR_BELOW)}$" if named else f"{expression}.+$"
    return expression if _compile(expression) is not None else None


def match_any(expressions: Iterable[str]) -> PathMatcher | None:
    """Returns a matcher for paths that one of the expressions matches from the beginning; None if there are none.

    The expressions are those of `glob_expression`.
    """
    searches = [_compile(chunk).match for chunk in _chunks(expressions)]
    match searches:
        case []:
            return None
        case [search]:
            return lambda path: search(_encode(path)) is not None
        case _:

            def matches(path: str) -> bool:
                data = _encode(path)
                return any(search(data) is not None for search in searches)

            return matches


def _chunks(expressions: Iterable[str]) -> Iterable[str]:
    """Yields expressions, each of which joins as many of the given ones as fit into it."""
    parts: list[str] = []
    size = 0
    for expression in expressions:
        if parts and size + len(expression) > _CHUNK_CHARS:
            yield "|".join(parts)
            parts, size = [], 0
        parts.append(f"(?:{expression})")
        size += len(expression)
    if parts:
        yield "|".join(parts)


def _compile(expression: str) -> Any:
    """Returns the compiled expression, or None if RE2 refuses it, as with a range that ends before it begins."""
    options = _re2.Options()
    options.log_errors = False
    options.never_capture = True
    # A dot also matches a line feed, so that a line feed in a name does not hide the text after it.
    options.dot_nl = True
    try:
        return _re2.compile(expression.encode(), options)
    except _re2.error:
        return None


def _encode(text: str) -> bytes:
    """Returns the text as UTF-8 with `?` for lone surrogates, because RE2's wildcards match no invalid bytes."""
    return text.encode(errors="replace")


FOLDS_CASE = sys.platform == "darwin"
"""Whether this system's file names usually ignore case."""


@lru_cache(maxsize=4096)
def normalise(path: str) -> str:
    """Returns the path without `.`, `..` and doubled slashes, in NFC. A path that leaves the workspace starts with `..`
    or `/`."""
    if not path:
        return "."
    # Most paths are normal already: no part is empty or begins with a dot.
    neat = path[0] not in "/." and path[-1] != "/" and "//" not in path and "/." not in path
    plain = path if neat else posixpath.normpath(path)
    # POSIX lets a leading `//` mean something else; here it is the root.
    plain = "/" + plain.lstrip("/") if plain.startswith("/") else plain
    return plain if plain.isascii() else unicodedata.normalize("NFC", plain)


def outside(normalised: str) -> bool:
    """Tells whether a normalised path is not below the workspace."""
    return normalised.startswith(("/", "../")) or normalised == ".." or "\0" in normalised


@lru_cache(maxsize=4096)
def fold(path: str) -> str:
    """Returns the path as a file system sees it that ignores case, Unicode forms and invisible characters, like those
    of macOS."""
    if path.isascii():
        return path.lower()
    drawn = "".join(c for c in path if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", drawn).casefold())


_PLAIN_NAME = re.compile(r"(?:\*\*/)*([A-Za-z0-9_.-]+)", re.ASCII)
_PLAIN_SUFFIX = re.compile(r"(?:\*\*/)*\*([A-Za-z0-9_.-]+)", re.ASCII)
_PLAIN_FOLDER = re.compile(r"([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*/)\*\*", re.ASCII)
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+", re.ASCII)
_PLAIN = (_PLAIN_NAME, _PLAIN_SUFFIX, _PLAIN_FOLDER, _PLAIN_PATH)


@lru_cache(maxsize=4096)
def glob_fault(glob: str) -> str | None:
    """Returns why this glob can never match, or None if it can. Paths are normalised before they are matched."""
    body = glob.removeprefix("!")
    if not body.strip():
        return "it is empty"
    if len(body) > MAX_GLOB_CHARS:
        return f"it is longer than {MAX_GLOB_CHARS} characters"
    if glob.startswith("#"):
        return "`#` starts a comment in .gitignore, write `\\#`"
    if any(part in {".", ".."} for part in body.split("/")) or "//" in body:
        return "paths are matched without `.`, `..` and `//`"
    if "\0" in body:
        return "no path contains a NUL"
    return None if is_plain(body) or glob_expression(body) else "it matches nothing"


def is_plain(glob: str) -> bool:
    """Tells whether the glob is matched without an expression."""
    body = glob.removeprefix("!")
    return any(form.fullmatch(body) for form in _PLAIN)


def wild_chars(globs: Iterable[str]) -> int:
    """Counts the characters of the globs that need an expression; the time to match a path is proportional to that."""
    return sum(len(glob) for glob in globs if not is_plain(glob))


@lru_cache(maxsize=4096)
def compile_globs(globs: Sequence[str], fold_case: bool = False) -> PathMatcher:
    """Returns a matcher for normalised paths relative to the workspace: any glob matches and no `!glob` does.

    Unlike in `.gitignore` the order does not count: an exclusion always wins. With `fold_case` the globs are folded,
    and the paths have to be folded by the caller. `globs` must be hashable. A glob for which `glob_fault` has a reason
    matches nothing. Nothing is compiled before the first path, because most processes ask only few of the rules.
    """

    @cache
    def matcher() -> PathMatcher:
        return _compile_now(globs, fold_case)

    def matches(path: str) -> bool:
        return matcher()(path)

    return matches


def _compile_now(globs: Sequence[str], fold_case: bool) -> PathMatcher:
    folded = [fold(g) for g in globs] if fold_case else list(globs)
    wanted = _any_of([g for g in folded if not g.startswith("!")])
    unwanted = [g[1:] for g in folded if g.startswith("!")]
    if not unwanted:
        return wanted
    excluded = _any_of(unwanted)
    return lambda path: wanted(path) and not excluded(path)


def _any_of(globs: list[str]) -> PathMatcher:
    """Returns a matcher. Plain names, suffixes, folders and paths, which most globs are, need no expression, because
    matching expressions would take most of the time."""
    names = frozenset(m[1] for g in globs if (m := _PLAIN_NAME.fullmatch(g)))
    suffixes = tuple(m[1] for g in globs if (m := _PLAIN_SUFFIX.fullmatch(g)))
    paths = frozenset(g for g in globs if _PLAIN_PATH.fullmatch(g))
    folders = (*(m[1] for g in globs if (m := _PLAIN_FOLDER.fullmatch(g))), *(f"{path}/" for path in paths))
    rest = match_any(e for g in globs if not is_plain(g) and (e := glob_expression(g)))
    if not names and not suffixes and rest is None:
        return lambda path: path.startswith(folders) or path in paths
    if not names and not folders and rest is None:
        below = tuple(f"{suffix}/" for suffix in suffixes)
        return lambda path: path.endswith(suffixes) or any(each in path for each in below)

    def matches(path: str) -> bool:
        parts = path.split("/")
        return (
            path.startswith(folders)
            or path in paths
            or not names.isdisjoint(parts)
            or (bool(suffixes) and any(part.endswith(suffixes) for part in parts))
            or (rest is not None and rest(path))
        )

    return matches
