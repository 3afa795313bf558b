"""What is typed in a chat, read in one place for every transport: a command, a person's own call, or a message
(CLI-09)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from remit_server.chat.commands import run_command
from remit_server.chat.mentions import find_unknown, kind_of_path, read_message
from remit_server.chat.replies import Chat
from remit_server.contract import InputPart


@dataclass(frozen=True, slots=True)
class Line:
    """What one line came to: Markdown to show, and what to run.

    `shows`, `clears` and `leaves` are those of a command's Reply.
    """

    text: str = ""
    parts: Sequence[InputPart] = ()
    shows: str | None = None
    clears: bool = False
    leaves: bool = False


def is_command(text: str) -> bool:
    """Returns whether a line is a command of the chat, which needs no turn to have ended."""
    return text.startswith("/")


async def read_line(chat: Chat, text: str) -> Line:
    """Reads one line. Raises RemitError where it cannot be followed."""
    if not is_command(text):
        text = text.strip()
        return Line(_tell_unknown(chat, text), _message(chat, text))
    reply = await run_command(chat, text.strip())
    parts: list[InputPart] = [] if reply.call is None else [reply.call]
    if reply.message is not None:
        parts += _message(chat, reply.message, typed=False)
    return Line(reply.text, parts, reply.shows, reply.clears, reply.leaves)


def _message(chat: Chat, text: str, *, typed: bool = True) -> Sequence[InputPart]:
    parts = read_message(text, partial(kind_of_path, chat.settings.workspace), chat.pinned, typed=typed)
    chat.pinned.clear()
    return parts


def _tell_unknown(chat: Chat, text: str) -> str:
    """Says which mentions name no file here; they are sent as words."""
    unknown = find_unknown(text, partial(kind_of_path, chat.settings.workspace))
    return "\n".join(f"Nothing was attached for `@{word}`: it names no file or folder here." for word in unknown)
