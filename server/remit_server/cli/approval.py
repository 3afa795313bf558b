"""Asks in the terminal: for approval, in one line, where anything but a clear yes is a deny (CLI-04), and once whether
what a folder brings is trusted (CFG-06).
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import termios
from collections.abc import Callable
from pathlib import Path

from remit_governance.visible import visible
from remit_server.cli.console import draw_details, draw_parts, say, style_text
from remit_server.cli.question import BECAUSE, MAX_COMMENT, Question, key_of
from remit_server.contract import ApprovalAnswer, ApprovalRequired
from remit_server.errors import SetupError
from remit_server.harness.ports import AskingStyle
from remit_server.runtime.own_files.folder_record import arrived, brought, read_trust, write_trust

YES = frozenset({"y", "yes"})
LINE_BYTES = 4096
"""The most bytes of one line that a terminal delivers."""


def can_ask() -> bool:
    """Returns whether both standard input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def agrees(question: str, otherwise: str = "nothing was done", option: str = "--yes") -> bool:
    """Returns whether the person says yes. Raises SetupError if nobody can be asked: it says `otherwise`, and names the
    `option` that says yes beforehand."""
    if not can_ask():
        raise SetupError(otherwise, "nobody could be asked", f"add `{option}`")
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in YES


async def answer_from_terminal(asked: ApprovalRequired) -> ApprovalAnswer:
    """Asks for the keys of a question, line by line (`docs/keys.md`); a line that means nothing now is a deny."""
    question = Question(asked, [], 0.0, draw_parts(asked), list(draw_details(asked)))
    seconds = itertools.count(1.0)  # no line comes too early, because `_ask` drops what was typed before
    while True:
        before = (question.details, question.ahead)
        answer = question.press(key_of(await _ask(f"{question.line}: ")), next(seconds))
        if question.words:
            return question.answer(None, (await _ask(BECAUSE))[:MAX_COMMENT] or None)
        if answer is not None or (question.details, question.ahead) == before:
            return answer or question.answer(None)
        print(*question.unseen, sep="\n")
        question.unseen = []


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
    return line.strip()


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


def settle_trust(root: Path) -> None:
    """Asks whether the person trusts a folder that brings something, unless they were asked. Raises SetupError."""
    there = brought(root)
    if not there or read_trust(root) is not None:
        return
    new = arrived(root)
    has = "now also has, since you trusted it," if new else "has"
    say(f"{visible(str(root), 'show')} {has} {', '.join(f'`{name}`' for name in new or there)}.")
    say("This changes what the model is told, and how it writes. You still decide what is allowed.")
    try:
        answer = input(f"{style_text('Do you trust the authors of this folder?', 'yellow')} [y/N] ").strip().lower()
    except EOFError:
        return
    write_trust(root, trusted=answer in YES)
    if answer not in YES:
        say("These files are ignored. `remit config trust` changes that.")
