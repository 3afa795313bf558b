"""Chat commands about the workflow: its mode, its review, its budget (FLW-07)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from remit_governance.values import Intent
from remit_governance.workflow.states import Mode, State
from remit_server.chat.replies import Chat, NotUnderstood, Reply
from remit_server.contract import CallInput
from remit_server.tools.workflow.review_work import REVIEW_WORK
from remit_server.tools.workflow.set_mode import SET_MODE


def switch_to(mode: Mode) -> Callable[[Chat, str], Awaitable[Reply]]:
    """Returns the command that switches to a mode, as a call of the person's own: judged and audited like any other."""

    async def switch(chat: Chat, words: str) -> Reply:
        del chat, words
        return Reply(call=mode_call(mode))

    return switch


async def budget(chat: Chat, words: str) -> Reply:
    """Tells how the coverage budget stands, and what opens explore mode where it is locked (FLW-08)."""
    del words
    return Reply("\n".join(f"- {line}" for line in chat.runtime.budget()))


async def approve(chat: Chat, words: str) -> Reply:
    """Approves the work under review, and has it committed (FLW-10)."""
    await _need_review(chat)
    said = "The review is approved: commit the work with git_commit, and change nothing before."
    return Reply(call=_review_call("approve"), message=f"{said} {words}".strip())


async def reject(chat: Chat, words: str) -> Reply:
    """Sends the work under review back, with what is to become of it (FLW-10)."""
    await _need_review(chat)
    return Reply(call=_review_call("reject"), message=words or None)


async def tests(chat: Chat, words: str) -> Reply:
    """Asks for tests of the work under review before it is committed (FLW-14)."""
    await _need_review(chat)
    said = "Tests come before this commit: write tests of what was changed, and nothing else, then run all tests."
    return Reply(call=_review_call("tests"), message=f"{said} {words}".strip())


async def _need_review(chat: Chat) -> None:
    """Raises NotUnderstood where nothing is under review."""
    await chat.runtime.recall(chat.session)
    state = chat.runtime.status(chat.session).state
    if state not in {State.REVIEWING, State.COMMITTING, State.RETROACTIVE_TESTING}:
        fix = "review begins once all tests pass, or when a commit needs your yes; `/status` shows the state"
        raise NotUnderstood("there is nothing to review", f"the work is in state `{state}`", fix)


def _review_call(answer: str) -> CallInput:
    return CallInput(tool=REVIEW_WORK.name, arguments={"answer": answer}, intent=Intent.PLAN)


def mode_call(mode: Mode) -> CallInput:
    """Returns the person's own call that switches to a mode."""
    return CallInput(tool=SET_MODE.name, arguments={"mode": mode.value}, intent=Intent.PLAN)
