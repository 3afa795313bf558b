"""A pattern as ripgrep is given it, to name the files that may match: RE2 decides in each of them (TOOL-06)."""

from __future__ import annotations

import re

MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
"""How a file in UTF-16 or UTF-32 begins: what follows is not ASCII, so every such file has to be looked into."""

_MARKED = "|".join("".join(f"\\x{code:02x}" for code in mark) for mark in MARKS)
# Bytes that are no UTF-8: a text in an older encoding, which RE2 is shown in UTF-8.
_OLDER = r"[\x00-\x7f][\x80-\xbf]|^[\x80-\xbf]|[\xc0-\xff](?:[\x00-\x7f]|$)"

_PUNCTUATION = r"""[!-/:;=?@\[-`{-~]"""
_MEMBER = rf"(?:[^\\\[\]&~\n-]|\\[dwst]|\\{_PUNCTUATION})"
_REPEAT = r"(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})"
# What both engines read alike, after `translate_escape`.
_TOKEN = re.compile(
    rf"""(?P<kept>[^\\\[\](){{}}|*+?^$\n] | \\{_PUNCTUATION} | \\t | \( (?!\?) | \(\?: | [)|] | \^(?!{_REPEAT})
        | {_REPEAT}\??(?!{_REPEAT}) )
    | (?P<class>\[\^?{_MEMBER}(?:{_MEMBER}|-{_MEMBER})*-?\])
    | (?P<escape>\\[dDsSwW] | \\[bB](?!{_REPEAT}))
    | (?P<end>\$(?!{_REPEAT}))
    | (?P<brace>[{{}}](?![\d,]))""",
    re.VERBOSE,
)
_MEMBERS = {r"\d": "0-9", r"\w": "0-9A-Za-z_", r"\s": r"\t\f\r "}
_ESCAPES = {
    **{escape: f"[{members}]" for escape, members in _MEMBERS.items()},
    **{escape.upper(): f"[^{members}]" for escape, members in _MEMBERS.items()},
    r"\b": r"(?-u:\b)",
    r"\B": r"(?-u:\B)",
}
_PLAIN = re.compile(rf"(?:[^\\\[\](){{}}|*+?^$.]|\\{_PUNCTUATION})*")
_NEGATED = re.compile(r"\\[DSWB]")


def ripgrep_expression(pattern: str) -> str | None:
    """Returns what matches a file's bytes, without Unicode, wherever the pattern matches its text; None where ripgrep
    may read the pattern otherwise than RE2 does."""
    ignore_case = pattern.startswith("(?i)")
    text = pattern.removeprefix("(?i)")
    if ignore_case and _NEGATED.search(text):
        return None
    parts: list[str] = []
    at = 0
    while at < len(text):
        if (token := _TOKEN.match(text, at)) is None:
            return None
        parts.append(_translate(token))
        at = token.end()
    plain = text.isascii() and not ignore_case and _PLAIN.fullmatch(text)
    older = "" if plain else f"|{_OLDER}"
    return f"{_MARKED}|(?u{'i' if ignore_case else ''}:{''.join(parts)}){older}"


def _translate(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "class":
            return re.sub(r"\\.", lambda found: _MEMBERS.get(found[0], found[0]), token[0])
        case "escape":
            return _ESCAPES[token[0]]
        case "end":
            return r"\r?$"
        case "brace":
            return f"\\{token[0]}"
        case _:
            return token[0]
