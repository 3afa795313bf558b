"""The table of dialects: the syntaxes in which families of models spell their calls (MOD-16).

Grammar, spelling and reading come from a row; nothing else knows a syntax. A call is spelled byte for byte as the
templates of its models do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class JsonObject:
    """Arguments as one JSON object; `compact` without white space."""

    compact: bool = False

    @property
    def separators(self) -> tuple[str, str]:
        """What stands between two items, and between a key and its value."""
        return (",", ":") if self.compact else (", ", ": ")


@dataclass(frozen=True, slots=True)
class Tagged:
    """Arguments between tags, one after another: strings as they are, other values as JSON.

    With `python_words` true, false and null are spelled as in Python. A string that holds the tag which closes a value
    cannot be spelled.
    """

    open_key: str
    open_value: str
    close_value: str
    python_words: bool = False


@dataclass(frozen=True, slots=True)
class QuotedKeys:
    """Arguments in braces, the keys sorted and bare, strings as they are between two `quote`s."""

    quote: str


@dataclass(frozen=True, slots=True)
class PythonKeywords:
    """Arguments as keywords of a call in Python."""


Encoding = JsonObject | Tagged | QuotedKeys | PythonKeywords


@dataclass(frozen=True, slots=True)
class Dialect:
    """One row. A call is `marker`, `before_name`, name, `after_name`, arguments, `after_arguments`, `end`.

    `marker` begins a call and nothing else. If `end` is empty, a call ends at the end of the text or at the next
    marker. `between` stands between two calls of one answer. Without `several`, an answer is text or calls, never both,
    and the model's template takes one call per message. `thinking` has the markers of thinking that mlx-lm does not
    know. If there is a `call_id`, the call's id follows it.
    """

    name: str
    marker: str
    before_name: str
    after_name: str
    encoding: Encoding
    after_arguments: str
    end: str
    between: str = ""
    several: bool = True
    answer: str = ""
    thinking: tuple[str, str] | None = None
    call_id: str = ""


_JSON, _COMPACT = JsonObject(), JsonObject(compact=True)
_PARAMETERS = Tagged("<parameter=", ">\n", "\n</parameter>\n", python_words=True)
_PAIRS = Tagged("<arg_key>", "</arg_key><arg_value>", "</arg_value>")
_PAIRS_ON_LINES = Tagged("<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n")
_ARGUMENTS = '", "arguments": '
_THINK = ("[THINK]", "[/THINK]")

COMPACT = Dialect("compact", "<tool_call>", '{"name":"', '","arguments":', _COMPACT, "}", "</tool_call>")
"""Remit's own dialect, for models whose template spells no calls."""
HERMES = Dialect("hermes", "<tool_call>", '\n{"name": "', _ARGUMENTS, _JSON, "}\n", "</tool_call>", between="\n")
QWEN_XML = Dialect(
    "qwen-xml", "<tool_call>", "\n<function=", ">\n", _PARAMETERS, "</function>\n", "</tool_call>", between="\n"
)
GLM = Dialect("glm", "<tool_call>", "", "", _PAIRS, "", "</tool_call>")
GLM_ON_LINES = Dialect("glm-on-lines", "<tool_call>", "", "\n", _PAIRS_ON_LINES, "", "</tool_call>", between="\n")
MISTRAL = Dialect("mistral", "[TOOL_CALLS]", "", "[ARGS]", _JSON, "", "", thinking=_THINK)
MISTRAL_WITH_IDS = Dialect(
    "mistral-with-ids", "[TOOL_CALLS]", "", "[ARGS]", _JSON, "", "", thinking=_THINK, call_id="[CALL_ID]"
)
HARMONY = Dialect(
    "harmony",
    " to=functions.",
    "",
    "<|channel|>commentary json<|message|>",
    _JSON,
    "",
    "<|call|>",
    between="<|start|>assistant",
    several=False,
    answer="<|channel|>final<|message|>",
    thinking=("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
)
GEMMA = Dialect("gemma", "<|tool_call>", "call:", "", QuotedKeys('<|"|>'), "", "<tool_call|>")
PYTHON = Dialect("python", "<|tool_call_start|>", "[", "(", PythonKeywords(), ")]", "<|tool_call_end|>")
LLAMA = Dialect("llama", '{"name": "', "", '", "parameters": ', _JSON, "}", "", between="; ", several=False)

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        row.name: row
        for row in (
            COMPACT,
            HERMES,
            QWEN_XML,
            GLM,
            GLM_ON_LINES,
            MISTRAL,
            MISTRAL_WITH_IDS,
            HARMONY,
            GEMMA,
            PYTHON,
            LLAMA,
        )
    }
)

SIGNS: tuple[tuple[str, Dialect], ...] = (
    ("<|tool_call>", GEMMA),
    ("</arg_key>\\n<arg_value>", GLM_ON_LINES),
    ("<arg_key>", GLM),
    ("<|tool_call_start|>", PYTHON),
    ("<|tool_list_start|>", PYTHON),
    ("<function=", QWEN_XML),
    ("[CALL_ID]", MISTRAL_WITH_IDS),
    ("[TOOL_CALLS]", MISTRAL),
    ("<|channel|>", HARMONY),
    ('"parameters": ', LLAMA),
    ("<tool_call>", HERMES),
)
"""Texts that only a dialect's templates contain, the surest first; used if a template spells a call as no row does."""


PYTHON_WORDS: Mapping[str, JsonValue] = {"True": True, "False": False, "None": None}


def spell_call(dialect: Dialect, name: str, arguments: Mapping[str, JsonValue], call_id: str = "") -> str:
    """Returns the text of one call."""
    identified = f"{dialect.call_id}{call_id}" if dialect.call_id else ""
    head = f"{dialect.marker}{dialect.before_name}{name}{identified}{dialect.after_name}"
    return f"{head}{spell_arguments(dialect, arguments)}{dialect.after_arguments}{dialect.end}"


def spell_arguments(dialect: Dialect, arguments: Mapping[str, JsonValue]) -> str:
    """Returns the text of a call's arguments."""
    match dialect.encoding:
        case JsonObject() as encoding:
            return json.dumps(dict(arguments), ensure_ascii=False, separators=encoding.separators)
        case Tagged() as encoding:
            return "".join(
                f"{encoding.open_key}{key}{encoding.open_value}{_tagged(value, encoding)}{encoding.close_value}"
                for key, value in arguments.items()
            )
        case QuotedKeys(quote=quote):
            return _quoted(dict(arguments), quote)
        case PythonKeywords():
            return ", ".join(f"{key}={_python(value)}" for key, value in arguments.items())
        case _:
            assert_never(dialect.encoding)


def _tagged(value: JsonValue, encoding: Tagged) -> str:
    if isinstance(value, str):
        return value
    if encoding.python_words and (value is None or isinstance(value, bool)):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _quoted(value: JsonValue, quote: str) -> str:
    match value:
        case str():
            return f"{quote}{value}{quote}"
        case list():
            return f"[{','.join(_quoted(item, quote) for item in value)}]"
        case dict():
            return "{" + ",".join(f"{key}:{_quoted(value[key], quote)}" for key in sorted(value)) + "}"
        case None:
            return "None"
        case _:
            return json.dumps(value)


def _python(value: JsonValue) -> str:
    """Returns a value as Python spells it. JSON strings are Python strings too; only the three words differ."""
    match value:
        case list():
            return f"[{', '.join(map(_python, value))}]"
        case dict():
            return "{" + ", ".join(f"{json.dumps(key)}: {_python(item)}" for key, item in value.items()) + "}"
        case None | bool():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)
