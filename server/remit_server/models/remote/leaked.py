"""Finds the calls that a server left in the text of an answer, in a model's own syntax that the server does not know
(MOD-14).

Without this, a step with such a call would count as the end of the turn. But a model may also quote calls from files
that others wrote. So a call counts only if it ends the answer, begins a line and is not quoted. Text between the
markers of thinking is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Literal

from remit_server.errors import ModelFailed
from remit_server.models.dialects.quotation import begins_line, is_quoted
from remit_server.models.dialects.read import ReadCall, Schemas, UnreadableCall, read_calls
from remit_server.models.dialects.table import DIALECTS, HARMONY, QWEN_XML, Dialect, JsonObject
from remit_server.models.ports import ProposedCall, ToolSpec, new_call_id
from remit_server.models.thinking import partial_marker_length

_FRAMES = (("<think>", "</think>"), *{row.thinking for row in DIALECTS.values() if row.thinking is not None})
_THINKING = re.compile("|".join(rf"{re.escape(begin)}.*?(?:{re.escape(end)}|\Z)" for begin, end in _FRAMES), re.DOTALL)
_END_OF_TEXT = re.compile(r"(?:</s>|<\|im_end\|>|<\|eot_id\|>)\s*\Z")
_BARE = replace(
    QWEN_XML, name="qwen-xml-bare", marker="<function=", before_name="", after_arguments="", end="</function>"
)
"""Qwen3-Coder's syntax if the model leaves out both outer markers, or only the first of them."""

_ROWS = (*DIALECTS.values(), _BARE)
_AT_START = tuple(row for row in _ROWS if not (row.several or row.end))
_BY_MARKER: Mapping[str, tuple[Dialect, ...]] = MappingProxyType(
    {
        marker: tuple(row for row in _ROWS if row.marker == marker)
        for marker in dict.fromkeys(row.marker for row in _ROWS if row not in _AT_START)
    }
)
_MARKER = re.compile("|".join(map(re.escape, _BY_MARKER)))
_HEADER = r"(?:<\|start\|>assistant)?(?:<\|channel\|>commentary)?"
"""What Harmony puts before the addressee of a call."""
_HEADER_BEFORE = re.compile(rf"{_HEADER}\Z")
_HEADS = {row.name: re.compile(rf"\s*?{_HEADER if row is HARMONY else ''}{re.escape(row.marker)}") for row in _ROWS}
_LOOKS_LIKE_CALL = re.compile(r"\s*(?:[\[{]|<function=|call:|[\w.-]+\s*(?:<arg_key>|\[ARGS\]|\[CALL_ID\]|<\||>))")
_HAS_ARGUMENTS = re.compile('"(?:parameters|arguments)"')
_OBJECT = re.compile(r"\s*\{")
_SPACE = re.compile(r"\s*")
_PARTED = re.compile(r"\s*;")
_CLOSED_ALREADY = re.compile(r"\s*(?:</tool_call>\s*)?")
_MOST_STARTS = 16
"""The most places of an answer that are tried as the start of a call; an answer with more of them is about calls."""
_LONGEST_HEADER = 64
_LONGEST_MARKER = max(map(len, _BY_MARKER))
_NEAR = 256
"""How many characters are remembered before the text that is kept back: its header and the beginning of its line
decide whether that text is a call."""
_DECODER = json.JSONDecoder()


class _TextFollowsError(UnreadableCall):
    """Text follows the complete calls, so they were quoted."""


