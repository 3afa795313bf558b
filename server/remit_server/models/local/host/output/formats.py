"""Reads calls in the models' own formats, with mlx-lm's parsers (MOD-04).

Those parsers are lenient: they drop what they do not understand. A call without one of its arguments, or with one cut
short, is a different call; so a call is accepted only where its whole text has the format's shape, and all of it was
parsed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from remit_server.models.local.host.output.calls import (
    CLOSE,
    OPEN,
    ReadCall,
    UnreadableCall,
    as_call,
    ends_in_string,
    read_json,
)

Tools = Sequence[Mapping[str, JsonValue]]
"""Descriptions of the tools, as chat templates take them: some formats do not distinguish numbers from text."""


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """The format of a model's calls: its markers and its parser. Without `close` a call ends with the text.

    `parse` returns one call or a list of them, as objects, and may raise anything.
    """

    name: str
    open: str
    close: str
    parse: Callable[[str, Tools], object]


def _own(text: str, tools: Tools) -> object:
    del tools
    return read_json(text)


OWN = ToolFormat("json_tools", OPEN, CLOSE, _own)
"""The format of the grammar, which many models were trained on."""


def _arguments(open_: str, close: str) -> str:
    """Returns the expression for arguments between two tags; a closing tag in a value ends the value."""
    return rf"(?:{open_}(?:(?!{close}).)*{close}\s*)*"


def _pairs(prefix: str) -> str:
    key, value = f"{prefix}arg_key", f"{prefix}arg_value"
    return rf"(?:<{key}>(?:(?!</{key}>).)*</{key}>\s*<{value}>(?:(?!</{value}>).)*</{value}>\s*)*"


_QUOTED = r'"[^"<>]+"'
_QWEN_PARAMETER = r"<parameter=[^\s<>]+>"
_SHAPES: Mapping[str, tuple[str, str]] = {
    "qwen3_coder": (
        rf"<function=[^\s<>]+>\s*{_arguments(_QWEN_PARAMETER, '</parameter>')}</function>",
        "<parameter=",
    ),
    "glm47": (rf"[\w.-]+\s*{_pairs('')}", "<arg_key>"),
    "longcat": (rf"[\w.-]+\s*{_pairs('longcat_')}", "<longcat_arg_key>"),
    "minimax_m2": (
        rf"(?:<invoke name={_QUOTED}>\s*{_arguments(rf'<parameter name={_QUOTED}>', '</parameter>')}</invoke>\s*)+",
        "<parameter name=",
    ),
    "minicpm5": (rf"{_QUOTED}>\s*{_arguments(rf'<param name={_QUOTED}>', '</param>')}", "<param name="),
    "pythonic": (r"\[.*\]", ""),
    "mistral": (r"\[\s*\{.*\}\s*\]|[\w-]+\s*\[ARGS\]\s*\{.*\}", ""),
    "gemma4": (r"call:[\w-]+\{.*\}", ""),
    "function_gemma": (r"call:\w+\{[^{}]*\}", ""),
    "kimi_k2": (_arguments(r"<\|tool_call_begin\|>", r"<\|tool_call_end\|>"), "<|tool_call_begin|>"),
}
"""The shape of a format's whole text, and the tag that occurs once per argument (`kimi_k2`: once per call)."""

_PLAIN = (ast.Constant, ast.List, ast.Dict, ast.UnaryOp, ast.USub, ast.Load)
_LITERALS = frozenset({"true", "false", "null"})
"""The names of plain values: Python's and JSON's."""

KNOWN: frozenset[str] = frozenset(_SHAPES)
"""The known formats. For a model with any other, only calls in `OWN` are read."""


def read_calls(format_: ToolFormat, text: str, tools: Tools) -> tuple[ReadCall, ...]:
    """Reads the text between the markers: one call, or several where the format allows that.

    Raises UnreadableCall where any part is uncertain; none of it is used then.
    """
    if format_ is OWN or (format_.open == OPEN and text.lstrip().startswith("{")):
        return (as_call(read_json(text)),)
    shape, tag = _SHAPES[format_.name]
    if re.fullmatch(shape, text.strip(), re.DOTALL) is None:
        raise UnreadableCall(f"it does not have the shape of a call in the model's format, {format_.name}")
    if format_.name == "pythonic":
        _require_python(text)
    try:
        parsed = format_.parse(text, tools)
    except Exception as error:
        raise UnreadableCall(f"it is not a call in the model's format, {format_.name}: {error}"[:200]) from error
    values = cast("list[object]", parsed) if isinstance(parsed, list) else [parsed]
    calls = tuple(map(as_call, values))
    counted = len(calls) if format_.name == "kimi_k2" else sum(len(call.arguments) for call in calls)
    if not calls or (tag and text.count(tag) != counted):
        raise UnreadableCall("an argument stands in it twice, or is not closed")
    return calls


def goes_on(text: str) -> bool:
    """Returns whether a closing marker after `text` is inside a JSON string, and closes nothing."""
    return text.lstrip().startswith(("{", "[{")) and ends_in_string(text)


def _require_python(text: str) -> None:
    """Raises UnreadableCall unless the text is a list of calls with plain values: mlx-lm guesses at anything else."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableCall(f"it is not a Python expression: {error}"[:200]) from error
    if not isinstance(tree, ast.List) or not all(map(_is_plain_call, tree.elts)):
        raise UnreadableCall("it is not a list of calls whose arguments have names and plain values")


def _is_plain_call(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or node.args or not all(keyword.arg for keyword in node.keywords):
        return False
    parts = [part for keyword in node.keywords for part in ast.walk(keyword.value)]
    return all(isinstance(part, _PLAIN) or (isinstance(part, ast.Name) and part.id in _LITERALS) for part in parts)
