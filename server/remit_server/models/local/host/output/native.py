"""Reads a growing text: plain text, calls in the formats of the model, and unreadable ones (MOD-04).

The table of dialects says which markers enclose calls and how calls are read; other formats are read by mlx-lm's
parsers. Those are lenient: they drop what they do not understand. But a call without one of its arguments, or with one
cut short, is a different call. So a call that they read is accepted only if its whole text has the format's shape and
all of it was parsed. A call counts only where MOD-14 allows one: at the end of the answer, on a line of its own and
unquoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from pydantic import JsonValue

from remit_server.models.dialects.quotation import place_of
from remit_server.models.dialects.read import (
    ReadCall,
    Schemas,
    TextFollows,
    UnreadableCall,
    as_call,
    read_calls,
    read_objects,
)
from remit_server.models.dialects.table import COMPACT, LLAMA, QWEN_XML, Dialect
from remit_server.models.local.host.output.output_reader import (
    MOST_SHOWN,
    MOST_STARTS,
    JsonStrings,
    LastCalls,
    Unreadable,
)
from remit_server.models.thinking import partial_marker_length

Parse = Callable[[str, Sequence[Mapping[str, JsonValue]]], object]
"""A parser of mlx-lm: takes a call's text and the descriptions of the tools, and may raise anything."""


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """The markers of calls and their reader, which raises UnreadableCall. Without `close` a call ends with the text.

    With `only_first`, a marker after other text begins no call. `left_over` may stand after a call, and means nothing.
    """

    name: str
    open: str
    close: str
    read: Callable[[str, Schemas], tuple[ReadCall, ...]]
    only_first: bool = False
    left_over: str = ""


def held_format(dialect: Dialect) -> ToolFormat:
    """Returns the only format in which a grammar lets a model of a dialect spell a call."""
    read = partial(read_calls, dialect)
    return ToolFormat(dialect.name, dialect.marker, dialect.end, read, only_first=not dialect.several)


def dialect_formats(dialect: Dialect) -> tuple[ToolFormat, ...]:
    """Returns the formats in which models of a dialect spell calls, and Remit's own, which some models fall back to."""
    row = held_format(dialect)
    match dialect:
        case _ if dialect is LLAMA:
            # The smaller models put the kind before the name, or leave out white space.
            opens = ('{"name"', '{"type": "function", "name"', "<|python_tag|>{")
            return tuple(
                ToolFormat(row.name, open_, "", partial(_read_llama, open_), only_first=True) for open_ in opens
            )
        case _ if dialect is QWEN_XML:
            # Qwen3-Coder sometimes leaves out the outer marker.
            bare = ToolFormat(row.name, "<function=", "</function>", _read_bare_function, left_over=row.close)
            return row, bare
        case _ if dialect.marker == COMPACT.marker:
            return (row,)
        case _:
            return row, ToolFormat(COMPACT.name, COMPACT.marker, COMPACT.end, partial(read_calls, COMPACT))


def _read_llama(opened: str, body: str, schemas: Schemas) -> tuple[ReadCall, ...]:
    del schemas
    return tuple(read_objects((opened + body).removeprefix("<|python_tag|>")))


def _read_bare_function(body: str, schemas: Schemas) -> tuple[ReadCall, ...]:
    return read_calls(QWEN_XML, f"<function={body}</function>", schemas)


def foreign_format(name: str, open_: str, close: str, parse: Parse) -> ToolFormat:
    """Returns a format that mlx-lm reads: one of `FOREIGN`."""
    return ToolFormat(name, open_, close, partial(_read_foreign, name, parse))


def _arguments(open_: str, close: str) -> str:
    """Returns the expression for arguments between two tags; a closing tag in a value ends the value."""
    return rf"(?:{open_}(?:(?!{close}).)*{close}\s*)*"


def _pairs(prefix: str) -> str:
    key, value = f"{prefix}arg_key", f"{prefix}arg_value"
    return rf"(?:<{key}>(?:(?!</{key}>).)*</{key}>\s*<{value}>(?:(?!</{value}>).)*</{value}>\s*)*"


