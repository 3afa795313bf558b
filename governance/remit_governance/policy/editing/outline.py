"""The keys and values of a policy text with their places, read line by line so that a half-typed text has them too.

A YAML parser gives up at the first fault, and a text that is being typed has a fault most of the time. This reader
knows indentation, `- `, `{ }`, `[ ]`, quotes, comments and block scalars, and skips what it cannot place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from remit_governance.policy.editing.spans import Span
from remit_governance.policy.language.document import MAX_DEPTH, Place

Role = Literal["key", "value", "open"]
"""`open` is a word without a colon, which may become a key or be a value: only the form at its place can tell."""

MAX_CHARACTERS = 40_000
"""The most characters of a text that is read while it is edited; a policy may have more."""

_BLANKS = re.compile(r"[ \t]*")
_REST = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
_DASH = re.compile(r"-(?=[ \t\r\n]|\Z)[ \t]*")
_COLON = re.compile(r":(?=[ \t\r\n]|\Z)")
_ANY_COLON = re.compile(r":")
_FLOW_COLON = re.compile(r":(?=[ \t\r\n,\[\]{}]|\Z)")
_MARKER = re.compile(r"---(?=[ \t\r\n]|\Z)[ \t]*|(?:\.\.\.(?=[ \t\r\n]|\Z)|%)[^\r\n]*")
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*(?:[ \t]+|(?=[\r\n]|\Z)))*")
_QUOTED = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*\\?"?' + r"|'(?:[^'\r\n]|'')*'?")
_PLAIN = re.compile(r"(?:(?!:(?:[ \t\r\n]|\Z)|[ \t]#)[^\r\n])+")
_FLOW_PLAIN = re.compile(r"(?:(?!:(?:[ \t\r\n,\[\]{}]|\Z)|[ \t]#)[^\r\n,\[\]{}])+")
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]*[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


@dataclass(frozen=True, slots=True)
class Token:
    """One scalar. `place` is the place of the key or of the value; for an open word, that of what it stands in."""

    role: Role
    place: Place
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The tokens of a text in their order; `reach` maps the start of a key to the end of its value."""

    tokens: tuple[Token, ...]
    reach: Mapping[int, int]

    def at(self, offset: int) -> Token | None:
        """Returns the token that holds the offset or ends at it, or None."""
        index = bisect_right(self.tokens, offset, key=lambda token: token.span.start) - 1
        token = self.tokens[index] if index >= 0 else None
        return token if token is not None and offset <= token.span.end else None

    def value(self, place: Place) -> Token | None:
        """Returns the first value at a place, or None."""
        return next((t for t in self.tokens if t.place == place and t.role != "key"), None)


def read_outline(text: str) -> Outline:
    """Returns the outline of a text. Never raises. The outline of a text that is too large is empty, and the outline of
    one that is nested too deeply ends early."""
    if len(text) > MAX_CHARACTERS:
        return Outline((), {})
    reader = _Reader(text)
    reader.read()
    return Outline(tuple(reader.tokens), reader.reach)


outline = lru_cache(maxsize=4)(read_outline)
"""`read_outline` with a cache, because it is called many times for one text."""


@dataclass(slots=True)
class _Frame:
    """A mapping or sequence in block style, or a place where one may begin; `column` is then its least column."""

    place: Place
    column: int
    kind: Literal["map", "seq"] | None = None
    key: str = ""
    key_start: int = 0
    waits: bool = False
    index: int = -1