@dataclass(slots=True)
class Held:
    """Text as it streams in, kept back from where a call may begin, so that a call is not passed on as text.

    Each piece is checked together with the text near it only, so that the cost does not grow with the text.
    """

    passed: int = 0
    _pieces: list[str] = field(default_factory=list[str])
    _state: Literal["begins", "goes on", "may be a call"] = "begins"
    _near: str = ""
    _begun: int = 0
    _looked: int = 0
    _framed: bool = False

    @property
    def text(self) -> str:
        """The whole text so far."""
        return "".join(self._pieces)

    def feed(self, more: str) -> str:
        """Takes more text; returns the text that certainly belongs to no call."""
        self._pieces.append(more)
        match self._state:
            case "begins":
                return self._begin(more)
            case "goes on":
                self._near += more
                return self._pass()
            case "may be a call":
                return ""

    def rest(self, end: int | None = None) -> str:
        """Returns the text that was kept back, up to `end`, where the calls that were found in it begin."""
        whole = self.text
        begun, self.passed = self.passed, len(whole)
        return whole[begun:end]

    def _begin(self, more: str) -> str:
        """Checks the first characters, because some markers begin a call only if they begin the answer."""
        self._near = said = (self._near + more).lstrip()
        if any(said.startswith(row.marker) for row in _AT_START):
            self._state = "may be a call"
        if any(row.marker.startswith(said) or said.startswith(row.marker) for row in _AT_START):
            return ""
        self._state, self._near = "goes on", self.text
        return self._pass()

    def _pass(self) -> str:
        """Returns the part of the kept text that is certainly no call, and drops text that is no longer near."""
        self._framed = self._framed or any(begin in self._near for begin, _ in _FRAMES)
        begun = self.passed - self._begun
        end = max(begun, self._certain())
        said, far = self._near[begun:end], max(0, end - _NEAR)
        self.passed = self._begun + end
        self._near, self._begun, self._looked = self._near[far:], self._begun + far, max(0, self._looked - far)
        return said

    def _certain(self) -> int:
        for found in _MARKER.finditer(self._near, self._looked):
            at = _begin_of(self._near, found.start())
            if begins_line(self._near, at) or self._framed:
                self._state = "may be a call"
                return at
            self._looked = found.end()
        self._looked = max(self._looked, len(self._near) - _LONGEST_MARKER)
        begun = max(partial_marker_length(self._near, marker) for marker in _BY_MARKER)
        return _header_of(self._near, len(self._near) - begun)


@dataclass(frozen=True, slots=True)
class Leaked:
    """The calls that end an answer, and where in its text they begin, or None if there are none."""

    calls: tuple[ProposedCall, ...] = ()
    at: int | None = None


def find_leaked_calls(text: str, tools: Sequence[ToolSpec]) -> Leaked:
    """Returns the calls of `tools` that end a text. Raises ModelFailed if it ends with a call that cannot be read."""
    said = _END_OF_TEXT.sub("", _THINKING.sub(lambda thought: "\n" * len(thought[0]), text))
    schemas = {tool.name: tool.parameters for tool in tools}
    for at, rows in islice(_starts(said), _MOST_STARTS):
        first = _first_of_row(rows[0], said, at)
        if not begins_line(said, first) or is_quoted(said[:first]):
            continue
        quoted = False
        for row in rows:
            try:
                calls = tuple(_read_to_end(row, said, at, schemas))
            except _TextFollowsError:
                quoted = True
                continue
            except UnreadableCall:
                continue
            if all(call.name in schemas for call in calls):
                return Leaked(tuple(ProposedCall(new_call_id(), call.name, call.arguments) for call in calls), at)
        quoted = quoted or any(_is_followed(row, said, at) for row in rows)
        if not quoted and any(_is_broken(row, said, at) for row in rows):
            why = f"its text ends with `{rows[0].marker}`, and what follows is not a call of a tool that was offered"
            fix = "let the server parse the model's tool calls (llama-server: `--jinja`), or use another model"
            raise ModelFailed("the model's call came as text", why, fix)
    return Leaked()


def _starts(said: str) -> Iterator[tuple[int, tuple[Dialect, ...]]]:
    """Yields where a call may begin, and the dialects of the marker there; bare JSON must be the whole answer."""
    begun = len(said) - len(said.lstrip())
    if any(said.startswith(row.marker, begun) for row in _AT_START) and _HAS_ARGUMENTS.search(said):
        yield begun, _AT_START
    for found in _MARKER.finditer(said):
        if begins_line(said, at := _begin_of(said, found.start())):
            yield at, _BY_MARKER[found[0]]


