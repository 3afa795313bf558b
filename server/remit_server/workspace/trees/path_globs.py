"""Path globs that match in linear time, because they may be untrusted (FILE-05)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from string import ascii_letters, digits

from remit_governance.policy.matching.paths import MAX_GLOB_CHARS, PathMatcher, glob_expression, match_any
from remit_governance.secrets.cutting import shorten
from remit_server.errors import ToolError

_MAX_ALTERNATIVES = 64
_LITERAL = f"{ascii_letters}{digits}_.-"
"""Characters without a special meaning in a glob."""
_ANY_BEFORE = re.compile(rf"(?:\*\*/)*\*+[{_LITERAL}]*")
"""Globs such as `**/*.py`, which say only how a path ends."""
_CLASS = re.compile(r"\[!?\]?[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Glob:
    """A parsed glob: `*`, `?`, `[…]` within a name, `**` across folders, `{a,b}` for either.

    Without a slash it matches a name at any depth, with one it is anchored, as in `.gitignore`; a glob that names a
    folder does not match the files in it.
    """

    text: str
    _matches: PathMatcher | None = field(repr=False, compare=False)
    _ends: tuple[str, ...] = field(default=("",), repr=False, compare=False)
    """Every path that matches ends with one of these, which rules out most paths quickly."""

    @property
    def hint(self) -> str:
        """The hint if nothing matches, because a leading `/` is often meant as the disk's root."""
        return ", where `/` at its beginning stands for that folder" if self.text.startswith("/") else ""

    def matches(self, relative: str) -> bool:
        """Returns whether a path with `/`, relative to where the glob is anchored, matches as a whole."""
        return self._matches is not None and relative.endswith(self._ends) and self._matches(relative)


def parse_glob(text: str) -> Glob:
    """Parses a glob. Raises ToolError (`invalid_arguments`) if it is empty, too long, unfinished or has too many
    alternatives, or leads out of the folder.
    """
    if not text.strip("/"):
        raise _unusable(text, "it matches nothing")
    if ".." in text.split("/"):
        raise _unusable(text, "`..` leads out of the folder that is searched")
    if len(text) > MAX_GLOB_CHARS:
        raise _unusable(shorten(text, 41), f"it is longer than {MAX_GLOB_CHARS} characters")
    pending, finished = [text], list[str]()
    while pending:
        one = pending.pop()
        if brace := re.search(r"\{([^{}]*)\}", one):
            pending += [one[: brace.start()] + part + one[brace.end() :] for part in brace[1].split(",")]
        else:
            finished.append(one)
        if len(pending) + len(finished) > _MAX_ALTERNATIVES:
            raise _unusable(text, f"its braces stand for more than {_MAX_ALTERNATIVES} patterns")
    if unclosed := next(filter(None, map(_find_unclosed, finished)), None):
        raise _unusable(text, f"its `{unclosed}` is never closed; `[{unclosed}]` matches that character itself")
    spelled = [_plain(one) for one in finished]
    expressions = (glob_expression(one, below=False) for one in spelled)
    ends = tuple(one[len(one.rstrip(_LITERAL)) :] for one in spelled)
    if all(map(_ANY_BEFORE.fullmatch, finished)):
        return Glob(text, lambda _: True, ends)
    return Glob(text, match_any(each for each in expressions if each is not None), ends)


def _unusable(text: str, why: str) -> ToolError:
    return ToolError(f"cannot use the pattern `{text}`", why, "use a glob such as `**/*.py` or `src/*.ts`")


def _find_unclosed(text: str) -> str | None:
    """Returns the bracket or brace that is not closed, if any: it would be taken literally."""
    return next((bracket for part in text.split("/") for bracket in "[{" if bracket in _CLASS.sub("", part)), None)


def _plain(text: str) -> str:
    """Returns the glob in `.gitignore`'s syntax: a backslash is literal, so are special first and last characters."""
    text = text.removeprefix("./").replace("\\", "\\\\")
    anchored = "/" in text.rstrip("/")
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if parts[-1:] != ["**"] and (text.endswith("/") or not parts):
        parts.append("**")
    if anchored or len(parts) > 1:
        parts.insert(0, "" if anchored else "**")
    spelled = "/".join(parts)
    start = "\\" if spelled[:1] in {"#", "!"} else ""
    return start + spelled.replace(" ", "\\ ")
