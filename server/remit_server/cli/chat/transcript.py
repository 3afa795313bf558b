"""Draws a turn in the chat: lines above the prompt for what is done, and what is still being written (CLI-05).

rich draws the Markdown block by block; characters that hide text are spelled out.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from rich.console import Console
from rich.markdown import Markdown

from remit_governance.visible import visible_again
from remit_server.cli.console import IN_CHAT, Printed, draw_ending, draw_event, wants_colour
from remit_server.contract import (
    AgentEvent,
    ApprovalRequired,
    ErrorEvent,
    Event,
    IntentSelected,
    PromptProgress,
    RunCompleted,
    RunStarted,
    ThinkingDelta,
    TokenDelta,
    ToolResultEvent,
    UsageEvent,
)

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LIST = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])(?:\s|$)")


@dataclass(slots=True)
class Blocks:
    """Splits streamed Markdown into blocks. A block ends at an empty line outside of code, or where code ends.

    The items of a list stay together. Each line is looked at once, when it is whole.
    """

    _lines: list[str] = field(default_factory=list[str])
    _line: list[str] = field(default_factory=list[str])
    _fence: str = ""
    _in_list: bool = False
    _paused: bool = False

    def take(self, more: str) -> list[str]:
        """Returns the blocks that are whole now, in order."""
        *ends, rest = more.split("\n")
        whole: list[str] = []
        for end in ends:
            line = "".join((*self._line, end))
            self._line = []
            # Only the line after an empty one says whether a list goes on.
            if self._paused and line.strip() and not _goes_on(line):
                whole += self._end()
            self._lines.append(line)
            if self._ends_with(line):
                whole += self._end()
        self._line.append(rest)
        return whole

    def last_lines(self, most: int) -> list[str]:
        """Returns the last lines of the block that is being written; none if all of it is blank."""
        if not any(map(str.strip, self._lines)) and not any(map(str.strip, self._line)):
            return []
        return [*self._lines[-most:], "".join(self._line)][-most:]

    def finish(self) -> list[str]:
        """Returns what is left, as the last block."""
        self._lines.append("".join(self._line))
        self._line = []
        return self._end()

    def _ends_with(self, line: str) -> bool:
        """Returns whether a line that was added certainly ends the block."""
        mark = _FENCE.match(line)
        if self._fence:
            return mark is not None and mark[1].startswith(self._fence) and not line.strip().strip(self._fence[0])
        self._paused = self._in_list and not line.strip()
        if mark is not None:
            self._fence = mark[1]
        self._in_list = self._in_list or (mark is None and _LIST.match(line) is not None)
        return not line.strip() and not self._in_list

    def _end(self) -> list[str]:
        """Returns the block, unless it is empty, and begins the next one."""
        block = "\n".join(self._lines).strip("\n")
        self._lines, self._fence, self._in_list, self._paused = [], "", False, False
        return [block] if block.strip() else []


def _goes_on(line: str) -> bool:
    """Returns whether a list goes on with this line: with another item, or because it is indented."""
    return line.startswith(("  ", "\t")) or _LIST.match(line) is not None


WIDEST = 100
"""Columns of text: longer lines are hard to read."""

MOST_DRAWN = 10_000
MOST_BARS = 2_500
"""The most `|` of tables in one text, because drawing a cell takes many times as long as drawing a word."""


def draw_markdown(text: str, columns: int) -> str:
    """Returns Markdown as lines of at most so many columns. What hides text is spelled out, and no link is active.

    A text of more than `MOST_DRAWN` characters, or with more than `MOST_BARS` of a table, is returned as it was
    written, because a person would wait for it.
    """
    if len(text) > MOST_DRAWN or text.count("|") > MOST_BARS:
        return visible_again(text)
    out = io.StringIO()
    colour = wants_colour()
    console = Console(
        file=out,
        width=max(20, min(columns, WIDEST)),
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        highlight=False,
        legacy_windows=False,
    )
    console.print(Markdown(visible_again(text), hyperlinks=False, code_theme="ansi_dark"))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))


@dataclass(slots=True)
class Transcript:
    """Draws the events of turns. `say` prints above the prompt, `changed` redraws the prompt.

    `intent` is the one that was declared last, `context` the tokens that the model was sent last, `read` the share
    of the prompt that it has read, in percent. `refused` is the last call's error.
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
    printed: Printed = field(default_factory=Printed)
    refused: str | None = None

    def take(self, event: Event) -> None:
        """Draws one event; leaves out of the answer what was just printed."""
        self.printed.note(cast("AgentEvent", event))
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
            case UsageEvent(context=context, sub_agent=None):
                self.context = context or self.context
            case ApprovalRequired() | RunStarted():
                self._finish()  # the asker draws the question; model and folder are shown at the top
            case RunCompleted(result=result):
                self._finish()
                for line in draw_ending(result, said=self.spoke, command=IN_CHAT):
                    self.say(line)
                self.intent, self.spoke = "", False
            case other:
                self._finish()
                if not self._is_told(other):
                    for line in draw_event(other):
                        self.say(line)

    def _is_told(self, event: AgentEvent) -> bool:
        """Notes what later events are drawn by. Returns whether the line of a call has told this error already."""
        match event:
            case ToolResultEvent(error=error):
                self.refused = None if error is None else error.message
            case IntentSelected(sub_agent=None):
                self.intent = event.intent
            case ErrorEvent(error=error):
                return error.message == self.refused
            case _:
                pass
        return False

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
        if self.printed.left_out_of(f"{block}\n"):
            self.say(draw_markdown(block, self.columns()))
