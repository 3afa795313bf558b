"""The types of a chat and its commands: what a command gets, and what it answers (CLI-05)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remit_server.contract import CallInput, ErrorCode, FileAttachment
from remit_server.errors import RemitError
from remit_server.runtime.settings import Settings

if TYPE_CHECKING:  # slow to import
    from remit_server.runtime.runtime import Runtime


class NotUnderstood(RemitError):
    """The line that was typed is no command, or the command cannot be run as it was typed."""

    code = ErrorCode.INVALID_REQUEST


@dataclass(slots=True)
class Chat:
    """A running chat: its runtime, its session, and what is attached to the next message.

    `model` is the model that the person switched to, `found` are the models that were listed last, `pinned` are files
    for the next message that stay in the conversation. `keys` says what the keys of a terminal do; it is empty in an
    editor, which has keys of its own, and whose chat is not left by a command.
    """

    runtime: Runtime
    settings: Settings
    session: str
    new_id: Callable[[], str]
    model: str | None = None
    pinned: list[FileAttachment] = field(default_factory=list[FileAttachment])
    found: Sequence[str] = ()
    keys: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command answers: Markdown, a call of the person's own to be run, then a message to be sent to the model.

    `shows` is the session whose messages are to be shown now, `clears` says that the shown messages are to be cleared,
    `leaves` ends the chat.
    """

    text: str = ""
    call: CallInput | None = None
    message: str | None = None
    shows: str | None = None
    clears: bool = False
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """One command: its line in the help, its function, and what may follow its name.

    `choices` returns the completions of what may follow.
    """

    summary: str
    run: Callable[[Chat, str], Awaitable[Reply]]
    takes: str = ""
    choices: Callable[[Chat], Sequence[str]] = lambda chat: ()
