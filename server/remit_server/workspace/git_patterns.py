"""Compiles git's patterns for RE2, which matches in linear time, because the project's patterns are untrusted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

MAX_PATTERN_BYTES = 1_000

_re2 = cast("Any", re2)
_MANY_STARS = re.compile(rb"(?<![^/])\*{3,}(?![^/])")
_LITERAL = re.compile(rb"[^*?\[\\]*")
_ODD_END = re.compile(rb"(?<!\\)(?:\\\\)*\\\Z")


def git_options() -> Any:
    """Returns RE2's options for an expression of `git_expression`, which matches bytes."""
    options = _re2.Options()
    options.encoding = _re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.dot_nl = True
    return options


def git_expression(pattern: bytes) -> bytes:
    """Returns the regular expression, in RE2's syntax, of one of git's patterns.

    Raises ValueError for a pattern that matches nothing for git.
    """
    from dulwich.wildmatch import MalformedPattern, translate  # imported here, so that only matching waits for it

    if _ODD_END.search(pattern):
        raise ValueError("a backslash at the end escapes nothing")
    # Git reads any number of stars between slashes as two. It compares the text before the first wildcard by itself, so
    # that stars right after it are at the beginning of a pattern and may stand for folders.
    pattern = _MANY_STARS.sub(b"**", pattern)
    if pattern.endswith(b"/**"):  # match what is in the folder, not the folder itself, whose path may end with a slash
        pattern += b"/*"
    begin = cast("re.Match[bytes]", _LITERAL.match(pattern))[0]
    rest = pattern[len(begin) :]
    try:
        if rest == b"**" or rest.startswith(b"**/"):
            return cast("bytes", _re2.escape(begin)) + translate(rest)
        return translate(pattern)
    except MalformedPattern as error:
        raise ValueError(str(error)) from error


def compile_git_pattern(pattern: bytes, folder: bytes = b"", *, anywhere: bool = False) -> Callable[[bytes], bool]:
    """Returns a predicate that tells whether the pattern matches a whole path, relative to `folder`, or also to any
    folder below it (`anywhere`).

    Raises ValueError for a pattern that matches nothing for git.
    """
    above = _re2.escape(folder + b"/") if folder else b""
    try:
        compiled = _re2.compile(above + (b"(?:.*/)?" if anywhere else b"") + git_expression(pattern), git_options())
    except _re2.error as error:
        raise ValueError(str(error)) from error
    return lambda path: compiled.fullmatch(path) is not None
