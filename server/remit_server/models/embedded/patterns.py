"""The searches the embedded model makes: fixed regular expressions around one name (MOD-09)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

IMPORT = r"^(import|from \S+ import|use \w+:|require\w*|#include|local .*require)\W.*[^({,]$"
"""A complete import on one line of its own, in the languages that spell it so; none that goes on in the next line."""
DOCUMENTED = r"(def|class) NAME\b.*:$"
"""The line that opens a Python function or class and ends its head."""
ASSIGNED = r"^[^=(#]*\bNAME\b[^=(]*[=:] "
"""A line that gives NAME a value; no comparison, no argument of a call, no comment."""
DEFINED = r"""^[^#/"']*\b(def|class|func|function|fn|struct|type|interface|enum|trait|module) NAME\b"""
"""A line that defines NAME, where a keyword says so."""

_AROUND = {"documented": DOCUMENTED, "assigned": ASSIGNED}
MADE_UP = re.compile(r"_|\d|[a-z][A-Z]|^[A-Z]{2}")
"""Words that no sentence holds by itself."""
LITERAL = re.compile(r"-?\d(?:[\w.]*\w)?|(\"|').*\1|true|false|none|null|nil|yes|no|on|off", re.IGNORECASE)
"""A value that stands for itself."""
_SETTING = frozenset(
    {
        "set", "assign", "make", "change", "update", "give", "let", "put", "use", "value", "values", "constant",
        "equal", "equals", "new", "now", "variable", "setting",
    }
)  # fmt: skip
"""Words of requests to change a value, which are seldom what has it."""
_ASKING = _SETTING | {
    "insert", "into", "get", "add", "put", "write", "see", "find", "show", "tell", "look", "which", "where", "file",
    "files", "defines", "defined", "definition", "function", "class", "method", "that", "following",
}  # fmt: skip
"""Words of requests about a definition, which are seldom its name."""
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Searches:
    """Patterns to look for in one file, and anywhere in the workspace."""

    in_file: tuple[str, ...]
    anywhere: tuple[str, ...]


def fill_pattern(pattern: str, name: str) -> str:
    """Returns one of the patterns with `name`, an identifier, in its place."""
    return pattern.replace("NAME", name)


def imports(spans: Iterable[str]) -> tuple[str, ...]:
    """Those of `spans` that are an import and nothing more."""
    found = (span for span in spans if "`" not in span and re.match(IMPORT, span))
    return tuple(span for span in found if not re.search(r" (to|in|into|at|of|for|among)$", span))


def searches(words: Iterable[str], spans: Iterable[str], *, documents: bool) -> Searches:
    """Returns every search the model may make for one of `words`; one that `documents` or brings an import makes no
    other.
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
    """Which pattern a search of one file was made with, and around which name; two empty texts for any other."""
    for kind, template in _AROUND.items():
        before, after = template.split("NAME")
        name = pattern.removeprefix(before).removesuffix(after)
        if _NAME.fullmatch(name) and fill_pattern(template, name) == pattern:
            return kind, name
    return "", ""
