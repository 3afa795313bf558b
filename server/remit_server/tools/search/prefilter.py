"""A regular expression over bytes that matches wherever a pattern does, and perhaps elsewhere (TOOL-06).

A file without a match of it has no match of the pattern, whatever its encoding: ripgrep and RE2 can then rule out most
files without decoding them. Its syntax is what both of them read alike. Assertions become nothing, a character that is
not ASCII becomes any bytes that one could be; what is not known to be safe has no such expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_letters, digits, punctuation

MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
"""How a file in UTF-16 or UTF-32 begins: what follows is not ASCII, so every such file has to be looked into."""

MARKED = "|".join("".join(f"\\x{code:02x}" for code in mark) for mark in MARKS)
"""The same as an expression; unanchored, for ripgrep is several times as fast with plain strings to look for."""

# In the encodings that are read, a character outside ASCII takes up to four bytes, and the first of them is no ASCII.
_OTHER = r"[\x80-\xff][^\n]{0,3}"
_ASCII = frozenset(map(chr, range(128))) - {"\n"}
# Whether these four are spaces is told differently from engine to engine.
_UNSURE = frozenset("\x1c\x1d\x1e\x1f")
_SPACE = frozenset(" \t\r\f\v")
_WORD = frozenset(ascii_letters + digits + "_")
_CLASSES = {
    "d": frozenset(digits),
    "D": _ASCII - frozenset(digits),
    "s": _SPACE | _UNSURE,
    "S": _ASCII - _SPACE,
    "w": _WORD,
    "W": _ASCII - _WORD,
}
# The Kelvin sign, the long s, and i with and without its dot are other cases of these.
_WITH_OTHER_CASES = frozenset("ksi")
_CONTROLS = {"t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_REPEAT = re.compile(r"(?:[*+?]|\{(\d{1,3})(?:,(\d{0,3}))?\})\??")
_MAX_REPEAT = 200
# Set operations, and names of classes, which not every engine knows.
_SPECIAL_IN_CLASS = ("[", "&&", "||", "--", "~~")


@dataclass(slots=True)
class _Reader:
    """A pattern and how far it has been read."""

    text: str
    at: int = 0
    ignore_case: bool = False

    def left(self) -> bool:
        return self.at < len(self.text)

    def take(self) -> str:
        """The next character. Raises ValueError at the end."""
        if not self.left():
            raise ValueError("it ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def skip(self, prefix: str) -> bool:
        found = self.text.startswith(prefix, self.at)
        self.at += len(prefix) if found else 0
        return found


def superset(pattern: str) -> str | None:
    """An expression that matches every line of bytes whose text matches `pattern`, or None where none is known.

    It speaks of encodings that keep ASCII as it is: those that do not begin with one of `MARKS`.
    """
    reader = _Reader(pattern)
    reader.ignore_case = reader.skip("(?i)")
    try:
        return f"(?:{_alternatives(reader, depth=0)})"
    except ValueError:
        return None


def _alternatives(reader: _Reader, depth: int) -> str:
    """Up to the end, or the bracket that closes this group. Raises ValueError for what is not known to be safe."""
    parts: list[str] = []
    while reader.left():
        character = reader.take()
        if character == "|":
            parts.append("|")
        elif character == ")":
            if depth == 0:
                raise ValueError("a bracket too many")
            return "".join(parts)
        elif character in "^$":
            _no_repeat(reader)
        else:
            atom = _atom(reader, character, depth)
            parts.append(atom + _repeats(reader) if atom else "")
    if depth:
        raise ValueError("a bracket is open")
    return "".join(parts)


def _atom(reader: _Reader, character: str, depth: int) -> str:
    match character:
        case "(":
            if not reader.skip("?:") and reader.text.startswith(("?", "*"), reader.at):
                raise ValueError("a group of another kind")
            if depth > 20:
                raise ValueError("too deep")
            return f"(?:{_alternatives(reader, depth + 1)})"
        case "[":
            return _class(reader)
        case ".":
            return _either(_ASCII)
        case "\\":
            return _escaped(reader)
        case "*" | "+" | "?" | "{" | "}" | "]":
            raise ValueError("out of place")
        case _:
            return _literal(reader, character)


def _escaped(reader: _Reader) -> str:
    """Nothing for an assertion."""
    character = reader.take()
    if character in "bB":
        _no_repeat(reader)
        return ""
    return _literal(reader, found) if isinstance(found := _meant(character), str) else _either(found)


def _meant(character: str) -> str | frozenset[str]:
    """What a backslash and this character stand for. Raises ValueError for what is none of the common few."""
    if character in _CLASSES:
        return _CLASSES[character]
    if character in _CONTROLS:
        return _CONTROLS[character]
    if character in punctuation:
        return character
    raise ValueError("an escape of another kind")


def _literal(reader: _Reader, character: str) -> str:
    if character not in _ASCII:
        _other(reader, character)
        return f"(?:{_OTHER})"
    if reader.ignore_case and character.isalpha():
        either = {character.lower(), character.upper()}
        return f"[{_ranges(either)}]" if either.isdisjoint(_WITH_OTHER_CASES) else _either(either)
    return _spelled(character)


def _other(reader: _Reader, character: str) -> None:
    """Raises ValueError where a character outside ASCII stands for more than itself: a few are letters' other cases."""
    if character == "\n" or reader.ignore_case:
        raise ValueError("it may stand for ASCII")


