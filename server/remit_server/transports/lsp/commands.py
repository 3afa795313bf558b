"""The server's commands, for editors that do not know Remit (LSP-05)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.contract import TextInput
from remit_server.transports.lsp.command_params import (
    About,
    check_options,
    find_place,
    one_object,
    text_and,
    wrong_arguments,
)
from remit_server.transports.lsp.command_turn import run_turn, show
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection


async def ask(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.ask [text, {session_id?, workspace_folder?, uri?}]`: `uri` is a document of the folder."""
    shape = "[text, {session_id?, workspace_folder?, uri?}]"
    text, options = text_and(params, shape)
    given = check_options({} if options is None else options, params, shape)
    place = find_place(connection, given, params, shape)
    return await _asked(connection, params, text, place, given.get("session_id"))


async def edit(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.edit [text, uri?]`: as `remit.ask`, with the document that the request is about."""
    text, uri = text_and(params, "[text, uri?]")
    if not isinstance(uri, str | None):
        raise wrong_arguments(params, "the second argument is not a URI", "[text, uri?]")
    document = connection.document(uri) if uri else None
    return await _asked(connection, params, text, About.of(document))


async def rename(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.rename [{path, name, new_name, workspace_folder?, uri?}]`."""
    shape = "[{path, name, new_name, workspace_folder?, uri?}]"
    given = one_object(params, shape)
    path, name, new_name = (given.get(key) for key in ("path", "name", "new_name"))
    if not isinstance(path, str) or not isinstance(name, str):
        raise wrong_arguments(params, "`path` or `name` is missing", shape)
    if not isinstance(new_name, str) or not new_name.isidentifier():
        raise wrong_arguments(params, "`new_name` is missing or not an identifier: LSP has no way to ask for it", shape)
    about = About(path, find_place(connection, given, params, shape).folder)
    return await _asked(connection, params, f"rename {name} to {new_name} in {path}", about)


async def cancel(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.cancel [{session_id?, turn_id?}]`. Returns the number of cancelled turns."""
    shape = "[{session_id?, turn_id?}]"
    given = one_object(params, shape) if params.arguments else {}
    session, turn = given.get("session_id"), given.get("turn_id")
    if not isinstance(session, str | None) or not isinstance(turn, str | None):
        raise wrong_arguments(params, "an id is not a string", shape)
    return {"cancelled": sum(runtime.cancel(session, turn) for runtime in connection.opened_runtimes)}


async def verify_audit(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.audit.verify [{workspace_folder?, uri?}]`. Returns whether a folder's audit chain is intact, in
    words.

    Without a folder the chains of all folders are verified.
    """
    shape = "[{workspace_folder?, uri?}]"
    given = one_object(params, shape) if params.arguments else {}
    folder = find_place(connection, given, params, shape).folder
    roots = [str(each.root) for each in connection.folders] if folder is None else [folder]
    if not roots:
        raise connection.folders.none_open()
    found = {root: await (await connection.runtime(root)).verify_audit() for root in roots}
    ok = all(holds for holds, _ in found.values())
    message = "\n".join(f"{root}: {said}" if len(found) > 1 else said for root, (_, said) in found.items())
    show(connection, lsp.MessageType.Info if ok else lsp.MessageType.Error, message)
    return {"ok": ok, "message": message}


async def _asked(
    connection: Connection, params: lsp.ExecuteCommandParams, text: str, about: About, session: Json = None
) -> Json:
    ended = await run_turn(connection, params, TextInput(text=text), about, session)
    return ended.result.model_dump(mode="json")
