"""What may be typed at the end of a line: commands behind a slash, files and the like behind `@` (CLI-09)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from remit_server.chat.commands import COMMANDS, complete_command
from remit_server.chat.lines import is_command
from remit_server.chat.replies import Chat

MOST = 50
SPECIAL = {
    "diagnostics": "what is wrong, as the editor shows it",
    "diff": "what is changed in git",
    "symbol:": "where a name is defined",
}
_WORD = re.compile(r"(?<!\S)@(\S*)$")


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposal: `text` takes the place of what stands from `start` on."""

    text: str
    start: int
    meaning: str = ""


def propose(chat: Chat, before: str) -> Sequence[Proposal]:
    """Returns what may stand at the end of `before`."""
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
    """Yields files and folders of the workspace whose path begins so; hidden ones only where a dot was typed."""
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
