"""Follows a turn that runs elsewhere in this terminal: draws it, and answers its questions (TRN-34; TRN-36)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

from remit_server.cli.commands.turns.ask import choose_asker
from remit_server.cli.console import sink
from remit_server.cli.queue_options import tell
from remit_server.contract import (
    AgentEvent,
    ApprovalAnswer,
    ApprovalRequired,
    ApprovalResolved,
    RunResult,
)
from remit_server.harness.ports import Asker
from remit_server.transports.queue.following import Following


class QueueAnswers:
    """Asks the open questions of one turn. `ask` is called only after all events so far were noted."""

    def __init__(self, following: Following, asker: Asker, tell: Callable[[str], None]) -> None:
        self._following, self._asker, self._tell = following, asker, tell
        self._open: dict[str, ApprovalRequired] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._leave: Callable[[], Awaitable[None]] | None = None

    async def begin(self) -> None:
        """Tells the worker that somebody answers here, unless nobody does."""
        if self._asker.style != "never":
            self._leave = await self._following.be_there()

    async def close(self) -> None:
        """Stops asking, and tells the worker that nobody answers here any more."""
        for task in self._asking.values():
            task.cancel()
        if self._leave is not None:
            await self._leave()

    def note(self, event: AgentEvent) -> None:
        """Notes a question, or that one was answered."""
        if isinstance(event, ApprovalRequired):
            self._open[event.approval_id] = event
        elif isinstance(event, ApprovalResolved):
            self._open.pop(event.approval_id, None)
            if task := self._asking.pop(event.approval_id, None):
                task.cancel()

    def ask(self) -> None:
        """Asks the open questions, unless nobody answers here."""
        if self._leave is None:
            return
        for name, question in self._open.items():
            if name not in self._asking:
                self._asking[name] = asyncio.create_task(self._answer(question))

    async def _answer(self, question: ApprovalRequired) -> None:
        answer = await self._asker.ask(question)
        if answer is None:
            answer = ApprovalAnswer(approval_id=question.approval_id, decision="deny", digest=question.digest)
        receipt = await self._following.answer(answer)
        if receipt is None or not receipt.accepted:
            self._tell(f"the answer does not count: {'no worker took it' if receipt is None else receipt.reason}")


async def follow_here(following: Following, after: int, approve: str, *, as_json: bool) -> RunResult:
    """Prints a turn until it has ended, and answers its questions as `approve` says. Ctrl-C cancels the turn.

    Raises KeyboardInterrupt if no worker took the cancellation.
    """
    asker = choose_asker(approve, as_json=as_json)
    answers = QueueAnswers(following, asker, tell)
    take = sink(as_json=as_json)
    mine, cancelling = asyncio.current_task(), set[asyncio.Task[None]]()

    async def interrupt() -> None:
        if not await following.cancel() and mine is not None:
            mine.cancel()

    def on_interrupt() -> None:
        cancelling.add(asyncio.create_task(interrupt()))

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, on_interrupt)
    await answers.begin()
    try:
        async for batch in following.batches(after):
            for event in batch:
                take(event)
                answers.note(event)
            if not batch:
                answers.ask()
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        await answers.close()
    assert following.result is not None, "a turn is followed to its end"
    return following.result
