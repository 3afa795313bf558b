"""Commands that run a line of a chat, for every LSP client (CLI-09). The lines mean the same as in a terminal."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.chat.lines import propose, read_line
from remit_server.chat.replies import Chat
from remit_server.contract import ChatProposal, ChatReply
from remit_server.runtime.settings import Settings
from remit_server.transports.lsp.buffers.edits import units
from remit_server.transports.lsp.commands.command_params import Asked, read_asked
from remit_server.transports.lsp.commands.command_turn import run_turn, show
from remit_server.transports.lsp.connection.connection import new_session_id
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection

KEYS = "text, session_id?, "
REMEMBERED = 100
"""The most chats of a connection that are kept, each with the model it switched to and its pinned files."""


async def read(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.chat.read [{text, session_id?, …}]`; the value is a ChatReply, whose `input` the client then runs."""
    asked = read_asked(connection, params, KEYS)
    return (await _read(connection, asked)).model_dump(mode="json")


async def complete(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.chat.complete [{text, session_id?, …}]`; the value lists the ChatProposals for the text's end."""
    asked = read_asked(connection, params, KEYS)
    text, chat = asked.need("text"), await _chat(connection, asked)
    found = await asyncio.to_thread(propose, chat, text)
    return [
        ChatProposal(text=each.text, start=units(text[: each.start]), meaning=each.meaning).model_dump(mode="json")
        for each in found
    ]


async def send(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.chat.send [{text, session_id?, …}]`: carries out the line, with a progress, and with questions and
    answers by message.

    The value has the `reply`, and the `result` of its turn if it ran one.
    """
    asked = read_asked(connection, params, KEYS)
    reply = await _read(connection, asked)
    if reply.text:
        show(connection, lsp.MessageType.Info, reply.text)
    result: Json = None
    if reply.input:
        ended = await run_turn(connection, params, reply.input, asked.about, reply.session_id, model=reply.model)
        result = ended.result.model_dump(mode="json")
    if asked.text("session_id") is None:
        connection.session = reply.session_id
    return {"reply": reply.model_dump(mode="json"), "result": result}


async def _read(connection: Connection, asked: Asked) -> ChatReply:
    chat = await _chat(connection, asked)
    before = chat.session
    line = await read_line(chat, asked.need("text"))
    if chat.session != before:
        # The line moved the chat to another session. Keep a chat of the former one, for commands that still name it.
        _remember(connection, replace(chat, session=before, pinned=[]))
    _remember(connection, chat)
    return ChatReply(
        session_id=chat.session,
        text=line.text,
        input=tuple(line.parts),
        model=chat.model,
        loads=line.shows is not None,
        clears=line.clears,
        leaves=line.leaves,
    )


async def _chat(connection: Connection, asked: Asked) -> Chat:
    """Returns the chat of the named session, or else of the connection's session, in its last state."""
    runtime = await connection.runtime(asked.about.folder)
    settings = Settings.of_places(connection.folders.named(asked.about.folder).root)
    session = asked.text("session_id") or connection.session
    known = connection.chats.get(session)
    if known is None or known.settings.workspace != settings.workspace:
        return Chat(runtime, settings, session, new_session_id)
    known.runtime = runtime
    return known


def _remember(connection: Connection, chat: Chat) -> None:
    connection.chats.pop(chat.session, None)
    connection.chats[chat.session] = chat
    for old in list(connection.chats)[:-REMEMBERED]:
        del connection.chats[old]
