"""Reads what is typed in a chat, for every transport: a command, a person's own call, or a message. Also completes it:
commands after a slash, files and the like after `@` (CLI-09).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from remit_server.chat.commands import COMMANDS, complete_command, run_command
from remit_server.chat.mentions import find_unknown, kind_of_path, read_message
from remit_server.chat.replies import Chat
from remit_server.contract import InputPart


@dataclass(frozen=True, slots=True)
class Line:
    """The result of one line: Markdown to show, and the parts of a request to run.

    `shows`, `clears` and `leaves` are those of a command's `Reply`.
    """

    text: str = ""
    parts: Sequence[InputPart] = ()
    shows: str | None = None
    clears: bool = False
    leaves: bool = False


def is_command(text: str) -> bool:
    """Returns whether a line is a command of the chat, which can run while a turn runs."""
    return text.startswith("/")


async def read_line(chat: Chat, text: str) -> Line:
    """Reads one line, and runs it if it is a command. Raises RemitError if it cannot be understood or done."""
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
    """Returns a notice for each mention that names no file or folder; such a mention is sent as plain text."""
    unknown = find_unknown(text, partial(kind_of_path, chat.settings.workspace))
    return "\n".join(f"Nothing was attached for `@{word}`: it names no file or folder here." for word in unknown)


MOST = 50
SPECIAL = {
    "diagnostics": "what is wrong, as the editor shows it",
    "diff": "what is changed in git",
    "symbol:": "where a name is defined",
}
_WORD = re.compile(r"(?<!\S)@(\S*)$")


@dataclass(frozen=True, slots=True)
class Proposal:
    """One completion: `text` replaces everything from the position `start` on."""

    text: str
    start: int
    meaning: str = ""


def propose(chat: Chat, before: str) -> Sequence[Proposal]:
    """Returns the completions at the end of `before`."""
    if is_command(before) and "\n" not in before:
        return list(_commands(chat, before))
    word = _WORD.search(before)
    if word is None:
        return ()
    found = [Proposal(each, word.start(1), SPECIAL[each]) for each in SPECIAL if word[1] and each.startswith(word[1])]
    return [*found, *(Proposal(path, word.start(1)) for path in files_like(chat.settings.workspace, word[1]))]


def _commands(chat: Chat, line: str) -> Iterator[Proposal]:
    name, space, words = line[1:].partition(" ")
    start = len(line) - len(words if space else name)
    for each in complete_command(chat, line)[:MOST]:
        row = None if space else COMMANDS.get(each)
        yield Proposal(each, start, row.summary if row is not None else "" if space else "your prompt")


def files_like(workspace: Path, begun: str) -> Iterator[str]:
    """Yields files and folders of the workspace whose path begins with `begun`; hidden ones only if a dot was typed."""
    folder, _, name = begun.rpartition("/")
    parts = Path(folder).parts
    if begun.startswith("/") or ".." in parts:
        return
    try:
        with os.scandir(workspace / folder) as entries:
            found = sorted(
                (f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name)
                for entry in entries
                if entry.name.startswith(name) and (name.startswith(".") or not entry.name.startswith("."))
            )
    except (OSError, ValueError):
        return
    for each in found[:MOST]:
        yield f"{folder}/{each}" if folder else each
