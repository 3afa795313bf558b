"""Asks for approval in the terminal: one line, and anything but a clear yes is a deny (CLI-04)."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Callable

from remit_server.cli.console import style_text
from remit_server.contract import ApprovalAnswer, ApprovalRequired, Scope
from remit_server.harness.ports import AskingStyle

LINE_BYTES = 4096
"""The most bytes of one line that a terminal delivers."""


def can_ask() -> bool:
    """Returns whether both standard input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


CHOICES = {
    Scope.ONCE: ("y", "yes", "once"),
    Scope.SESSION: ("s", "session", "for this session"),
    Scope.ALWAYS: ("a", "always", "always in this workspace"),
    Scope.EVERYWHERE: ("e", "everywhere", "always in every workspace"),
}
"""For each scope the letter and the word that choose it, and its label."""


async def answer_from_terminal(question: ApprovalRequired) -> ApprovalAnswer:
    """Asks once; a letter or word of an offered scope allows, anything else denies."""
    offered = {scope: words for scope, words in CHOICES.items() if scope in question.scopes}
    choices = "  ".join(f"[{letter}] {called}" for letter, _, called in offered.values())
    # Keys typed before the question was shown are not an answer to it.
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    print(f"    {style_text('allow?', 'yellow')} {choices}  [N] no: ", end="", flush=True)
    line = ""
    try:
        line = await read_line()
    finally:
        if not line.endswith("\n"):
            print(flush=True)
    typed = line.strip().lower()
    chosen = next((scope for scope, words in offered.items() if typed in words[:2]), None)
    return ApprovalAnswer(
        approval_id=question.approval_id,
        decision="deny" if chosen is None else "allow",
        scope=chosen or Scope.ONCE,
        digest=question.digest,
    )


async def read_line() -> str:
    """Reads one line from the terminal, empty at its end. Unlike a read in a thread it can be cancelled."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()
    terminal = sys.stdin.fileno()

    def take() -> None:
        loop.remove_reader(terminal)
        try:
            line = os.read(terminal, LINE_BYTES)
        except OSError:  # the terminal was closed
            line = b""
        if not typed.done():
            typed.set_result(line)

    loop.add_reader(terminal, take)
    try:
        return (await typed).decode(errors="replace")
    finally:
        loop.remove_reader(terminal)


class TerminalAsker:
    """Asks the person at the terminal."""

    style: AskingStyle = "callback"

    def __init__(self, show: Callable[[ApprovalRequired], None] = lambda question: None) -> None:
        """`show` draws a question that no event draws."""
        self._show = show

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Prints the prompt of a question and reads one line."""
        self._show(question)
        return await answer_from_terminal(question)
