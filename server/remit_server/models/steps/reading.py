"""Reads a step as it is generated (MOD-12)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(slots=True)
class StepReader:
    """Reads a step in either form: the answer's text while it comes, calls when all of it is there."""

    text: str = ""
    shown: int = 0

    def feed(self, more: str) -> Iterator[TextDelta]:
        """Yields what more there is of the answer's text."""
        self.text += more
        if not self.text.lstrip().startswith('{"answer"') and '"answer"' not in self.text[:40]:
            return
        try:
            value = cast("JsonValue", from_json(self.text, allow_partial="trailing-strings"))
        except ValueError:
            return
        answer = value.get("answer") if isinstance(value, dict) else None
        if isinstance(answer, str) and len(answer) > self.shown:
            yield TextDelta(answer[self.shown :])
            self.shown = len(answer)

    def finish(self, ended: Literal["stop", "length", "alike"]) -> Iterator[TextDelta | CallProposed]:
        """Yields what is left; a call that was cut says why. Raises ModelFailed where it is no step."""
        try:
            value = cast("JsonValue", from_json(self.text))
        except ValueError as error:
            if ended == "stop":
                raise _no_step(self.text) from error
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
                raise _no_step(self.text)


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
