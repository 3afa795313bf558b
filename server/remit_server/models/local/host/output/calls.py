"""Reads a generation's text as it grows: plain text, then calls between their markers (MOD-04)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue, TypeAdapter, ValidationError

OPEN = "<tool_call>"
CLOSE = "</tool_call>"


@dataclass(frozen=True, slots=True)
class Markers:
    """The token ids of the call markers, where the tokenizer has single tokens for them."""

    open: int | None
    close: int | None


class UnreadableCall(ValueError):
    """The text between the markers is not a call."""


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A complete call as the model spelled it."""

    name: str
    arguments: dict[str, JsonValue]


_CALL = TypeAdapter(ReadCall)


def spell_call(name: str, arguments: Mapping[str, JsonValue]) -> str:
    """Spells a call exactly as the grammar requires."""
    body = {"name": name, "arguments": dict(arguments)}
    return OPEN + json.dumps(body, ensure_ascii=False, separators=(",", ":")) + CLOSE


class CallReader:
    """Splits text that arrives in pieces. An incomplete call is never returned."""

    def __init__(self) -> None:
        self._held = ""
        self._in_call = False
        self._searched = 0

    def feed(self, piece: str) -> Iterator[str | ReadCall]:
        """Adds text; yields text that certainly is not a marker, and each complete call.

        Raises UnreadableCall when a closed call is not a JSON object with a name and arguments.
        """
        self._held += piece
        while True:
            if not self._in_call:
                text, opened = self._take_text()
                if text:
                    yield text
                if not opened:
                    return
            call = self._take_call()
            if call is None:
                return
            yield call

    def finish(self, *, cut: bool) -> Iterator[str]:
        """Yields text that was held back as the possible start of a marker; an unfinished call is dropped."""
        del cut  # the grammar ends no answer inside a call
        if self._held and not self._in_call:
            yield self._held
        self._held = ""

    def _take_text(self) -> tuple[str, bool]:
        start = self._held.find(OPEN)
        if start >= 0:
            text, self._held = self._held[:start], self._held[start + len(OPEN) :]
            self._in_call, self._searched = True, 0
            return text, True
        keep = partial_marker_length(self._held, OPEN)
        text, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return text, False

    def _take_call(self) -> ReadCall | None:
        """Removes and returns a complete call at the front. The closing marker may also occur in a string of the
        arguments.
        """
        while (end := self._held.find(CLOSE, self._searched)) >= 0:
            body = self._held[:end]
            try:
                value = json.loads(body)
            except json.JSONDecodeError as error:
                if not ends_in_string(body):
                    raise UnreadableCall(f"the call is not JSON: {error.msg}") from error
                self._searched = end + 1
                continue
            self._held, self._in_call = self._held[end + len(CLOSE) :], False
            return as_call(value)
        self._searched = max(0, len(self._held) - len(CLOSE) + 1)
        return None


def partial_marker_length(text: str, marker: str) -> int:
    """Returns the length of the longest suffix of `text` that a marker could begin with."""
    longest = min(len(text), len(marker) - 1)
    return next((size for size in range(longest, 0, -1) if marker.startswith(text[-size:])), 0)


def read_json(text: str) -> object:
    """Parses the text between the markers. Raises UnreadableCall."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableCall(f"the call is not JSON: {error}") from error


def ends_in_string(body: str) -> bool:
    """Returns whether JSON text ends inside a string."""
    inside = escaped = False
    for character in body:
        if escaped:
            escaped = False
        elif inside and character == "\\":
            escaped = True
        elif character == '"':
            inside = not inside
    return inside


def as_call(value: object) -> ReadCall:
    """Reads an object as a call. Raises UnreadableCall where it has no name or no arguments."""
    try:
        return _CALL.validate_python(value)
    except ValidationError as error:
        raise UnreadableCall("the call has no name or no arguments") from error
