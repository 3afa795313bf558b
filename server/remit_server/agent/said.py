"""Shows what a model reads, thinks and says, as it happens, without secrets (SEC-06)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from remit_governance.secrets.redaction import Redactor
from remit_governance.secrets.streaming import StreamedText
from remit_server.contract import PromptProgress, TokenDelta
from remit_server.contract import ThinkingDelta as ThinkingEvent
from remit_server.harness.turn import Turn
from remit_server.models.ports import CallProposed, Finished, ModelEvent, PromptRead, TextDelta, ThinkingDelta


@dataclass(slots=True)
class Said:
    """What one generation says. `finish` has to be called at its end, however it ended."""

    turn: Turn
    redactor: Redactor
    _text: StreamedText = field(init=False)
    _thought: StreamedText = field(init=False)

    def __post_init__(self) -> None:
        self._text, self._thought = StreamedText(self.redactor), StreamedText(self.redactor)

    def show(self, event: ModelEvent) -> None:
        """Shows an event, as far as it certainly shows no half of a secret; nothing of a sub-agent's, because what that
        says is part of its call's result."""
        if self.turn.handed is not None:
            return
        match event:
            case PromptRead(done=done, total=total):
                self.turn.emit(PromptProgress(**self.turn.stamp(), done=done, total=total))
            case TextDelta(text=text):
                self._think(self._thought.rest())
                self._say(self._text.take(text))
            case ThinkingDelta(text=text):
                self._say(self._text.rest())
                self._think(self._thought.take(text))
            case CallProposed() | Finished():
                self.finish()
            case _:
                assert_never(event)

    def finish(self) -> None:
        """Shows what was held back."""
        self._think(self._thought.rest())
        self._say(self._text.rest())

    def _say(self, text: str) -> None:
        if text:
            self.turn.emit(TokenDelta(**self.turn.stamp(), text=text))

    def _think(self, text: str) -> None:
        if text:
            self.turn.emit(ThinkingEvent(**self.turn.stamp(), text=text))
