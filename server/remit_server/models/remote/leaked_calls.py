"""Calls that a server left in the text: it did not know the model's own syntax (MOD-14).

Without this a step that calls something would pass for the end of the turn. What is between the markers of thinking is
never looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from remit_server.errors import ModelFailed
from remit_server.models.dialects.dialect import Dialect
from remit_server.models.dialects.read import ReadCall, Schemas, UnreadableCall, read_calls
from remit_server.models.dialects.table import DIALECTS, QWEN_XML
from remit_server.models.ports import ProposedCall, ToolSpec, new_call_id

_FRAMES = (("<think>", "</think>"), *{row.thinking for row in DIALECTS.values() if row.thinking is not None})
_THINKING = re.compile("|".join(rf"{re.escape(begin)}.*?(?:{re.escape(end)}|\Z)" for begin, end in _FRAMES), re.DOTALL)
_END_OF_TEXT = re.compile(r"(?:</s>|<\|im_end\|>|<\|eot_id\|>)\s*\Z")
_BARE = "<function="
"""What Qwen3-Coder begins with where it leaves out its marker."""


def find_leaked_call(text: str, tools: Sequence[ToolSpec]) -> Iterator[ProposedCall]:
    """Yields the calls of `tools` in a text. Raises ModelFailed where there is one that cannot be read."""
    said = _END_OF_TEXT.sub("", _THINKING.sub("", text))
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
