"""The prompt line of the chat: its keys, what Tab completes, what was typed before, what is printed above it (CLI-05).

Tab completes commands behind a slash, and names of files behind `@`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.cpr import load_cpr_bindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.patch_stdout import StdoutProxy

from remit_server.chat.lines import propose
from remit_server.chat.replies import Chat

if TYPE_CHECKING:
    from remit_server.cli.chat.app import TerminalChat

LONG_PASTE = 10
"""Lines from which on a paste is shown as one word; it is sent whole."""


def bind_keys(chat: TerminalChat) -> KeyBindings:
    """Returns the bindings: Enter sends, Alt-Enter begins a line, Ctrl-C stops, keys answer while a question waits."""
    bindings = KeyBindings()
    asking = Condition(lambda: chat.asking)

    @bindings.add("enter", filter=~asking)
    @bindings.add("c-j", filter=~asking)  # what Enter sends if it was typed before the prompt was there
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if chat.telling:  # it is no message, so keep it out of the history
            event.app.exit(result=buffer.text)
            buffer.reset()
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter", filter=~asking)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @bindings.add("c-c", eager=True)  # also while a question takes all other keys
    def _(event: KeyPressEvent) -> None:
        if chat.interrupt(bool(event.current_buffer.text)):
            event.current_buffer.reset()

    @bindings.add(Keys.BracketedPaste, filter=~asking)
    def _(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        long = text.count("\n") >= LONG_PASTE
        event.current_buffer.insert_text(chat.keep_paste(text) if long else text)

    @bindings.add(Keys.Any, filter=asking, eager=True)
    @bindings.add("enter", filter=asking, eager=True)
    @bindings.add(Keys.BracketedPaste, filter=asking, eager=True)
    def _(event: KeyPressEvent) -> None:
        chat.press(event.data if event.data == "N" else event.data.lower() if len(event.data) == 1 else "")

    # Let the terminal's report of its cursor through, which is no key: without it nothing is printed for a second.
    (cursor_position,) = load_cpr_bindings().bindings
    bindings.add(Keys.CPRResponse, filter=asking, eager=True)(cursor_position)

    @bindings.add("escape", filter=asking, eager=True)
    def _(event: KeyPressEvent) -> None:
        del event
        chat.press("escape")

    return bindings


class ChatCompleter(Completer):
    """Completes the word at the cursor."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yields the completions of the word."""
        del complete_event
        before = document.text_before_cursor
        for each in propose(self._chat, before):
            yield Completion(each.text, start_position=each.start - len(before), display_meta=each.meaning)


def typed_before(state: Path) -> History:
    """Returns the history of what was typed in this workspace; only its owner can read it."""
    file = state / "chat-history"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


@contextlib.contextmanager
def printed_above() -> Generator[None]:
    """Makes what is printed in the block go above the prompt line, at once."""
    before = sys.stdout
    with StdoutProxy(sleep_between_writes=0.02, raw=True) as proxy:
        sys.stdout = cast("TextIO", proxy)
        try:
            yield
        finally:
            sys.stdout = before
