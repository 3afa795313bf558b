"""Opens the chat in this terminal, and closes all that it used (CLI-05)."""

from __future__ import annotations

from collections.abc import Callable

from remit_governance.visible import visible
from remit_server.chat.replies import Chat
from remit_server.cli.chat.app import TerminalChat
from remit_server.cli.console import say, style_text
from remit_server.cli.main import STARTING
from remit_server.cli.new_ids import new_session
from remit_server.harness.ports import Asker
from remit_server.models.choose import is_built_in
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments


async def open_chat(read: Callable[[], Settings], session: str | None, asker: Asker | None = None) -> None:
    """Chats until the person leaves, in the session with this id, else in a new one. Raises RemitError."""
    settings = read()
    runtime = await open_runtime(settings, NoDocuments(), read_again=read)
    try:
        now = runtime.status()
        where = f" · sent to {now.sent_to}" if now.sent_to else ""
        here = visible(str(settings.workspace), "show")
        say(f"{style_text('Remit', 'bold')} · {visible(now.model, 'show')}{where} · {here}".ljust(len(STARTING)))
        if is_built_in(settings.config.model.name):
            say("The built-in model does small edits and searches by rules.")
            say("/model connects a language model.")
        say(style_text("/help lists what you can type. Your rules and your answers decide what is done.", "dim"))
        chat = TerminalChat(Chat(runtime, settings, session or new_session(), new_session), asker)
        if session is not None:
            await runtime.recall(session)
            await chat.show_session(session)
        await chat.run()
        say(style_text(f"`remit --resume {chat.chat.session}` continues this session", "dim"))
    finally:
        await runtime.close()
