"""Shows what a model reads, thinks and says, as it happens, without secrets (SEC-06).

Words are shown once they are whole. A line in which a secret may stand is shown once the line is whole, and a private
key once it has ended. What is shown is never taken back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import assert_never

from remit_governance.secrets.redaction import Redactor
from remit_server.contract import PromptProgress, TokenDelta
from remit_server.contract import ThinkingDelta as ThinkingEvent
from remit_server.harness.turn import Turn
from remit_server.models.ports import CallProposed, Finished, ModelEvent, PromptRead, TextDelta, ThinkingDelta

MOST_HELD = 16_000
"""The most characters that are held back."""
STILL_HELD = 1_000
"""The characters at the end that stay held back when more are given out than should be."""
MOST_SEAMS = 20
"""The most places at which it is tried to part a text."""
_BLANK = re.compile(r"\s")
_WORDS = re.compile(r"[\s\S]*(?:\s|[^\x00-\x7f])")
"""Everything up to the end of the last whole word. No token has a character beyond ASCII, so one ends a word."""
_OPEN_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?!(?s:.)*-----END [A-Z0-9 ]*-----[^\n]*\n)")


@dataclass(slots=True)
class StreamedText:
    """Takes the pieces of one text and returns what may be shown by then."""

    redactor: Redactor
    _held: str = ""

    def take(self, more: str) -> str:
        """Takes the next piece; returns what is certain now, redacted."""
        self._held += more
        end = self._settled()
        ready, self._held = self._held[:end], self._held[end:]
        return self.redactor.redact(ready) if ready else ""

    def rest(self) -> str:
        """Returns what is left, redacted; called when no more will come."""
        ready, self._held = self._held, ""
        return self.redactor.redact(ready) if ready else ""

    def _settled(self) -> int:
        """Returns how many of the characters held back can be given out."""
        if len(self._held) > MOST_HELD:
            return self._seam()
        key = _OPEN_KEY.search(self._held)
        if key is not None:
            return self._held.rfind("\n", 0, key.start()) + 1
        lines = self._held.rfind("\n") + 1
        words = _WORDS.match(self._held, lines)
        if words is None or self.redactor.odd or "-----" in words[0]:
            return lines
        return words.end() if self.redactor.finds_nothing([words[0]]) else lines

    def _seam(self) -> int:
        """Returns where a text that is too long to be held back is parted: behind a word where that parts no secret,
        and not where more to come may make one."""
        whole, last = self.redactor.redact(self._held), len(self._held) - STILL_HELD
        ends = [found.end() for found in _BLANK.finditer(self._held, last - MOST_HELD // 4, last)]
        for end in reversed(ends[-MOST_SEAMS:]):
            if self.redactor.redact(self._held[:end]) + self.redactor.redact(self._held[end:]) == whole:
                return end
        return 0 if ends and len(self._held) < 2 * MOST_HELD else len(self._held)


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
