"""Globs that cost time in proportion to their length, whoever wrote them (agent.md §2, threats.md, Shell)."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass

from remit_server.errors import ToolError

MAX_GLOB_CHARS = 512
_MAX_ALTERNATIVES = 64
_CLASS = re.compile(r"\[!?\]?[^\]]*\]")
_NOTHING = re.compile(r"(?!)")

# None is `**`: any number of names, also none.
Segments = tuple[re.Pattern[str] | None, ...]


@dataclass(frozen=True, slots=True)
class Glob:
    """A parsed glob: `*`, `?`, `[…]` within a name, `**` across folders, `{a,b}` for either.

    Without a slash it matches a name at any depth, with one it is anchored, as in `.gitignore`.
    """

    text: str
    alternatives: tuple[Segments, ...]

    @property
    def hint(self) -> str:
        """What to say where nothing matches: `/` at the beginning is often meant as the whole disk's."""
        return ", where `/` at its beginning stands for that folder" if self.text.startswith("/") else ""

    def matches(self, relative: str) -> bool:
        """Whether a path with `/`, relative to where the glob is anchored, matches as a whole."""
        names = relative.split("/")
        return any(_matches(segments, names) for segments in self.alternatives)


def parse_glob(text: str) -> Glob:
    """Raises ToolError (`invalid_arguments`) for one that is empty, too long or not finished, that leads out of
    the folder, or has too many alternatives."""
    if not text.strip("/"):
        raise _unusable(text, "it matches nothing")
    if ".." in text.split("/"):
        raise _unusable(text, "`..` leads out of the folder, below which it is looked for")
    if len(text) > MAX_GLOB_CHARS:
        raise _unusable(text[:40] + "…", f"it is longer than {MAX_GLOB_CHARS} characters")
    pending, finished = [text], list[str]()
    while pending:
        one = pending.pop()
        if brace := re.search(r"\{([^{}]*)\}", one):
            pending += [one[: brace.start()] + part + one[brace.end() :] for part in brace[1].split(",")]
        else:
            finished.append(one)
        if len(pending) + len(finished) > _MAX_ALTERNATIVES:
            raise _unusable(text, f"its braces stand for more than {_MAX_ALTERNATIVES} patterns")
    if unclosed := next(filter(None, map(_unclosed, finished)), None):
        raise _unusable(text, f"its `{unclosed}` is never closed; `[{unclosed}]` stands for that character itself")
    return Glob(text, tuple(_segments(one) for one in finished))


def _unusable(text: str, why: str) -> ToolError:
    return ToolError(f"cannot use the pattern `{text}`", why, "use a glob such as `**/*.py` or `src/*.ts`")


def _unclosed(text: str) -> str | None:
    """The bracket or brace that has no end, where there is one: it would be taken as a plain character."""
    return next((bracket for part in text.split("/") for bracket in "[{" if bracket in _CLASS.sub("", part)), None)


def _segments(text: str) -> Segments:
    text = text.removeprefix("./")
    anchored = "/" in text.rstrip("/")
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if text.endswith("/"):
        parts.append("**")
    if not anchored:
        parts.insert(0, "**")
    if parts[-1] == "**":
        # At the end it stands for something below, never for nothing.
        parts.append("*")
    # fnmatch writes its stars as atomic groups, which never go back.
    return tuple(None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts)


def _matches(segments: Segments, names: list[str]) -> bool:
    """Wildcard matching over names: a failure goes back to the last `**` only, so the cost is a product."""
    at = name = 0
    retry_at, retry_name = -1, 0
    while name < len(names):
        segment = segments[at] if at < len(segments) else _NOTHING
        if segment is None:
            retry_at, retry_name = at, name
            at += 1
        elif segment.match(names[name]):
            at += 1
            name += 1
        elif retry_at >= 0:
            retry_name += 1
            at, name = retry_at + 1, retry_name
        else:
            return False
    return at == len(segments)
