"""Reads a step as it is generated (MOD-12)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from pydantic import JsonValue
from pydantic_core import from_json

from remit_governance.intents import SELECT_INTENT
from remit_server.errors import ModelFailed
from remit_server.models.ports import UNREADABLE_CALL, CallProposed, ProposedCall, TextDelta, new_call_id

_ENDED: Mapping[Literal["length", "alike"], str] = {
    "length": "it was cut off at the token limit of a step; write less at once",
    "alike": "it only went on repeating itself",
}


_MOST_BEFORE = 200
"""Characters at an answer's beginning in which its text has to begin, else it is told when all of it is there."""
_ANSWER = re.compile(r'"answer"\s*:\s*"')
_CHARACTERS = re.compile(
    r'[^"\\\x00-\x1f\ud800-\udfff]+|\\["\\/bfnrt]|\\u(?![Dd][89A-Fa-f])[0-9A-Fa-f]{4}'
    r"|\\u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}"
)
"""Characters of a text in JSON, each whole: one that is spelled in two halves is none without the other."""
_LONGEST_CHARACTER = 12


@dataclass(slots=True)
class StepReader:
    """Reads a step in either form: the answer's text while it comes, calls when all of it is there.

    Each character is read once while it comes and once at the end, however many pieces they come in.
    """

    shown: int = 0
    _pieces: list[str] = field(default_factory=list[str])
    _reading: Literal["before", "answer", "no more"] = "before"
    _held: str = ""

    def feed(self, more: str) -> Iterator[TextDelta]:
        """Yields what more there is of the answer's text."""
        self._pieces.append(more)
        if self._reading == "no more":
            return
        self._held += more
        if self._reading == "before":
            self._find_text()
        if self._reading == "answer" and (text := self._take_text()):
            self.shown += len(text)
            yield TextDelta(text)

    def _find_text(self) -> None:
        """Goes on behind the quote that opens the answer's text."""
        self._held = self._held.lstrip()
        beginning = self._held[:_MOST_BEFORE]
        for found in _ANSWER.finditer(beginning):
            try:
                value = cast("JsonValue", from_json(beginning[: found.end()], allow_partial="trailing-strings"))
            except ValueError:
                continue
            if isinstance(value, dict) and value.get("answer") == "":
                self._reading, self._held = "answer", self._held[found.end() :]
                return
        if len(self._held) > _MOST_BEFORE:
            self._reading, self._held = "no more", ""

    def _take_text(self) -> str:
        """Returns what is certain of the text; reads no further where it ends, or goes on as no JSON."""
        end = 0
        while found := _CHARACTERS.match(self._held, end):
            end = found.end()
        certain, self._held = self._held[:end], self._held[end:]
        if self._held.startswith('"') or len(self._held) >= _LONGEST_CHARACTER:
            self._reading, self._held = "no more", ""
        return cast("str", from_json(f'"{certain}"'))

    def finish(self, ended: Literal["stop", "length", "alike"]) -> Iterator[TextDelta | CallProposed]:
        """Yields what is left; a call that was cut says why. Raises ModelFailed where it is no step."""
        whole = "".join(self._pieces)
        try:
            value = cast("JsonValue", from_json(whole))
        except ValueError as error:
            if ended == "stop":
                raise _no_step(whole) from error
            if not self.shown:
                yield CallProposed(ProposedCall(new_call_id(), UNREADABLE_CALL, {"why": _ENDED[ended]}))
            return
        match value:
            case {"answer": str(answer)}:
                if len(answer) > self.shown:
                    yield TextDelta(answer[self.shown :])
            case {"intent": str()} if ended != "stop":  # whole as JSON, for something closed it: its texts are not
                yield CallProposed(ProposedCall(new_call_id(), UNREADABLE_CALL, {"why": _ENDED[ended]}))
            case {"intent": str(intent), "calls": [*calls], **more}:
                yield _declared(intent, more.get("work_item"))
                yield from map(CallProposed, map(_call, calls))
            case {"intent": str(intent), "tool": str(), **more}:
                yield _declared(intent, more.get("work_item"))
                yield CallProposed(_call(value))
            case _:
                raise _no_step(whole)


def _declared(intent: str, item: object) -> CallProposed:
    named: dict[str, JsonValue] = {} if item is None else {"work_item": cast("JsonValue", item)}
    return CallProposed(ProposedCall(new_call_id(), SELECT_INTENT, {"intent": intent, **named}))


def _call(value: JsonValue) -> ProposedCall:
    if isinstance(value, dict):
        tool, arguments = value.get("tool"), value.get("arguments")
        if isinstance(tool, str) and isinstance(arguments, dict):
            return ProposedCall(new_call_id(), tool, arguments)
    raise _no_step(json.dumps(value))


def _no_step(text: str) -> ModelFailed:
    why = f"it is no step: {text[:80]!r}"
    fix = "use an engine that answers by a JSON schema, or choose its row with REMIT_ENGINE"
    return ModelFailed("the model's answer cannot be used", why, fix)