def _first_of_row(row: Dialect, said: str, at: int) -> int:
    """Returns where the row of calls begins that leads up to `at`; if the first call is quoted, so are the others."""
    if row is _BARE and (before := said[:at].rstrip()).endswith(QWEN_XML.marker):
        at, row = len(before) - len(QWEN_XML.marker), QWEN_XML
    for _ in range(_MOST_STARTS):
        before = said[:at].rstrip()
        begun = before.rfind(row.marker) if row.end and before.endswith(row.end) else -1
        if begun < 0:
            break
        at = _begin_of(said, begun)
    return at


def _begin_of(text: str, marker: int) -> int:
    """Returns where the call with the marker at `marker` begins, because Harmony has a header before its marker."""
    near = max(0, marker - _LONGEST_HEADER)
    found = _HEADER_BEFORE.search(text[near:marker])
    return marker if found is None else near + found.start()


def _header_of(text: str, end: int) -> int:
    """Returns the end of the text that is certainly no Harmony header nor the beginning of one."""
    line = max(text.rfind("\n", 0, end) + 1, end - _LONGEST_HEADER)
    return line if text.startswith(("<|s", "<|c"), line) else end


def _read_to_end(row: Dialect, said: str, at: int, schemas: Schemas) -> Iterator[ReadCall]:
    """Yields the calls from `at` on. Raises UnreadableCall unless they reach to the end of the text."""
    while at < len(said):
        head = _HEADS[row.name].match(said, at)
        if head is None:
            raise _TextFollowsError("text follows the call")
        body, at = _take_body(row, said, head.end())
        yield from read_calls(row, body, schemas)
        left = _CLOSED_ALREADY.match(said, at) if row is _BARE else _SPACE.match(said, at)
        at = left.end() if left else at


def _take_body(row: Dialect, said: str, at: int) -> tuple[str, int]:
    """Returns the text between a marker and its end marker, and where the text goes on. Raises UnreadableCall.

    The end marker may be missing if the call is complete without it, because a server may stop at that token.
    """
    if not row.end:
        return said[at:], len(said)
    spelled_as_json = isinstance(row.encoding, JsonObject) or _OBJECT.match(said, at) is not None
    closed = said.find(row.end, _end_of_json(said, at) if spelled_as_json else at)
    if closed >= 0:
        return said[at:closed], closed + len(row.end)
    if spelled_as_json or row.after_arguments.strip():
        return said[at:], len(said)
    raise UnreadableCall(f"the answer ends before `{row.end}`")


def _end_of_json(said: str, at: int) -> int:
    """Returns where the first JSON object ends; a marker within its strings ends nothing. Raises UnreadableCall."""
    try:
        return _DECODER.raw_decode(said, said.index("{", at))[1]
    except (ValueError, RecursionError) as error:
        raise UnreadableCall(f"the call is not JSON: {error}") from error


def _is_followed(row: Dialect, said: str, at: int) -> bool:
    """Returns whether text follows a call that lacks only its end marker, so that the next end marker belongs to
    another call."""
    head = _HEADS[row.name].match(said, at)
    inner = row.after_arguments.strip()
    if head is None or not row.end:
        return False
    try:
        if isinstance(row.encoding, JsonObject) or _OBJECT.match(said, head.end()):
            end = _end_of_json(said, head.end())
        elif inner:
            end = said.index(inner, head.end()) + len(inner)
        else:
            return False
    except (UnreadableCall, ValueError):
        return False
    rest = said[end:].lstrip()
    return bool(rest) and not rest.startswith((row.end, row.marker))


def _is_broken(row: Dialect, said: str, at: int) -> bool:
    """Returns whether the text from `at` to its end looks like a call that could not be read. If other text follows,
    it is no call."""
    head = _HEADS[row.name].match(said, at)
    if head is None or not (row in _AT_START or _LOOKS_LIKE_CALL.match(said, head.end())):
        return False
    if not row.end:
        try:
            while head is not None:
                at = _end_of_json(said, at)
                parted = _PARTED.match(said, at)
                head = _HEADS[row.name].match(said, parted.end() if parted else at)
                at = parted.end() if head and parted else at
        except UnreadableCall:
            return True
        return not said[at:].strip() or said[at:].lstrip().startswith(";")
    while head is not None:
        closed = said.find(row.end, head.end())
        if closed < 0:
            return True
        at = closed + len(row.end)
        head = _HEADS[row.name].match(said, at)
    return not said[at:].strip()
