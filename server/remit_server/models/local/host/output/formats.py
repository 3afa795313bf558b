"""What a model's calls stand between, and how they are read: the table of dialects, else mlx-lm's parsers (MOD-04).

Those parsers are lenient: they drop what they do not understand. A call without one of its arguments, or with one cut
short, is a different call; so theirs is accepted only where its whole text has the format's shape, and all of it was
parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from pydantic import JsonValue

from remit_server.models.dialects.read import ReadCall, Schemas, UnreadableCall, as_call, read_calls, read_objects
from remit_server.models.dialects.table import COMPACT, LLAMA, QWEN_XML, Dialect

Parse = Callable[[str, Sequence[Mapping[str, JsonValue]]], object]
"""A parser of mlx-lm: takes the descriptions of the tools too, and may raise anything."""


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """The markers of calls and their reader, which raises UnreadableCall. Without `close` a call ends with the text.

    With `only_first` what stands after other text is no call. `left_over` may stand after a call, and means nothing.
    """

    name: str
    open: str
    close: str
    read: Callable[[str, Schemas], tuple[ReadCall, ...]]
    only_first: bool = False
    left_over: str = ""


def held_format(dialect: Dialect) -> ToolFormat:
    """Returns the only way in which a grammar lets a model of a dialect spell a call."""
    read = partial(read_calls, dialect)
    return ToolFormat(dialect.name, dialect.marker, dialect.end, read, only_first=not dialect.several)


def dialect_formats(dialect: Dialect) -> tuple[ToolFormat, ...]:
    """Returns the ways in which models of a dialect spell calls, and Remit's own, which some fall into."""
    row = held_format(dialect)
    match dialect:
        case _ if dialect is LLAMA:
            # The smaller ones put the kind before the name, or leave out white space.
            opens = ('{"name"', '{"type": "function", "name"', "<|python_tag|>{")
            return tuple(
                ToolFormat(row.name, open_, "", partial(_read_llama, open_), only_first=True) for open_ in opens
            )
        case _ if dialect is QWEN_XML:
            # Qwen3-Coder leaves out the outer marker at times.
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
"""The formats outside the table that are read. For a model with any other, only Remit's own is."""


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
        raise UnreadableCall("an argument stands in it twice, or is not closed")
    return calls
