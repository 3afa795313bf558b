"""Asks for approval in the terminal: one line, and anything but a clear yes is a deny (CLI-04)."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Callable, Mapping, Sequence

from remit_server.cli.console import draw_details, draw_parts, style_text
from remit_server.contract import ApprovalAnswer, ApprovalRequired, Scope
from remit_server.harness.approval.shown_parts import Part, wire_parts
from remit_server.harness.ports import AskingStyle

LINE_BYTES = 4096
"""The most bytes of one line that a terminal delivers."""


def can_ask() -> bool:
    """Returns whether both standard input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


CHOICES: Mapping[Scope, tuple[str, str]] = {
    Scope.ONCE: ("y", "yes"),
    Scope.SESSION: ("s", "session"),
    Scope.EDITS: ("f", "files"),
    Scope.ALWAYS: ("a", "always"),
    Scope.EVERYWHERE: ("e", "everywhere"),
}
"""For each scope the key and the word that choose it: the same on every surface (docs/keys.md)."""

SHORT: Mapping[Scope, str] = {Scope.ONCE: "once", Scope.SESSION: "session", Scope.EDITS: "all edits"}
"""What the keys are called: a line of 80 columns has to hold all. Those for good come with `?`, and their rules."""
FOR_GOOD = frozenset({Scope.ALWAYS, Scope.EVERYWHERE})
"""Answers that write a rule, which has to be seen first (APP-04)."""

PARTS = ("p", "parts")
"""What is typed to answer part by part."""
DETAILS = ("?", "details")
"""What is typed to see which rules ask, and what each answer would remember."""
WITH_WORDS = "N"
"""What is typed for a no with words for the model."""
BECAUSE = "No, because: "
MAX_COMMENT = 2_000
"""Characters of these words."""


def offers(question: ApprovalRequired, *, parts: bool, detailed: bool) -> str:
    """Returns which keys mean what."""
    shown = [f"[{CHOICES[scope][0]}] {name}" for scope, name in SHORT.items() if scope in question.scopes]
    more = "  [p] parts" if parts else ""
    details = "" if detailed else "  [?] more"
    for_good = "  [a] always" if detailed and Scope.ALWAYS in question.scopes else ""
    return f"allow? {'  '.join(shown)}{for_good}{more}{details}  [n/N] no"


async def answer_from_terminal(question: ApprovalRequired) -> ApprovalAnswer:
    """Asks once; a letter or word of an offered scope allows, that for parts asks for each, anything else denies.

    An answer that would write a rule shows the rule first, and is asked again.
    """
    parts, detailed = draw_parts(question), False
    while True:
        typed = await _ask(f"{offers(question, parts=bool(parts), detailed=detailed)}: ")
        scope = next((scope for scope, words in CHOICES.items() if typed.lower() in words), None)
        scope = scope if scope in question.scopes else None
        if not detailed and (typed in DETAILS or scope in FOR_GOOD):
            detailed = True
            print(*draw_details(question), sep="\n")
            continue
        if parts and typed.lower() in PARTS:
            return await _answer_parts(question, parts)
        comment = await _ask(BECAUSE) if typed == WITH_WORDS else ""
        return _answer(question, scope, comment=comment[:MAX_COMMENT] or None)


async def _answer_parts(question: ApprovalRequired, parts: Mapping[Part, list[str]]) -> ApprovalAnswer:
    """Asks for each part, once; what is none of the answers is a no to all."""
    left_out = list[Part]()
    for number, (part, lines) in enumerate(parts.items(), 1):
        print(*lines, sep="\n")
        typed = await _ask(
            f"part {number} of {len(parts)}? [y] take it  [x] leave it out  [r] the rest  [n] no to all: "
        )
        match typed.lower():
            case "y" | "yes":
                continue
            case "x" | "leave":
                left_out.append(part)
            case "r" | "rest":
                break
            case _:
                return _answer(question, None)
    return _answer(question, Scope.ONCE, left_out)


def _answer(
    question: ApprovalRequired, scope: Scope | None, left_out: Sequence[Part] = (), comment: str | None = None
) -> ApprovalAnswer:
    return ApprovalAnswer(
        approval_id=question.approval_id,
        decision="deny" if scope is None else "allow",
        scope=scope or Scope.ONCE,
        digest=question.digest,
        left_out=wire_parts(dict.fromkeys(left_out)),
        comment=comment,
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
