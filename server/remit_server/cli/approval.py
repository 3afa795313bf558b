"""Asks for approval in the terminal: one line, and anything but a clear yes is a deny (CLI-04)."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Callable, Mapping, Sequence

from remit_server.cli.console import draw_parts, style_text
from remit_server.contract import ApprovalAnswer, ApprovalRequired, Scope
from remit_server.harness.approval.shown_parts import Part, wire_parts
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


PARTS = ("p", "parts")
"""What is typed to answer part by part."""


async def answer_from_terminal(question: ApprovalRequired) -> ApprovalAnswer:
    """Asks once; a letter or word of an offered scope allows, that for parts asks for each, anything else denies."""
    offered = {scope: words for scope, words in CHOICES.items() if scope in question.scopes}
    choices = "  ".join(f"[{letter}] {called}" for letter, _, called in offered.values())
    parts = draw_parts(question)
    typed = await _ask(f"allow? {choices}{'  [p] parts' if parts else ''}  [N] no: ")
    if parts and typed in PARTS:
        return await _answer_parts(question, parts)
    return _answer(question, next((scope for scope, words in offered.items() if typed in words[:2]), None))


async def _answer_parts(question: ApprovalRequired, parts: Mapping[Part, list[str]]) -> ApprovalAnswer:
    """Asks for each part, once; what is none of the answers is a no to all."""
    left_out = list[Part]()
    for number, (part, lines) in enumerate(parts.items(), 1):
        print(*lines, sep="\n")
        match await _ask(
            f"part {number} of {len(parts)}? [y] take it  [l] leave it out  [r] the rest  [N] no to all: "
        ):
            case "y" | "yes":
                continue
            case "l" | "leave":
                left_out.append(part)
            case "r" | "rest":
                break
            case _:
                return _answer(question, None)
    return _answer(question, Scope.ONCE, left_out)


def _answer(question: ApprovalRequired, scope: Scope | None, left_out: Sequence[Part] = ()) -> ApprovalAnswer:
    return ApprovalAnswer(
        approval_id=question.approval_id,
        decision="deny" if scope is None else "allow",
        scope=scope or Scope.ONCE,
        digest=question.digest,
        left_out=wire_parts(dict.fromkeys(left_out)),
    )


async def _ask(words: str) -> str:
    """Prints a prompt, and returns what is typed."""
    # Keys typed before the question was shown are not an answer to it.
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    print(f"    {style_text(words, 'yellow')}", end="", flush=True)
    line = ""
    try:
        line = await read_line()
    finally:
        if not line.endswith("\n"):
            print(flush=True)
    return line.strip().lower()


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
