"""Git's patterns, compiled for RE2, which takes no longer for an involved one: they come with the project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]
from dulwich.wildmatch import MalformedPattern, translate

MAX_PATTERN_BYTES = 1_000

_re2 = cast("Any", re2)


def compile_git_pattern(pattern: bytes, folder: bytes = b"", *, anywhere: bool = False) -> Callable[[bytes], bool]:
    """Whether a whole path below `folder` is one that the pattern stands for: `anywhere` below it, or right there.

    Raises ValueError for a pattern that git has match nothing.
    """
    options = _re2.Options()
    options.encoding = _re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.dot_nl = True
    above = _re2.escape(folder + b"/") if folder else b""
    try:
        expression = above + (b"(?:.*/)?" if anywhere else b"") + translate(pattern)
        compiled = _re2.compile(expression, options)
    except (MalformedPattern, _re2.error) as error:
        raise ValueError(str(error)) from error
    return lambda path: compiled.fullmatch(path) is not None
