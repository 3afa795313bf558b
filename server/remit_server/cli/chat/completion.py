"""What Tab completes: commands behind a slash, names of files behind `@` (CLI-05)."""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from remit_server.chat.proposals import propose
from remit_server.chat.replies import Chat


class ChatCompleter(Completer):
    """Completes the word at the cursor."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yields what the word may become."""
        del complete_event
        before = document.text_before_cursor
        for each in propose(self._chat, before):
            yield Completion(each.text, start_position=each.start - len(before), display_meta=each.meaning)
