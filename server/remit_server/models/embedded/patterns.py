"""The embedded model's searches: fixed regular expressions around one name (MOD-09)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

IMPORT = r"^(import|from \S+ import|use \w+:|require\w*|#include|local .*require)\W.*[^({,]$"
"""A complete import on one line, in the languages with such imports; none that continues on the next line."""
DOCUMENTED = r"(def|class) NAME\b.*:$"
"""The line that begins a Python function or class and completes its header."""
ASSIGNED = r"^[^=(#]*\bNAME\b[^=(]*[=:] "
"""A line that assigns NAME; not a comparison, an argument of a call or a comment."""
DEFINED = r"""^[^#/"']*\b(def|class|func|function|fn|struct|type|interface|enum|trait|module) NAME\b"""
"""A line that defines NAME by a keyword."""

_AROUND = {"documented": DOCUMENTED, "assigned": ASSIGNED}
MADE_UP = re.compile(r"_|\d|[a-z][A-Z]|^[A-Z]{2}")
"""Words that occur in no natural sentence, such as identifiers."""
LITERAL = re.compile(r"-?\d(?:[\w.]*\w)?|(\"|').*\1|true|false|none|null|nil|yes|no|on|off", re.IGNORECASE)
"""A literal value."""
_SETTING = frozenset(
    {
        "set", "assign", "make", "change", "update", "give", "let", "put", "use", "value", "values", "constant",
        "equal", "equals", "new", "now", "variable", "setting",
    }
)  # fmt: skip
"""Words of requests to change a value that are seldom the name."""
_ASKING = _SETTING | {
    "insert", "into", "get", "add", "put", "write", "see", "find", "show", "tell", "look", "which", "where", "file",
    "files", "defines", "defined", "definition", "function", "class", "method", "that", "following",
}  # fmt: skip
"""Words of requests about a definition that are seldom its name."""
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Searches:
    """Patterns to search for in one file, and in the whole workspace."""

    in_file: tuple[str, ...]
    anywhere: tuple[str, ...]


def fill_pattern(pattern: str, name: str) -> str:
    """Returns the pattern with `name`, an identifier, filled in."""
    return pattern.replace("NAME", name)


def imports(spans: Iterable[str]) -> tuple[str, ...]:
    """Returns those of `spans` that are exactly an import."""
    found = (span for span in spans if "`" not in span and re.match(IMPORT, span))
    return tuple(span for span in found if not re.search(r" (to|in|into|at|of|for|among)$", span))


def searches(words: Iterable[str], spans: Iterable[str], *, documents: bool) -> Searches:
    """Returns all searches that the model may make for one of `words`.

    A request that `documents`, or that adds an import, allows only the search for its place.
    """
    names = [word for word in words if _NAME.fullmatch(word)]
    valued = [name for name in names if name.lower() not in _SETTING] if any(map(LITERAL.fullmatch, spans)) else []
    odd = [name for name in names if MADE_UP.search(name)] or [n for n in names if n.lower() not in _ASKING] or names
    if documents:
        return Searches(tuple(fill_pattern(DOCUMENTED, name) for name in odd if not name.startswith("doc")), ())
    if imports(spans):
        return Searches((IMPORT,), ())
    return Searches(
        tuple(fill_pattern(ASSIGNED, name) for name in valued), tuple(fill_pattern(DEFINED, name) for name in odd)
    )


def match_pattern(pattern: str) -> tuple[str, str]:
    """Returns the pattern and the name that a search of one file was made with; two empty strings for any other."""
    for kind, template in _AROUND.items():
        before, after = template.split("NAME")
        name = pattern.removeprefix(before).removesuffix(after)
        if _NAME.fullmatch(name) and fill_pattern(template, name) == pattern:
            return kind, name
    return "", ""
