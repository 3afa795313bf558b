"""One chat, and what its commands answer; the port of every command (CLI-05)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from remit_server.contract import CallInput, ErrorCode, FileAttachment
from remit_server.errors import RemitError
from remit_server.runtime.ports import AgentRuntime
from remit_server.runtime.settings import Settings


class NotUnderstood(RemitError):
    """What was typed is no command, or not all of one."""

    code = ErrorCode.INVALID_REQUEST


@dataclass(slots=True)
class Chat:
    """A chat that goes on: its runtime, the session it is in, and what the next message takes with it.

    `model` is the one that was switched to, `found` are those that were listed last, `pinned` are files for the next
    message that stay in the conversation.
    """

    runtime: AgentRuntime
    settings: Settings
    session: str
    new_id: Callable[[], str]
    model: str | None = None
    pinned: list[FileAttachment] = field(default_factory=list[FileAttachment])
    found: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command answers: Markdown, a call of the person's own to be run, then a message to be sent to the model.

    `shows` is the session whose messages are to be shown now, `clears` says that there are none; `leaves` ends the
    chat.
    """

    text: str = ""
    call: CallInput | None = None
    message: str | None = None
    shows: str | None = None
    clears: bool = False
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """One command: its line in the help, what may stand behind its name, and what it does.

    `choices` are what may be completed there.
    """

    summary: str
    run: Callable[[Chat, str], Awaitable[Reply]]
    takes: str = ""
    choices: Callable[[Chat], Sequence[str]] = lambda chat: ()
