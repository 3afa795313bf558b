"""Bounds a request to the embedded model: to the next step of a skill, or to the sentence that ends the turn."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from remit_server.models.embedded.copies import certain, narrowed
from remit_server.models.embedded.endings import ending
from remit_server.models.embedded.turns import turn_of
from remit_server.models.ports import GenerateRequest


@dataclass(slots=True)
class Sentence:
    """An answer that the model writes as a JSON string, because no other will do."""

    written: str = ""

    def add(self, text: str) -> None:
        """Take more of it."""
        self.written += text

    @property
    def text(self) -> str:
        """The sentence; as far as it came, where a limit cut it off."""
        try:
            return str(json.loads(self.written))
        except ValueError:
            return self.written.removeprefix('"')


def guided(request: GenerateRequest) -> tuple[GenerateRequest, Sentence | None]:
    """The request with what the model may do next, and where its answer is to be gathered if it is that sentence.

    A request for an answer of a schema, and one that offers no tools, stay as they are.
    """
    if request.answer_schema is not None or not request.intents:
        return request, None
    offered = narrowed(request.messages, request.intents)
    said = ending(turn_of(request.messages))
    if offered or said is None:
        return replace(request, intents=offered, must_call=certain(request.messages)), None
    return replace(request, intents={}, answer_schema={"const": said}), Sentence()
