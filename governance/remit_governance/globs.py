"""Globs as in `.gitignore`, matched in time proportional to their length and the path's, whoever wrote them
(POL-08).

pathspec translates a glob into a regular expression and RE2, which has no backtracking, matches it: globs come with a
project, and nobody vouches for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

PathMatcher = Callable[[str], bool]

MAX_GLOB_CHARS = 512
"""Characters of one glob."""

_CHUNK_CHARS = 8_000
"""Characters of one compiled expression: what RE2 keeps of a larger one no longer fits its memory."""

_EVERYTHING = "."
"""What pathspec makes of `**`."""

_SELF_OR_BELOW = "(?:(?:/)|$)"
_NEGATED = re.compile(r"(?<!\\)\[\^")
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")
_re2 = cast("Any", re2)


def escape_glob(text: str) -> str:
    """Returns a glob that stands for this text alone."""
    # A space at the end of a glob would be dropped.
    escaped: str = GitIgnoreSpecPattern.escape(text)
    return escaped.replace(" ", "\\ ")


def glob_expression(glob: str, *, below: bool = True) -> str | None:
    """Returns the regular expression, in RE2's syntax, for the paths that a glob stands for; None where there are none.

    With `below` a folder that the glob names stands for everything in it, as in `.gitignore`; without it only the path
    itself counts.
    """
    try:
        # Half a character can be in no expression: it stands for any one.
        translated, _ = GitIgnoreSpecPattern.pattern_to_regex(_encode(glob).decode())
    except ValueError:
        return None
    if translated is None:
        return None
    expression = _NAMED_GROUP.sub("(?:", translated if translated.startswith("^") else f".*{translated}")
    # No wildcard but `**` stands for a slash, which pathspec forgets of `[!a]`.
    expression = _NEGATED.sub("[^/", expression)
    if not below:
        # What names a folder ends with its slash, and stands for what is in it.
        named = expression.endswith(_SELF_OR_BELOW) or translated == _EVERYTHING
        expression = f"{expression.removesuffix(_SELF_OR_BELOW)}$" if named else f"{expression}.+$"
    return expression if _compile(expression) is not None else None


def match_any(expressions: Iterable[str]) -> PathMatcher | None:
    """Returns a matcher of paths that one of the expressions matches from the path's beginning on; None where there are
    none.

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
    """Alternatives of as many expressions as fit into one."""
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
    """Returns none where RE2 takes it for no expression, as with a range that ends before it begins."""
    options = _re2.Options()
    options.log_errors = False
    options.never_capture = True
    # A line feed in a name must not hide what follows it.
    options.dot_nl = True
    try:
        return _re2.compile(expression.encode(), options)
    except _re2.error:
        return None


def _encode(text: str) -> bytes:
    """As UTF-8, with `?` for half a character: RE2 lets no wildcard stand for a byte that is no text."""
    return text.encode(errors="replace")