_QUOTED = r'"[^"<>]+"'
_SHAPES: Mapping[str, tuple[str, str]] = {
    "longcat": (rf"[\w.-]+\s*{_pairs('longcat_')}", "<longcat_arg_key>"),
    "minimax_m2": (
        rf"(?:<invoke name={_QUOTED}>\s*{_arguments(rf'<parameter name={_QUOTED}>', '</parameter>')}</invoke>\s*)+",
        "<parameter name=",
    ),
    "minicpm5": (rf"{_QUOTED}>\s*{_arguments(rf'<param name={_QUOTED}>', '</param>')}", "<param name="),
    "function_gemma": (r"call:\w+\{[^{}]*\}", ""),
    "kimi_k2": (_arguments(r"<\|tool_call_begin\|>", r"<\|tool_call_end\|>"), "<|tool_call_begin|>"),
}
"""The shape of a format's whole text, and the tag that occurs once per argument (`kimi_k2`: once per call)."""

FOREIGN: frozenset[str] = frozenset(_SHAPES)
"""The formats outside the table that are read. For a model with any other, only its dialect's formats are read."""


def _read_foreign(name: str, parse: Parse, text: str, schemas: Schemas) -> tuple[ReadCall, ...]:
    shape, tag = _SHAPES[name]
    if re.fullmatch(shape, text.strip(), re.DOTALL) is None:
        raise UnreadableCall(f"it does not have the shape of a call in the model's format, {name}")
    tools: list[Mapping[str, JsonValue]] = [
        {"type": "function", "function": {"name": tool, "parameters": dict(schema)}} for tool, schema in schemas.items()
    ]
    try:
        parsed = parse(text, tools)
    except Exception as error:
        raise UnreadableCall(f"it is not a call in the model's format, {name}: {error}"[:200]) from error
    values = cast("list[object]", parsed) if isinstance(parsed, list) else [parsed]
    calls = tuple(map(as_call, values))
    counted = len(calls) if name == "kimi_k2" else sum(len(call.arguments) for call in calls)
    if not calls or (tag and text.count(tag) != counted):
        raise UnreadableCall("an argument is given twice, or is not closed")
    return calls


_JSON = re.compile(r"\s*(?:\{|\[\{)")


