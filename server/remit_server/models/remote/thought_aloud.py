"""Thinking that a server leaves in the text of an answer, told apart as it streams (MOD-19)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from remit_server.models.ports import TextDelta, ThinkingDelta

BEGIN, END = "<think>", "</think>"


@dataclass(slots=True)
class ThoughtAloud:
    """Splits an answer that begins with `<think>`, wherever the pieces are cut; any other text passes as it comes.

    Only at its beginning: further on the marker may be what the answer is about.
    """

    _state: Literal["open", "thinking", "thought", "text"] = "open"
    _held: str = ""

    def feed(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        """Yields what is certain by now."""
        if self._state == "thought" and (text := text.lstrip("\n")):
            self._state = "text"
        if self._state == "text":
            yield TextDelta(text)
        if self._state in {"text", "thought"}:
            return
        self._held += text
        if self._state == "open":
            said = self._held.lstrip()
            if said.startswith(BEGIN):
                self._state, self._held = "thinking", said.removeprefix(BEGIN)
            elif BEGIN.startswith(said):
                return
            else:
                yield from self._pass()
                return
        thought, end, rest = self._held.partition(END)
        if end:
            self._state, self._held = "thought", ""
            if thought:
                yield ThinkingDelta(thought)
            yield from self.feed(rest)
            return
        kept = next((size for size in range(len(END) - 1, 0, -1) if thought.endswith(END[:size])), 0)
        certain, self._held = thought[: len(thought) - kept], thought[len(thought) - kept :]
        if certain:
            yield ThinkingDelta(certain)

    def finish(self) -> Iterator[TextDelta | ThinkingDelta]:
        """Yields what was kept back at the end of the answer."""
        if self._held:
            yield ThinkingDelta(self._held) if self._state == "thinking" else TextDelta(self._held)
            self._held = ""

    def _pass(self) -> Iterator[TextDelta]:
        held, self._state, self._held = self._held, "text", ""
        if held:
            yield TextDelta(held)
