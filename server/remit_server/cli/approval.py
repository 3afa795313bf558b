"""Asking for approval in the terminal: one prompt line, and no answer but a clear yes is a no."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from remit_server.cli.console import styled
from remit_server.contract import ApprovalAnswer, ApprovalRequired, Scope
from remit_server.harness.ports import AskingStyle


def can_ask() -> bool:
    """Whether somebody sits at both ends of this terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


async def answer_from_terminal(question: ApprovalRequired, read: Callable[[], str] | None = None) -> ApprovalAnswer:
    """Ask once; `y` allows this once, `s` for the session where that is on offer, anything else denies."""
    session = Scope.SESSION in question.scopes
    choices = "[y] once  [s] for this session  [N] no" if session else "[y] yes  [N] no"
    print(f"    {styled('allow?', 'yellow')} {choices}: ", end="", flush=True)
    word = (await asyncio.to_thread(read or sys.stdin.readline)).strip().lower()
    allowed = word in {"y", "yes"} or (session and word in {"s", "session"})
    return ApprovalAnswer(
        approval_id=question.approval_id,
        decision="allow" if allowed else "deny",
        scope=Scope.SESSION if session and word in {"s", "session"} else Scope.ONCE,
        digest=question.digest,
    )


class TerminalAsker:
    """Asks whoever sits at the terminal."""

    style: AskingStyle = "callback"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Put the question (already drawn as an event) and read one line."""
        return await answer_from_terminal(question)
