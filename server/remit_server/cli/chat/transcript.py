"""What a turn shows in the chat: lines above the prompt for what is done, and what is still being written (CLI-05)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from remit_governance.visible import visible_again
from remit_server.cli.chat.blocks import Blocks
from remit_server.cli.chat.draw import draw_markdown
from remit_server.cli.console import draw_ending, draw_event
from remit_server.contract import (
    AgentEvent,
    ApprovalRequired,
    Event,
    IntentSelected,
    PromptProgress,
    RunCompleted,
    RunStarted,
    ThinkingDelta,
    TokenDelta,
    UsageEvent,
)


@dataclass(slots=True)
class Transcript:
    """Draws the events of turns. `say` prints above the prompt, `changed` has the prompt drawn again.

    `intent` is the one that was declared last, `context` the tokens that the model was sent last, `read` the share
    of the prompt that it has read, in percent.
    """

    say: Callable[[str], None]
    changed: Callable[[], None]
    columns: Callable[[], int]
    blocks: Blocks = field(default_factory=Blocks)
    intent: str = ""
    context: int = 0
    thinking: bool = False
    read: int | None = None
    spoke: bool = False

    def take(self, event: Event) -> None:
        """Draws one event."""
        match cast("AgentEvent", event):
            case TokenDelta(text=text):
                self.thinking, self.read, self.spoke = False, None, True
                for block in self.blocks.take(text):
                    self._block(block)
                self.changed()
            case ThinkingDelta():
                self.thinking = True
                self.changed()
            case PromptProgress(done=done, total=total):
                self.read = done * 100 // total
                self.changed()
            case UsageEvent(context=context):
                self.context = context or self.context
            case ApprovalRequired() | RunStarted():
                self._finish()  # who asks draws the question; model and folder stand at the top
            case RunCompleted(result=result):
                self._finish()
                for line in draw_ending(result, said=self.spoke, undo="/undo"):
                    self.say(line)
                self.intent, self.spoke = "", False
            case other:
                self._finish()
                self.intent = other.intent if isinstance(other, IntentSelected) else self.intent
                for line in draw_event(other):
                    self.say(line)

    def live(self, rows: int) -> list[str]:
        """Returns the last lines of what is still being written, as many as there is room for."""
        if self.thinking:
            return ["… thinking"]
        if self.read is not None:
            return [f"… the model reads the prompt: {self.read} %"]
        room = self.columns() - 1
        return [visible_again(line[:room])[:room] for line in self.blocks.last_lines(rows)] if rows > 0 else []

    def _finish(self) -> None:
        self.thinking, self.read = False, None
        for block in self.blocks.finish():
            self._block(block)
        self.changed()

    def _block(self, block: str) -> None:
        self.say(draw_markdown(block, self.columns()))
