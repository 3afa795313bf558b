"""Patterns for a person's own secrets: expressions that take linear time for any text (SEC-03).

RE2 is the engine. It does not backtrack, so no expression takes exponential time. It does not know look-around and
references to groups; such a pattern is refused when the policy is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, cast

import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

MAX_LENGTH = 1_000
"""The most characters of one expression."""

MAX_STEPS = 1_500
"""The most steps of a compiled expression; each character of a text may take that many."""

_re2 = cast("Any", re2)


class _Compiled(Protocol):
    @property
    def programsize(self) -> int: ...

    def search(self, text: bytes) -> object | None: ...

    def sub(self, replacement: Callable[[Any], bytes], text: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """An expression, and the name that replaces its matches; `project` is whether a project brought it. Two are equal
    if these three are."""

    name: str
    pattern: str
    project: bool = False
    _compiled: _Compiled = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raises ValueError if the pattern cannot be used; the message says what is wrong and what to do."""
        object.__setattr__(self, "_compiled", _compile(self.pattern))

    def redact(self, text: bytes, *, keep_lines: bool) -> bytes:
        """Returns the text with each match replaced by its name."""

        def label(match: Any) -> bytes:
            found: bytes = match.group()
            if not found:  # a match of nothing hides nothing
                return b""
            return f"[redacted {self.name}]".encode() + b"\n" * (found.count(b"\n") if keep_lines else 0)

        return self._compiled.sub(label, text)


@lru_cache(maxsize=256)
def _compile(pattern: str) -> _Compiled:
    if len(pattern) > MAX_LENGTH:
        raise ValueError(f"the pattern is longer than {MAX_LENGTH} characters: write several shorter ones")
    options = _re2.Options()
    options.log_errors = False
    try:
        compiled = cast("_Compiled", _re2.compile(pattern, options))
    except (_re2.error, UnicodeEncodeError) as error:
        raise ValueError(f"the pattern `{pattern}` cannot be used, {_why(error)}: see RE2's syntax") from None
    if compiled.programsize > MAX_STEPS:
        raise ValueError(f"the pattern `{pattern}` is too large once compiled: repeat less, or name fewer characters")
    if compiled.search(b"") is not None:
        raise ValueError(
            f"the pattern `{pattern}` matches empty text, so it matches everywhere: make a part of it required"
        )
    return compiled


def _why(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    text = said.decode(errors="replace") if isinstance(said, bytes) else "it holds half a character"
    return text.replace(": ", " ").lower()


def finder(literals: Iterable[str]) -> Callable[[bytes], bool]:
    """Returns a function that tells in one pass whether UTF-8 bytes hold any of the literals."""
    options = _re2.Options()
    options.encoding = _re2.Options.Encoding.LATIN1
    escaped = [_re2.escape(literal.encode("utf-8", "surrogatepass")) for literal in sorted(literals)]
    search = _re2.compile(b"|".join(escaped), options).search if escaped else None
    return lambda data: search is not None and search(data) is not None
