"""Chat commands about the workflow: how much of it the session is held to (FLW-07)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from remit_governance.values import Intent
from remit_governance.workflow.states import Mode
from remit_server.chat.replies import Chat, Reply
from remit_server.contract import CallInput
from remit_server.tools.workflow.set_mode import SET_MODE


def switch_to(mode: Mode) -> Callable[[Chat, str], Awaitable[Reply]]:
    """Returns the command that switches to a mode, as a call of the person's own: judged and audited like any other."""

    async def switch(chat: Chat, words: str) -> Reply:
        del chat, words
        return Reply(call=mode_call(mode))

    return switch


def mode_call(mode: Mode) -> CallInput:
    """Returns the person's own call that switches to a mode."""
    return CallInput(tool=SET_MODE.name, arguments={"mode": mode.value}, intent=Intent.PLAN)
