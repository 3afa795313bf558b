"""What may be written at a place of a policy file: the keys of its form, or the words its key knows (POL-14)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from remit_governance.policy.editing.outline import MAX_CHARACTERS, Token, outline, read_outline
from remit_governance.policy.editing.schema import UNITS, WHOLE, Slot, fields_of, known_words, meaning, slot_at
from remit_governance.policy.editing.spans import Span

# Stands for what is typed next, so that a place where nothing stands yet has a token too.
_CURSOR = "\ue000"
_PREFIX = re.compile(r"[\w.-]*")
_WORD = re.compile(r"[\w.-]*")
_COLON_AHEAD = re.compile(r"[\"']?[ \t]*:")
_DIGITS = re.compile(r"[0-9]{1,15}")
_USUAL_SIZES = ("100KiB", "1MiB", "10MiB")


@dataclass(frozen=True, slots=True)
class Completion:
    """One proposal: `text` takes the place of `span`, which lies in one line and holds the cursor."""

    label: str
    kind: Literal["key", "word"]
    meaning: str
    span: Span
    text: str


def completions(
    text: str, offset: int, tools: Mapping[str, str] | None = None, *, project: bool = False, whole: Slot = WHOLE
) -> tuple[Completion, ...]:
    """Finds what fits at the offset of a file that is `whole`; nothing at a place that no form knows. `tools` are those
    there are, with their meanings.

    A project's policy may not allow, so that `allow` is not proposed in one.
    """
    # A word right behind a colon or comma needs a space before it.
    gap = " " if text[:offset].endswith((":", ",")) else ""
    token = _token_at_end(text[:offset] + gap)
    slot = slot_at(token.place, whole) if token is not None else None
    if token is None or slot is None:
        return ()
    prefix = token.text[: -len(_CURSOR)]
    if not _PREFIX.fullmatch(prefix):
        return ()
    span = Span(min(offset - len(prefix), offset), _word_end(text, offset))
    lead = gap if not prefix else ""
    if slot.form is not None:
        found = _keys(text, span, token, slot) if token.role == "open" and not slot.many else ()
        quoted = token.span.end - token.span.start > len(token.text)
        ending = "" if quoted or _COLON_AHEAD.match(text, span.end) else ": "
        return tuple(Completion(name, "key", what, span, f"{lead}{name}{ending}") for name, what in found)
    key = next((part for part in reversed(token.place) if isinstance(part, str)), "")
    words = _sizes(prefix) if key == "max_file_size" else _words(slot, key, tools or {})
    return tuple(
        Completion(word, "word", what, span, f"{lead}{word}")
        for word, what in words
        if not (project and key == "action" and word == "allow")
    )


def _token_at_end(before: str) -> Token | None:
    """Returns the token that the cursor would be writing; None in a comment, a block of text or behind a whole
    value."""
    if len(before) >= MAX_CHARACTERS:
        return None
    tokens = read_outline(before + _CURSOR).tokens
    last = tokens[-1] if tokens else None
    return last if last is not None and last.span.end > len(before) and last.text.endswith(_CURSOR) else None


def _word_end(text: str, offset: int) -> int:
    found = _WORD.match(text, offset)
    return found.end() if found else offset


def _keys(text: str, span: Span, token: Token, slot: Slot) -> Iterator[tuple[str, str]]:
    """Yields the keys that the mapping does not have yet, but for the one being written."""
    given = {
        other.text
        for other in outline(text).tokens
        if other.role == "key" and other.place[:-1] == token.place and not _touch(other.span, span)
    }
    for name in fields_of(slot.form) if slot.form is not None else ():
        if name not in given:
            yield name, meaning(slot.form, name) or ""


def _touch(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end


def _words(slot: Slot, key: str, tools: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the words a form accepts; where it accepts any, the ones that have a meaning."""
    known = known_words(key, tools)
    for word in slot.words or known:
        yield word, known.get(word, "")


def _sizes(prefix: str) -> Iterator[tuple[str, str]]:
    digits = _DIGITS.match(prefix)
    if digits is None:
        yield from ((size, "") for size in _USUAL_SIZES)
        return
    for unit, factor in UNITS.items():
        yield f"{digits.group()}{unit}", f"{int(digits.group()) * factor} bytes"
