"""What is typed in a chat, read in one place for every transport: a command, a person's own call, or a message
(CLI-09)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from remit_server.chat.commands import run_command
from remit_server.chat.mentions import read_message
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
        return Line(parts=_message(chat, text.strip()))
    reply = await run_command(chat, text.strip())
    parts: list[InputPart] = [] if reply.call is None else [reply.call]
    if reply.message is not None:
        parts += _message(chat, reply.message)
    return Line(reply.text, parts, reply.shows, reply.clears, reply.leaves)


def _message(chat: Chat, text: str) -> Sequence[InputPart]:
    parts = read_message(text, lambda path: _kind_of(chat.settings.workspace, path), chat.pinned)
    chat.pinned.clear()
    return parts


def _kind_of(workspace: Path, path: str) -> str | None:
    if path.startswith("/") or ".." in Path(path).parts:
        return None
    there = workspace / path
    with contextlib.suppress(OSError, ValueError):
        return "file" if there.is_file() else "folder" if there.is_dir() else None
    return None