class NativeReader:
    """Splits text that arrives in pieces; reports a call that it cannot read, and uses no part of it."""

    def __init__(self, formats: Sequence[ToolFormat], schemas: Schemas) -> None:
        self._formats = formats
        self._schemas = schemas
        self._held = ""
        self._said = ""
        self._starts = 0
        self._format: ToolFormat | None = None
        self._last: LastCalls | None = None
        self._left_over = ""
        self._searched = 0
        self._strings = JsonStrings()

    def feed(self, piece: str) -> Iterator[str | ReadCall | Unreadable]:
        """Adds text; yields text that certainly is no call. Calls are yielded at the end."""
        self._held += piece
        while (text := self._step()) is not None:
            if text:
                yield text

    def finish(self, *, cut: bool) -> Iterator[str | ReadCall | Unreadable]:
        """Yields what was held back. A call that the token limit cut off (`cut`) is dropped."""
        while text := self._take_quoted_row(cut=cut):
            yield text
            yield from self.feed("")
        last, format_, rest = self._last, self._format, self._held
        self._format, self._last, self._held = None, None, ""
        if last is None:
            yield rest
        elif format_ is not None and not cut:
            yield from self._end_open(last, format_, rest)
        elif rest.strip() and not cut:  # the rest begins like a marker, and is none
            yield last.text + rest
        else:
            last.text += "" if cut else rest
            yield from last.end()

    def _take_quoted_row(self, *, cut: bool) -> str:
        """Takes calls that were quoted and never closed, up to a marker that does not continue them."""
        last, format_, rest = self._last, self._format, self._held
        if last is None or format_ is None or format_.only_first or (format_.close and last.place == "call"):
            return ""
        if cut and last.place == "inline":
            return ""
        if format_.close:
            self._format, self._last = None, None
            return self._named(last.text + format_.open)
        end = self._end_of_row(format_, rest)
        if end == len(rest) or (last.place == "call" and not self._is_followed(format_, rest[:end])):
            return ""
        text = last.text + format_.open + rest[:end]
        self._held, self._format, self._last = rest[end:], None, None
        self._said += text
        return text

    def _named(self, text: str) -> str:
        """Takes a marker that is only mentioned as text, and a marker right after it, which belongs to the first."""
        self._said += text
        rest = self._held.lstrip()
        inner = next((each.open for each in self._formats if rest.startswith(each.open)), None)
        return text + ("" if inner is None else self._pass_on(len(self._held) - len(rest) + len(inner)))

    def _end_of_row(self, format_: ToolFormat, rest: str) -> int:
        begun = 0
        while (following := rest.find(format_.open, begun)) >= 0:
            try:
                format_.read(rest[begun:following], self._schemas)
            except UnreadableCall:
                return following
            begun = following + len(format_.open)
        return len(rest)

    def _is_followed(self, format_: ToolFormat, body: str) -> bool:
        try:
            format_.read(body, self._schemas)
        except TextFollows:
            return True
        except UnreadableCall:
            return False
        return False

    def _end_open(self, last: LastCalls, format_: ToolFormat, rest: str) -> Iterator[str | ReadCall | Unreadable]:
        """Yields the calls, the last of which has no closing marker."""
        last.text += format_.open + rest
        if format_.close:
            last.found.append(Unreadable(rest[:MOST_SHOWN], f"the answer ends before `{format_.close}`"))
            yield from last.end()
            return
        try:
            last.found += self._read(format_, rest)
            yield from last.end()
        except TextFollows:
            yield last.text

    def _step(self) -> str | None:
        """Reads on; returns text to pass on, which may be empty, or None if more text has to come first."""
        if self._last is None:
            return self._take_text()
        return self._go_on(self._last) if self._format is None else self._take_call(self._last, self._format)

    def _take_text(self) -> str | None:
        """Takes text that is no call; if a call begins, opens it."""
        at, format_ = self._first_marker()
        if format_ is None:
            at = len(self._held) - max(partial_marker_length(self._held, each.open) for each in self._formats)
            return self._pass_on(at) or None
        if self._starts == MOST_STARTS:
            return self._pass_on(at + len(format_.open))
        self._starts += 1
        text = self._pass_on(at)
        self._last = LastCalls(place_of(self._said))
        self._open(format_)
        return text

    def _first_marker(self) -> tuple[int, ToolFormat | None]:
        found = [(at, each) for each in self._formats if (at := self._held.find(each.open)) >= 0]
        able = [(at, each) for at, each in found if not (each.only_first and (self._said + self._held[:at]).strip())]
        return min(able, key=lambda each: each[0], default=(0, None))

    def _pass_on(self, end: int) -> str:
        text, self._held = self._held[:end], self._held[end:]
        self._said += text
        return text

    def _open(self, format_: ToolFormat) -> None:
        self._held = self._held[len(format_.open) :]
        self._format, self._searched, self._strings = format_, 0, JsonStrings()

    def _take_call(self, last: LastCalls, format_: ToolFormat) -> str | None:
        body = self._take_body(format_)
        if body is None:
            return None
        if last.place != "call" and not last.found and format_.open in body:  # the marker is only mentioned
            text, self._held = format_.open, f"{body}{format_.close}{self._held}"
            self._format, self._last = None, None
            return self._named(text)
        last.text += f"{format_.open}{body}{format_.close}"
        last.found += self._read(format_, body)
        self._format, self._left_over = None, format_.left_over
        return ""

    def _read(self, format_: ToolFormat, body: str) -> list[ReadCall | Unreadable]:
        """Returns the calls of a body. Raises TextFollows."""
        try:
            return list(format_.read(body, self._schemas))
        except TextFollows:
            raise
        except UnreadableCall as error:
            return [Unreadable(body[:MOST_SHOWN], str(error))]

    def _go_on(self, last: LastCalls) -> str | None:
        """Checks what follows a call: another call, or text, which means that the call was quoted."""
        rest = self._held.lstrip()
        begun = len(self._held) - len(rest)
        if self._left_over and rest.startswith(self._left_over):
            begun += len(self._left_over)
            last.text, self._held, self._left_over = last.text + self._held[:begun], self._held[begun:], ""
            return ""
        openings = [self._left_over, *(each.open for each in self._formats if not each.only_first)]
        following = next((each for each in self._formats if not each.only_first and rest.startswith(each.open)), None)
        if following is not None:
            last.text, self._held = last.text + self._held[:begun], rest
            self._open(following)
            return ""
        if any(opening.startswith(rest) for opening in openings):
            return None
        self._said, self._last = self._said + last.text, None
        return last.text

    def _take_body(self, format_: ToolFormat) -> str | None:
        """Removes and returns the text before the next closing marker, or returns None if there is none yet."""
        if not format_.close:
            return None
        while (end := self._held.find(format_.close, self._searched)) >= 0:
            if not self._in_string(end):
                body, self._held = self._held[:end], self._held[end + len(format_.close) :]
                return body
            self._searched = end + 1
        self._searched = max(self._searched, len(self._held) - len(format_.close) + 1)
        return None

    def _in_string(self, end: int) -> bool:
        """Returns whether a closing marker stands inside a JSON string, and closes nothing."""
        return _JSON.match(self._held) is not None and self._strings.reach(self._held, end)
