"""Tells where in an answer a call may stand, and where its spelling is only quoted (MOD-14)."""

from __future__ import annotations

import re
from typing import Literal

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)(`{1,20})(?!`).{0,2000}?(?<!`)\1(?!`)", re.DOTALL)
_BLANK = re.compile(r"\n[ \t]*\n")
_TAG = re.compile(r"<(/?)(?:pre|code|blockquote|q|samp)\b[^<>]{0,200}>|<(!)--|--(>)", re.IGNORECASE)
_OPENING = ("“", "„", "«", "‹", "‘", "「", "『", "'", '"', "`", "(")
_PAIRS = (("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"))
_INDENT = 4
_LIST = re.compile(r"[ \t]*(?:[-+*>|#]|\d+[.)])?[ \t]*")
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？")
_MOST = 2_000
"""How many characters of the paragraph before a call are looked at; a quotation that begins earlier does not count."""


Place = Literal["call", "inline", "quoted"]
"""`call`: a call may begin here; `inline`: the place is within a sentence; `quoted`: the place is quoted."""


def place_of(before: str) -> Place:
    """Returns what a call would be that a local model writes after this text.

    Templates of several families put a call right after the text, so it may also stand after the end of a sentence.
    """
    if is_quoted(before):
        return "quoted"
    line = before.rpartition("\n")[2]
    if begins_line(before, len(before)):
        return "call"
    if _LIST.fullmatch(line):
        return "quoted"
    return "call" if line.endswith(_SENTENCE_ENDS) else "inline"


def is_quoted(before: str) -> bool:
    """Returns whether what follows this text stands in a fence, in code, in an element of HTML or in quotes."""
    return _in_fence(before) or _in_element(before) or _in_paragraph(before)


def begins_line(text: str, at: int) -> bool:
    """Returns whether at most three spaces stand before a place in its line; four would make it a block of code."""
    line = text[max(0, at - _INDENT) : at].rpartition("\n")
    return not line[2].strip(" ") and (bool(line[1]) or at < _INDENT)


def _in_fence(before: str) -> bool:
    opened = ""
    for found in _FENCE.finditer(before):
        mark, rest = found[1], found[2]
        if not opened:
            opened = "" if mark[0] == "`" and "`" in rest else mark
        elif mark.startswith(opened) and not rest.strip():
            opened = ""
    return bool(opened)


def _in_element(before: str) -> bool:
    depth = comment = 0
    for found in _TAG.finditer(before):
        if found[2] or found[3]:
            comment = int(bool(found[2]))
        elif not comment:
            depth = max(0, depth + (-1 if found[1] else 1))
    return bool(depth or comment)


def _in_paragraph(before: str) -> bool:
    """Returns whether a quotation is open in the paragraph that a call would continue."""
    if before.rstrip().endswith(_OPENING):
        return True
    paragraph = _SPAN.sub("", _BLANK.split(before[-_MOST:])[-1])
    if "`" in paragraph or paragraph.count('"') % 2:
        return True
    return any(paragraph.rfind(begin) > paragraph.rfind(end) for begin, end in _PAIRS)