def _class(reader: _Reader) -> str:
    negated = reader.skip("^")
    members: set[str] = set()
    first = True
    while first or not reader.skip("]"):
        if any(reader.text.startswith(special, reader.at) for special in _SPECIAL_IN_CLASS):
            raise ValueError("a set operation")
        low = _member(reader)
        first = False
        if isinstance(low, str) and reader.text.startswith("-", reader.at) and not _closes(reader, 1):
            reader.take()
            high = _member(reader)
            if not isinstance(high, str) or not low <= high:
                raise ValueError("no range")
            members |= {chr(code) for code in range(ord(low), min(ord(high), 127) + 1)} | {high}
        else:
            members |= set(low)
    for member in members - _ASCII:
        _other(reader, member)
    if reader.ignore_case:
        members |= {other for one in members & _ASCII for other in (one.lower(), one.upper())}
    # What is unsure is in a class and in its opposite.
    return _either((_ASCII - members) | (_UNSURE & members) if negated else members & _ASCII)


def _closes(reader: _Reader, ahead: int) -> bool:
    return reader.text.startswith("]", reader.at + ahead)


def _member(reader: _Reader) -> str | frozenset[str]:
    """One character of a class, or the class that an escape stands for."""
    character = reader.take()
    return character if character != "\\" else _meant(reader.take())


def _repeats(reader: _Reader) -> str:
    """The quantifier that follows, if one does: greedy or not is the same to whoever asks for a match at all."""
    found = _REPEAT.match(reader.text, reader.at)
    if found is None:
        return ""
    reader.at = found.end()
    _no_repeat(reader)
    least, most = found[1], found[2]
    if least is None:
        return found[0][0]
    # A repetition beyond what the engines unroll is cut: fewer of them match wherever more do.
    if int(least) > _MAX_REPEAT:
        return f"{{{_MAX_REPEAT},}}"
    if most is None:
        return f"{{{least}}}"
    if most and int(most) < int(least):
        raise ValueError("no repetition")
    return f"{{{least},{most if most and int(most) <= _MAX_REPEAT else ''}}}"


def _no_repeat(reader: _Reader) -> None:
    """Raises ValueError where a quantifier follows that means something else to another engine."""
    if reader.left() and reader.text[reader.at] in "*+?{":
        raise ValueError("a repetition of another kind")


def _either(members: Iterable[str]) -> str:
    """One of these, or a character outside ASCII, which may always be meant."""
    return f"(?:[{_ranges(members)}]|{_OTHER})" if members else f"(?:{_OTHER})"


def _ranges(members: Iterable[str]) -> str:
    spans: list[list[int]] = []
    for code in sorted(map(ord, members)):
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(_hex(low) if low == high else f"{_hex(low)}-{_hex(high)}" for low, high in spans)


def _spelled(character: str) -> str:
    return character if character.isalnum() else _hex(ord(character))


def _hex(code: int) -> str:
    return f"\\x{code:02x}"