@dataclass(slots=True)
class _Flow:
    """A mapping or sequence in flow style."""

    place: Place
    kind: Literal["map", "seq"]
    key: str | None = None
    key_start: int = 0
    index: int = 0

    @property
    def slot(self) -> Place:
        return (*self.place, self.index if self.kind == "seq" else self.key or "")


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    tokens: list[Token] = field(default_factory=list[Token])
    reach: dict[int, int] = field(default_factory=dict[int, int])
    stack: list[_Frame] = field(default_factory=lambda: [_Frame((), 0)])

    def read(self) -> None:
        while self.at < len(self.text):
            self._line()

    # block style

    def _line(self) -> None:
        start = self.at
        if marker := _MARKER.match(self.text, start):
            self.at = marker.end()
        if self._pass_line_end():
            return
        column = self.at - start
        while dash := _DASH.match(self.text, self.at):
            if not self._item(column):
                self._skip_line()
                return
            if self.at >= len(self.text):
                return
            self.at = dash.end()
            if self._pass_line_end():
                return
            column = self.at - start
        frame = self._frame(column)
        if frame is not None:
            self._content(frame)
        if self.at == start or self.text[self.at - 1] not in "\r\n":
            self._skip_line()

    def _item(self, column: int) -> bool:
        """Begins the next item of a sequence for a dash at this column. Returns False if no sequence can have it."""
        while len(self.stack) > 1 and self.stack[-1].column > column:
            self.stack.pop()
        top = self.stack[-1]
        if top.kind is None:
            top.kind, top.column = "seq", column
        elif top.kind == "map" and top.waits and column >= top.column:
            top.waits = False
            self._push(_Frame((*top.place, top.key), column, "seq"))
        elif top.kind == "map" or column != top.column:
            return False
        sequence = self.stack[-1]
        sequence.index += 1
        self._push(_Frame((*sequence.place, sequence.index), column + 1))
        return True

    def _frame(self, column: int) -> _Frame | None:
        """Returns the frame to which content at this column belongs, or None if there is none."""
        while len(self.stack) > 1 and self._left(self.stack[-1], column):
            self.stack.pop()
        top = self.stack[-1]
        if top.kind is None:
            top.column = column
            return top
        if top.kind == "map" and column > top.column and top.waits:
            top.waits = False
            self._push(_Frame((*top.place, top.key), column))
            return self.stack[-1]
        return top if top.kind == "map" and column == top.column else None

    @staticmethod
    def _left(frame: _Frame, column: int) -> bool:
        return frame.column > column or (frame.kind == "seq" and frame.column == column)

    def _content(self, frame: _Frame) -> None:
        """Reads a key with its value, or a value alone, that belongs to a frame."""
        if self._ends_after_properties():
            return
        if frame.kind is None and self._collection_or_block(frame.place, frame.column - 1):
            return
        scalar = self._scalar(_PLAIN)
        if scalar is None:
            return
        span, text = scalar
        self._blanks()
        if not (colon := _COLON.match(self.text, self.at)):
            self.tokens.append(Token("open", frame.place, span, text))
            return
        self.at = colon.end()
        frame.kind, frame.key, frame.key_start, frame.waits = "map", text, span.start, True
        self.tokens.append(Token("key", (*frame.place, text), span, text))
        self._value(frame)

    def _value(self, frame: _Frame) -> None:
        """Reads the value after a key in the same line. If there is none, the key waits for the lines below."""
        self._blanks()
        if self._line_is_over() or self._ends_after_properties():
            return
        frame.waits = False
        place = (*frame.place, frame.key)
        if not self._collection_or_block(place, frame.column):
            scalar = self._scalar(_PLAIN)
            if scalar is None:
                return
            self.tokens.append(Token("value", place, *scalar))
        self.reach[frame.key_start] = self.tokens[-1].span.end if self._at_line_start() else self.at

    def _collection_or_block(self, place: Place, floor: int) -> bool:
        """Reads a flow collection or skips a block scalar, and returns whether one begins here. Its further lines are
        indented by more than `floor`."""
        if self.text[self.at] in "{[":
            self._flow(place, floor)
            return True
        header = _BLOCK_SCALAR.match(self.text, self.at)
        if header is None:
            return False
        self.at = header.end()
        self._skip_line()
        while self.at < len(self.text) and self._column_ahead() > floor:
            self._skip_line()
        return True

    # flow style

    def _flow(self, place: Place, floor: int) -> None:
        levels: list[_Flow] = []
        self._enter(levels, place)
        while levels and self.at < len(self.text):
            if self._gap(floor):
                return
            if self.at < len(self.text):
                self._flow_step(levels)

    def _gap(self, floor: int) -> bool:
        """Skips space, comments and line ends. Returns True if the next line is no longer part of the collection."""
        while True:
            self._blanks()
            if not self._line_is_over() or self.at >= len(self.text):
                return False
            self._skip_line()
            column = self._column_ahead()
            if column <= floor and self.text[self.at + column] not in "]}":
                return True

    def _flow_step(self, levels: list[_Flow]) -> None:
        top, character = levels[-1], self.text[self.at]
        match character:
            case "{" | "[":
                self._enter(levels, top.slot)
            case "}" | "]":
                self.at += 1
                levels.pop()
                if levels and levels[-1].kind == "map" and levels[-1].key is not None:
                    self.reach[levels[-1].key_start] = self.at
            case ",":
                self.at += 1
                top.key = None
                top.index += 1
            case _:
                self.at = self._after_properties()
                self._flow_scalar(top)

    def _flow_scalar(self, top: _Flow) -> None:
        quoted = self.text[self.at : self.at + 1] in ('"', "'")
        scalar = self._scalar(_FLOW_PLAIN)
        if scalar is None:
            if self.text[self.at : self.at + 1] not in (*"{}[],", ""):
                self.at += 1
            return
        span, text = scalar
        if top.kind == "seq":
            self.tokens.append(Token("value", top.slot, span, text))
        elif top.key is not None:
            self.tokens.append(Token("value", top.slot, span, text))
            self.reach[top.key_start] = span.end
        else:
            end = _BLANKS.match(self.text, self.at)
            colon = (_ANY_COLON if quoted else _FLOW_COLON).match(self.text, end.end() if end else self.at)
            if colon is None:
                self.tokens.append(Token("open", top.place, span, text))
                return
            self.at = colon.end()
            top.key, top.key_start = text, span.start
            self.tokens.append(Token("key", (*top.place, text), span, text))

    def _enter(self, levels: list[_Flow], place: Place) -> None:
        levels.append(_Flow(place, "map" if self.text[self.at] == "{" else "seq"))
        self.at = self.at + 1 if len(place) <= MAX_DEPTH else len(self.text)

    # used for both styles

    def _push(self, frame: _Frame) -> None:
        self.stack.append(frame)
        if len(frame.place) > MAX_DEPTH:
            self.at = len(self.text)

    def _scalar(self, plain: re.Pattern[str]) -> tuple[Span, str] | None:
        """Returns the span of the quoted or plain scalar that begins here, and its text without quotes. It ends with
        the line at the latest."""
        if found := _QUOTED.match(self.text, self.at):
            raw = found.group()
            text = raw[1:-1] if len(raw) > 1 and raw.endswith(raw[0]) else raw[1:]
        elif found := plain.match(self.text, self.at):
            raw = text = found.group().rstrip(" \t")
        else:
            return None
        span = Span(self.at, self.at + len(raw))
        self.at = span.end
        return span, text

    def _pass_line_end(self) -> bool:
        """Skips blanks and, if nothing else stands in the line, its end. Returns whether it skipped the end."""
        self._blanks()
        if not self._line_is_over():
            return False
        self._skip_line()
        return True

    def _ends_after_properties(self) -> bool:
        self.at = self._after_properties()
        return self._line_is_over()

    def _after_properties(self) -> int:
        found = _PROPERTIES.match(self.text, self.at)
        return found.end() if found else self.at

    def _line_is_over(self) -> bool:
        if self.at >= len(self.text) or self.text[self.at] in "\r\n":
            return True
        return self.text[self.at] == "#" and (self.at == 0 or self.text[self.at - 1] in " \t\r\n")

    def _at_line_start(self) -> bool:
        return self.at > 0 and self.text[self.at - 1] in "\r\n"

    def _column_ahead(self) -> int:
        """Returns the column at which the line that begins here has content; if it has none, a column beyond all
        others."""
        found = _BLANKS.match(self.text, self.at)
        end = found.end() if found else self.at
        empty = end >= len(self.text) or self.text[end] in "\r\n#"
        return MAX_CHARACTERS if empty else end - self.at

    def _blanks(self) -> None:
        if found := _BLANKS.match(self.text, self.at):
            self.at = found.end()

    def _skip_line(self) -> None:
        if found := _REST.match(self.text, self.at):
            self.at = found.end()
