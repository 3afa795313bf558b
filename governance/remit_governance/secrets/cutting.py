"""Shortens texts after their secrets are out (SEC-01): no redactor recognises half of a secret.

`truncate` takes only what a redactor returned. `shorten` is for places that have no redactor at hand, such as the
reasons of a policy and the words of an error, which are redacted as a whole later.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

from remit_governance.secrets.redaction import Redacted, Redactor, map_strings

_WORD_AT_END = re.compile(r"[^\s\"'`]*\Z")
_WORD = re.compile(r"[^\s\"'`]*")
_CHANGE = re.compile(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]")
_CHANGES_OF_PATH = 4
_MARGIN = 200
"""Characters that are read on either side of a cut, to see which word it parts."""


def truncate(text: Redacted, limit: int, mode: Literal["head", "tail", "middle"] = "head") -> Redacted:
    """Returns at most `limit` characters of a text, with a note of how many were left out.

    With `head` the beginning is kept, with `tail` the end, and with `middle` both.
    """
    if len(text) <= limit:
        return text
    # The length of the note depends on the number in it, which has at most as many digits as `len(text)`.
    room = limit - len(_note(len(text)))
    if room <= 0:
        return Redacted(text[:limit])
    omitted = len(text) - room
    head = {"head": room, "tail": 0, "middle": (room + 1) // 2}[mode]
    tail = text[len(text) - (room - head) :]
    return Redacted(text[:head] + _note(omitted) + tail)


def truncate_strings(redacted: Any, limit: int) -> Any:
    """Returns a JSON value, whose strings are redacted, with the middle of every long string cut, keys included."""
    return map_strings(redacted, lambda text: truncate(Redacted(text), limit, "middle"))


def shorten(text: str, most: int) -> str:
    """Returns at most `most` characters of a text; an ellipsis at the end says that more was cut off.

    Secrets that have a form are taken out before. Others may be known only to the redactor that reads the text later:
    a word that the cut would part is left out if it may be one.
    """
    if len(text) <= most:
        return text
    clean = _by_form().redact(text)
    return clean if len(clean) <= most else clean[: _seam(clean, most - 1)].rstrip() + "…"


@cache
def _by_form() -> Redactor:
    return Redactor()


def _seam(text: str, at: int) -> int:
    """Returns where to cut instead of at `at`, so that no word is parted that has digits, unless it is like a path."""
    begun = _WORD_AT_END.search(text, max(at - _MARGIN, 0), at)
    rest = _WORD.match(text, at, at + _MARGIN)
    before, behind = begun.group() if begun else "", rest.group() if rest else ""
    word = before + behind
    may_be_secret = any(map(str.isdigit, word)) and ("/" not in word or len(_CHANGE.findall(word)) >= _CHANGES_OF_PATH)
    return at - len(before) if behind and may_be_secret else at


def _note(omitted: int) -> str:
    return f"\n[… {omitted} characters left out …]\n"
