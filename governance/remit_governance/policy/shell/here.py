"""Removes here-documents from a script before it is parsed, because the grammar is often wrong about where they end and
does not see backticks in them.

Only plain ones are removed: the delimiter is one name, and nothing in the body runs (a plain variable only gives text).
If anything else, such as a substitution or a quote over several lines, stands beside one, the script stays as it was
and is not certain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FED = "/dev/stdin"
"""The file that a program reads in the rewritten script in place of its here-document."""

_OPERATOR = re.compile(r"<<(-?)[ \t]*(?:'(\w+)'|\"(\w+)\"|(\w+))(?=[\s;&|()<>]|\Z)", re.ASCII)
_TOLD = re.compile(
    r"\A([\w./ &;=:,@+\n-]*)\"\$\(cat <<[ ]?(?:'(\w+)'|\"(\w+)\")\n"
    r"((?:(?!(?:\2|\3)\n)[^\"$`\\\n]*\n)*)(?:\2|\3)\n[ \t]*\)\"",
    re.ASCII,
)
"""A here-document that a substitution turns into one word, without special characters, as in
`git commit -m "$(cat <<'EOF' … EOF)"`. Nothing before it is quoted."""
_TOLD_IN_ANY = re.compile(
    r"\A([\w./ &;=:,@+\n-]*)\"\$\(cat <<[ ]?(?:'(\w+)'|\"(\w+)\")\n"
    r"((?:(?!(?:\2|\3)\n)(?:[^()$\\\n]|\([^()\"'`\\$\n]*\))*\n)*)(?:\2|\3)\n[ \t]*\)\"(?=[^)]*\Z)",
    re.ASCII,
)
"""The same, but with quotes and backticks, which have no meaning in it. bash 3.2 does not know here-documents when it
looks for the end of the substitution, and counts parentheses and quotes. So the text has to leave only one place where
that end can be found."""
_EXPANDED = re.compile(r"`|\$[({\[]|\\\n")
_QUOTED = r"""'[^']*'|"(?:[^"\\$`]|\\.|\$(?![({]))*"|\\."""
_PLAIN = r"""<<<|\$(?![({'"])|[^'"\\$`]"""
_COMMENT = r"(?<![^\s;&|()])#[^\n]*"
_PIECE = re.compile(f"{_QUOTED}|{_COMMENT}|{_PLAIN}", re.DOTALL)
"""Quoted text, an escaped character, a comment, `<<<`, or any other character that does not begin a substitution."""


@dataclass(slots=True)
class _Awaited:
    """A here-document whose body begins after this line."""

    end: str
    tabs: bool
    expands: bool


@dataclass(slots=True)
class _Script:
    text: str
    kept: list[str] = field(default_factory=list[str])
    awaited: list[_Awaited] = field(default_factory=list[_Awaited])


def without_here_documents(text: str) -> str | None:
    """Returns the script in which each here-document is replaced by a redirection from `FED`, or None if a
    here-document is not plain or its end is not certain."""
    told = _TOLD.match(text) or _TOLD_IN_ANY.match(text)
    if told is not None:
        text = f"{told[1]}'{told[4].replace(chr(39), ' ')}'{text[told.end() :]}"
    if "<<" not in text.replace("<<<", ""):
        return text
    script, at = _Script(text), 0
    while at < len(text):
        operator = _OPERATOR.match(text, at)
        if operator is not None:
            dash, *quoted, bare = operator.groups()
            script.awaited.append(_Awaited(quoted[0] or quoted[1] or bare, bool(dash), bare is not None))
            script.kept.append(f"<{FED} ")
            at = operator.end()
            continue
        piece = _PIECE.match(text, at)
        if piece is None or (piece[0] == "<" and text.startswith("<<", at)):
            return None
        if script.awaited and "\n" in piece[0][1:-1]:
            return None
        script.kept.append(piece[0])
        at = piece.end()
        if piece[0] == "\n" and script.awaited:
            behind = _behind_bodies(script, at)
            if behind is None:
                return None
            at = behind
    return None if script.awaited else "".join(script.kept)


def _behind_bodies(script: _Script, at: int) -> int | None:
    """Returns the position after the bodies that begin at `at`, or None if a body may run something or has no end."""
    for each in script.awaited:
        start = at
        while True:
            if at >= len(script.text):
                return None
            line, newline, _ = script.text[at:].partition("\n")
            at += len(line) + len(newline)
            if (line.lstrip("\t") if each.tabs else line) == each.end:
                break
        if each.expands and _EXPANDED.search(script.text, start, at):
            return None
    script.awaited.clear()
    return at
