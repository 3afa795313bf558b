"""Calls that a server left in the text: it did not know the model's own syntax (MOD-14).

Without this a step that calls something would pass for the end of the turn. What is between the markers of thinking is
never looked at.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Iterator
from typing import cast

from pydantic import JsonValue

from remit_server.errors import ModelFailed
from remit_server.models.ports import ProposedCall

_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)|\[THINK\].*?(?:\[/THINK\]|\Z)", re.DOTALL)
_MARKERS = re.compile(
    r"<tool_call>|<function=|\[TOOL_CALLS\]|<\|tool_call\|?>|<\|tool_call_start\|>|<\|channel\|>commentary to="
)
_HERMES = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*([A-Za-z0-9_]+)\[ARGS\]\s*(\{.*?\})\s*(?=\[TOOL_CALLS\]|</s>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([A-Za-z0-9_]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([A-Za-z0-9_]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


def find_leaked_call(text: str, tools: Collection[str]) -> Iterator[ProposedCall]:
    """Yields the calls of `tools` in a text. Raises ModelFailed where there is one that cannot be read."""
    said = _THINKING.sub("", text)
    marker = _MARKERS.search(said)
    if marker is None:
        return
    found = [(name, arguments) for name, arguments in _spelled(said) if name in tools]
    if not found:
        why = f"its text holds `{marker[0]}`, and what follows is no call of a tool that was offered"
        fix = "let the server parse the model's tool calls (llama-server: `--jinja`), or use another model"
        raise ModelFailed("the model's call came as text", why, fix)
    for name, arguments in found:
        yield ProposedCall(uuid.uuid4().hex[:12], name, arguments)


def _spelled(text: str) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    for match in _HERMES.finditer(text):
        value = _json(match[1])
        if isinstance(name := value.get("name"), str) and isinstance(arguments := value.get("arguments"), dict):
            yield name, arguments
    for match in _MISTRAL.finditer(text):
        yield match[1], _json(match[2])
    for match in _FUNCTION.finditer(text):
        yield match[1], {key: _value(value) for key, value in _PARAMETER.findall(match[2])}


def _json(text: str) -> dict[str, JsonValue]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, JsonValue]", value) if isinstance(value, dict) else {}


def _value(text: str) -> JsonValue:
    """Strings stand there as they are, everything else as JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return cast("JsonValue", value) if isinstance(value, bool | int | float | list | dict) else text
