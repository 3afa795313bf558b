"""The table of dialects (MOD-16). Grammar, spelling and reading come from a row; nothing else knows a syntax."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from remit_server.models.dialects.dialect import Dialect, JsonObject, PythonKeywords, QuotedKeys, Tagged

_JSON, _COMPACT = JsonObject(), JsonObject(compact=True)
_PARAMETERS = Tagged("<parameter=", ">\n", "\n</parameter>\n", python_words=True)
_PAIRS = Tagged("<arg_key>", "</arg_key><arg_value>", "</arg_value>")
_PAIRS_ON_LINES = Tagged("<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n")
_ARGUMENTS = '", "arguments": '
_THINK = ("[THINK]", "[/THINK]")

COMPACT = Dialect("compact", "<tool_call>", '{"name":"', '","arguments":', _COMPACT, "}", "</tool_call>")
"""Remit's own: of the built-in model, and of models without a template of calls."""
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
"""What only the templates of a dialect say, the surest first: for a template that spells a sample in no row's way."""
