"""Commands for sessions, for every LSP client (SES-04, SES-05). They return JSON, and rerun nothing of a session."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_governance.values import Intent
from remit_server.contract import CallInput, SessionSummary
from remit_server.machine.wall_clock import timestamp, utc_now
from remit_server.sessions.export import to_html, to_markdown
from remit_server.sessions.folder import LAST, SessionFolder
from remit_server.sessions.messages import search
from remit_server.sessions.statistics import count
from remit_server.tools.edit.undo_changes import UNDO_CHANGES
from remit_server.transports.lsp.commands.command_params import Asked, read_asked, wrong_arguments
from remit_server.transports.lsp.commands.command_turn import run_turn
from remit_server.transports.lsp.connection.connection import new_session_id
from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.workspace.history import Direction

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection

MOST_HITS = 200
FORMATS = {"md": to_markdown, "html": to_html}


async def _folder(connection: Connection, asked: Asked) -> SessionFolder:
    return (await connection.runtime(asked.about.folder)).sessions


async def _found(connection: Connection, asked: Asked) -> tuple[SessionFolder, SessionSummary]:
    folder, wanted = await _folder(connection, asked), asked.text("session") or LAST
    return folder, await asyncio.to_thread(folder.find, wanted)


async def new(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.session.new []`: commands that name no session use a new one from now on."""
    read_asked(connection, params)
    connection.session = new_session_id()
    return {"session_id": connection.session}


async def list_all(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.session.list [{workspace_folder?, uri?}]`; the value is a list of SessionSummary."""
    folder = await _folder(connection, read_asked(connection, params))
    return [each.model_dump(mode="json") for each in await asyncio.to_thread(folder.list)]


async def load(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.session.load [{session?, …}]`: commands that name no session continue this one from now on.

    The value has the session's `summary` and `records`.
    """
    folder, session = await _found(connection, read_asked(connection, params, "session?, "))
    records = await asyncio.to_thread(folder.replayed, session)
    connection.session = session.session_id
    return {
        "summary": session.model_dump(mode="json"),
        "records": [each.model_dump(mode="json") for each in records],
    }


async def rename(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.session.rename [{session?, name, …}]`; the value is the session's SessionSummary."""
    asked = read_asked(connection, params, "session?, name, ")
    name = asked.need("name")
    folder, session = await _found(connection, asked)
    await asyncio.to_thread(folder.rename, session, name, timestamp(utc_now()))
    return (await asyncio.to_thread(folder.find, session.session_id)).model_dump(mode="json")


async def fork(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.session.fork [{session?, message?, name?, …}]`; the value is the SessionSummary of the copy."""
    asked = read_asked(connection, params, "session?, message?, name?, ")
    name, upto = asked.text("name"), asked.number("message")
    folder, session = await _found(connection, asked)
    new_id = new_session_id()
    await asyncio.to_thread(folder.fork, session, new_id, timestamp(utc_now()), upto, name)
    return (await asyncio.to_thread(folder.find, new_id)).model_dump(mode="json")


async def delete(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.session.delete [{session, …}]`."""
    asked = read_asked(connection, params, "session, ")
    asked.need("session")
    folder, session = await _found(connection, asked)
    await asyncio.to_thread(folder.delete, session)
    return {"session_id": session.session_id}


async def export(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.session.export [{session?, format?, …}]`; the value has the `text`, Markdown (`md`) or `html`."""
    asked = read_asked(connection, params, "session?, format?, ")
    kind = asked.text("format") or "md"
    if kind not in FORMATS:
        raise wrong_arguments(params, f"`format` is one of {', '.join(FORMATS)}", asked.shape)
    folder, session = await _found(connection, asked)
    return {"text": await asyncio.to_thread(lambda: FORMATS[kind](folder.read(session)))}


async def look(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.session.search [{words, …}]`; the value is a list of places, 200 at most."""
    asked = read_asked(connection, params, "words, ")
    words = asked.need("words")
    folder = await _folder(connection, asked)

    def find() -> list[dict[str, Json]]:
        hits = (
            {"session_id": session.session_id, **asdict(hit)}
            for session in folder.list()
            for hit in search(folder.read(session), words)
        )
        return list(islice(hits, MOST_HITS))

    return await asyncio.to_thread(find) if words.strip() else []


async def stats(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.session.stats [{session?, …}]`; the value is SessionStatistics."""
    folder, session = await _found(connection, read_asked(connection, params, "session?, "))
    return (await asyncio.to_thread(lambda: count(folder.read(session)))).model_dump(mode="json")


async def undo(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.undo [{session?, turn?, paths?, …}]`: takes back what a turn changed."""
    return await _take_back(connection, params, "undo")


async def redo(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.redo [{session?, turn?, paths?, …}]`: takes an undo back."""
    return await _take_back(connection, params, "redo")


async def _take_back(connection: Connection, params: lsp.ExecuteCommandParams, direction: Direction) -> Json:
    asked = read_asked(connection, params, "session?, turn?, paths?, ")
    what: dict[str, Json] = {"direction": direction}
    what |= {key: asked.given[key] for key in ("turn", "paths") if asked.given.get(key) is not None}
    _, session = await _found(connection, asked)
    call = CallInput(tool=UNDO_CHANGES.name, arguments=what, intent=Intent.CODE)
    ended = await run_turn(connection, params, call, asked.about, session.session_id)
    told = ended.last
    data = {} if told is None or not told.ok else told.data
    return {
        "status": ended.result.status,
        "message": ended.result.reason or ("" if told is None else told.output),
        "changed": data.get("changed", []),
        "left": data.get("left", []),
    }
