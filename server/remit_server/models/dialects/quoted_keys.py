"""Parses objects with bare keys and quoted strings, as Gemma spells arguments (MOD-04)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from remit_governance.secrets.cutting import shorten

_KEY = re.compile(r"\s*([\w.-]+)\s*:")
_SCALAR = re.compile(r"[^,\[\]{}]+")
_WORDS: dict[str, JsonValue] = {"None": None, "null": None, "true": True, "false": False, "True": True, "False": False}
_DEEPEST = 50


def parse_quoted(text: str, quote: str) -> JsonValue:
    """Returns the value that all of `text` spells. Raises ValueError."""
    parser = _Parser(text, quote)
    value = parser.value(0)
    if text[parser.at :].strip():
        raise ValueError("text follows the arguments")
    return value


@dataclass(slots=True)
class _Parser:
    text: str
    quote: str
    at: int = 0

    def value(self, depth: int) -> JsonValue:
        if depth > _DEEPEST:
            raise ValueError("its values are nested too deeply")
        if self.text.startswith(self.quote, self.at):
            return self._string()
        match self.text[self.at : self.at + 1]:
            case "{":
                return self._object(depth)
            case "[":
                return self._list(depth)
            case _:
                return self._scalar()

    def _string(self) -> str:
        start = self.at + len(self.quote)
        end = self.text.find(self.quote, start)
        if end < 0:
            raise ValueError("a string is not closed")
        self.at = end + len(self.quote)
        return self.text[start:end]

    def _object(self, depth: int) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = {}
        self.at += 1
        while not self._closes("}"):
            key = _KEY.match(self.text, self.at)
            if key is None or key[1] in found:
                raise ValueError("an argument has no name, or is given twice")
            self.at = key.end()
            found[key[1]] = self.value(depth + 1)
            self._separate("}")
        return found

    def _list(self, depth: int) -> list[JsonValue]:
        found: list[JsonValue] = []
        self.at += 1
        while not self._closes("]"):
            found.append(self.value(depth + 1))
            self._separate("]")
        return found

    def _closes(self, bracket: str) -> bool:
        if self.text.startswith(bracket, self.at):
            self.at += 1
            return True
        if self.at >= len(self.text):
            raise ValueError(f"`{bracket}` is missing")
        return False

    def _separate(self, bracket: str) -> None:
        if self.text.startswith(",", self.at):
            self.at += 1
        elif not self.text.startswith(bracket, self.at):
            raise ValueError(f"neither `,` nor `{bracket}` follows a value")

    def _scalar(self) -> JsonValue:
        found = _SCALAR.match(self.text, self.at)
        if found is None:
            raise ValueError("a value is missing")
        self.at = found.end()
        spelled = found[0].strip()
        if spelled in _WORDS:
            return _WORDS[spelled]
        try:
            return cast("JsonValue", json.loads(spelled))
        except ValueError:
            raise ValueError(f"`{shorten(spelled, 40)}` is not a value") from None
