"""Calls that a server left in the text: it did not know the model's own syntax (MOD-14).

Without this a step that calls something would pass for the end of the turn. What is between the markers of thinking is
never looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from remit_server.errors import ModelFailed
from remit_server.models.dialects.dialect import Dialect
from remit_server.models.dialects.read import ReadCall, Schemas, UnreadableCall, read_calls
from remit_server.models.dialects.table import DIALECTS, QWEN_XML
from remit_server.models.ports import ProposedCall, ToolSpec, new_call_id

_FRAMES = (("<think>", "</think>"), *{row.thinking for row in DIALECTS.values() if row.thinking is not None})
_THINKING = re.compile("|".join(rf"{re.escape(begin)}.*?(?:{re.escape(end)}|\Z)" for begin, end in _FRAMES), re.DOTALL)
_END_OF_TEXT = re.compile(r"(?:</s>|<\|im_end\|>|<\|eot_id\|>)\s*\Z")
_FENCED = re.compile(r"```(?:json|tool_call|tool)?[ \t]*\n\s*(\{.{1,200000}\})\s*\n?```\s*\Z", re.DOTALL)
_BARE = "<function="
"""What Qwen3-Coder begins with where it leaves out its marker."""


_ANYWHERE = tuple({_BARE, *(row.marker for row in DIALECTS.values() if row.several or row.end)})
_AT_START = tuple({row.marker for row in DIALECTS.values() if not (row.several or row.end)})
_MARKER = re.compile("|".join(map(re.escape, _ANYWHERE)))


@dataclass(slots=True)
class Held:
    """Text as it comes, kept back from where it may be a call: what is one is neither shown nor sent back as text."""

    text: str = ""
    passed: int = 0

    def feed(self, more: str) -> str:
        """Takes more of the text; returns what of it is none of a call."""
        self.text += more
        begun = self.passed
        self.passed = max(begun, self._certain())
        return self.text[begun : self.passed]

    def rest(self) -> str:
        """Returns what was kept back, where no call was found in it."""
        begun, self.passed = self.passed, len(self.text)
        return self.text[begun:]

    def _certain(self) -> int:
        said = self.text.lstrip()
        if any(marker.startswith(said) or said.startswith(marker) for marker in _AT_START):
            return 0
        if (found := _MARKER.search(self.text, self.passed)) is not None:
            return found.start()
        ends = (
            size for marker in _ANYWHERE for size in range(len(marker) - 1, 0, -1) if self.text.endswith(marker[:size])
        )
        return len(self.text) - max(ends, default=0)


def find_leaked_call(text: str, tools: Sequence[ToolSpec]) -> Iterator[ProposedCall]:
    """Yields the calls of `tools` in a text. Raises ModelFailed where there is one that cannot be read."""
    said = _END_OF_TEXT.sub("", _THINKING.sub("", text))
    if (fenced := _fenced_call(said, tools)) is not None:
        yield fenced
        return
    marked = [row for row in DIALECTS.values() if _begins_call(row, said)]
    if not marked and _BARE not in said:
        return
    schemas = {tool.name: tool.parameters for tool in tools}
    for row in marked or [QWEN_XML]:
        with suppress(UnreadableCall):
            calls = list(_split(row, said, schemas))
            if calls and all(call.name in schemas for call in calls):
                yield from (ProposedCall(new_call_id(), call.name, call.arguments) for call in calls)
                return
    marker = marked[0].marker if marked else _BARE
    why = f"its text holds `{marker}`, and what follows is no call of a tool that was offered"
    fix = "let the server parse the model's tool calls (llama-server: `--jinja`), or use another model"
    raise ModelFailed("the model's call came as text", why, fix)


def _fenced_call(said: str, tools: Sequence[ToolSpec]) -> ProposedCall | None:
    """Returns the call that a text ends with as JSON in a fence; None where that is no call of an offered tool."""
    found = _FENCED.search(said)
    if found is None:
        return None
    try:
        value = cast("JsonValue", json.loads(found[1]))
    except (ValueError, RecursionError):
        return None
    offered = {tool.name for tool in tools}
    match value:
        case {"name": str(name), "arguments": dict(arguments), **more} | {
            "name": str(name),
            "parameters": dict(arguments),
            **more,
        } if name in offered and not more:
            return ProposedCall(new_call_id(), name, arguments)
        case _:
            return None


def _begins_call(row: Dialect, said: str) -> bool:
    """Whether a call of this dialect stands in the text; bare JSON is one only at its beginning, and with arguments."""
    if row.several or row.end:
        return row.marker in said
    return said.lstrip().startswith(row.marker) and ('"parameters"' in said or '"arguments"' in said)


def _split(row: Dialect, said: str, schemas: Schemas) -> Iterator[ReadCall]:
    """Yields the calls of a text. Raises UnreadableCall where one of them cannot be read."""
    marker = row.marker if row.marker in said else _BARE
    first, *bodies = said.split(marker) if row.end else (said.partition(marker)[0], said.partition(marker)[2])
    del first
    for body in bodies:
        whole = body.partition(row.end)[0] if row.end else body
        yield from read_calls(row, whole if marker == row.marker else f"{_BARE}{whole}", schemas)
