"""Here-documents taken out of a script before its tree is read: the grammar often is wrong about where they end, and
blind to backticks in them.

Only plain ones are taken out: a delimiter that is one name, a body in which nothing runs: of a variable comes text
alone. Whatever else stands beside one (a substitution, a quote over several lines) leaves the script as it was, and not
certain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FED = "/dev/stdin"
"""What a program reads that is fed a here-document, in the script without it."""

_OPERATOR = re.compile(r"<<(-?)[ \t]*(?:'(\w+)'|\"(\w+)\"|(\w+))(?=[\s;&|()<>]|\Z)", re.ASCII)
_TOLD = re.compile(
    r"\A([\w./ &;=:,@+\n-]*)\"\$\(cat <<[ ]?(?:'(\w+)'|\"(\w+)\")\n"
    r"((?:(?!(?:\2|\3)\n)[^\"$`\\\n]*\n)*)(?:\2|\3)\n[ \t]*\)\"",
    re.ASCII,
)
"""A text that a here-document holds and a substitution makes one word of, with no sign that means more than itself in
either: `git commit -m "$(cat <<'EOF' … EOF)"`. Nothing before it is quoted."""
_TOLD_IN_ANY = re.compile(
    r"\A([\w./ &;=:,@+\n-]*)\"\$\(cat <<[ ]?(?:'(\w+)'|\"(\w+)\")\n"
    r"((?:(?!(?:\2|\3)\n)(?:[^()$\\\n]|\([^()\"'`\\$\n]*\))*\n)*)(?:\2|\3)\n[ \t]*\)\"(?=[^)]*\Z)",
    re.ASCII,
)
"""The same with quotes and backticks, which mean nothing in it. bash 3.2 looks for the end of the substitution by
counting parentheses and quotes, and knows no here-document: so there is one place where it can be found, else none."""
_EXPANDED = re.compile(r"`|\$[({\[]|\\\n")
_QUOTED = r"""'[^']*'|"(?:[^"\\$`]|\\.|\$(?![({]))*"|\\."""
_PLAIN = r"""<<<|\$(?![({'"])|[^'"\\$`]"""
_COMMENT = r"(?<![^\s;&|()])#[^\n]*"
_PIECE = re.compile(f"{_QUOTED}|{_COMMENT}|{_PLAIN}", re.DOTALL)
"""Quoted text, an escaped sign, a comment, a here-string, any other sign; not what begins a substitution."""


@dataclass(slots=True)
class _Awaited:
    """A here-document whose body begins behind this line."""

    end: str
    tabs: bool
    expands: bool


@dataclass(slots=True)
class _Script:
    text: str
    kept: list[str] = field(default_factory=list[str])
    awaited: list[_Awaited] = field(default_factory=list[_Awaited])


def without_here_documents(text: str) -> str | None:
    """Returns the script with each program that is fed a here-document reading `FED`; None where that cannot be
    told."""
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
    """Returns where the script goes on after the bodies that begin here; None where one may run something, or has no
    end."""
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
