"""What Tab completes: commands behind a slash, names of files behind `@`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from remit_server.chat.commands import COMMANDS, complete_command
from remit_server.chat.replies import Chat

MOST = 50
SPECIAL = ("diagnostics", "diff", "symbol:")


class ChatCompleter(Completer):
    """Completes the word at the cursor."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yields what the word may become."""
        del complete_event
        before = document.text_before_cursor
        if before.startswith("/") and "\n" not in before:
            yield from self._commands(before)
            return
        word = document.get_word_before_cursor(WORD=True)
        if word.startswith("@"):
            for path in (*_special(word[1:]), *files_like(self._chat.settings.workspace, word[1:])):
                yield Completion(path, start_position=1 - len(word))

    def _commands(self, line: str) -> Iterator[Completion]:
        typed = line[1:].partition(" ")
        start = -len(typed[2]) if typed[1] else -len(typed[0])
        for each in complete_command(self._chat, line):
            row = COMMANDS.get(each)
            yield Completion(each, start_position=start, display_meta=row.summary if row and not typed[1] else "")


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
    except OSError:
        return
    for each in found[:MOST]:
        yield f"{folder}/{each}" if folder else each


def _special(begun: str) -> list[str]:
    return [each for each in SPECIAL if begun and each.startswith(begun)]
