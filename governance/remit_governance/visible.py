"""Makes characters that hide or reorder text visible, so that a person approves what they read (APP-03)."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Literal

# Characters that draw nothing although their category is that of letters, marks or symbols.
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u180b\u180c\u180d\u180f"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
# Controls, formats (bidi, zero width, tags), surrogates, private use, unassigned, separators, odd spaces.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_OPEN, _CLOSE = "\u27e8", "\u27e9"


def visible(text: str, newlines: Literal["keep", "show"] = "keep") -> str:
    """Returns `text` with every hidden character spelled out, such as `⟨U+202E⟩`.

    `newlines` says whether line feeds and tabs stay (for a diff) or are spelled out too (for one line, an argv).
    Carriage returns never stay. The brackets `⟨` and `⟩` are spelled out as well, so that different texts never look
    the same.
    """
    return _spell_out(text, "\n\t" if newlines == "keep" else "")


def visible_again(text: str, newlines: Literal["keep", "show"] = "keep") -> str:
    """As `visible`, for a text of which parts were made visible before: the brackets `⟨` and `⟩` stay as they are."""
    return _spell_out(text, (_OPEN + _CLOSE) + ("\n\t" if newlines == "keep" else ""))


def without_hidden(text: str) -> str:
    """Returns the text without its hidden characters, which include carriage returns; line feeds and tabs stay."""
    return "".join(c for c in text if c in "\n\t" or not _hides(c))


def _spell_out(text: str, kept: str) -> str:
    if text.isascii() and text.strip(kept).isprintable():
        return text
    return "".join(c if c in kept else _shown(c) for c in text)


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    hidden = _hides(character) or character in (_OPEN, _CLOSE)
    return f"{_OPEN}U+{ord(character):04X}{_CLOSE}" if hidden else character


def _hides(character: str) -> bool:
    return (unicodedata.category(character) in _HIDDEN and character != " ") or character in _BLANK
