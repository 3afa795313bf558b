"""The server's commands, for editors that do not know Remit (LSP-05): ask, edit, rename, cancel, verify the audit log,
and the tasks for a piece of code, which are fix, explain, refactor, document and write tests (LSP-10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.contract import (
    MOST_SELECTED,
    DiagnosticsAttachment,
    Position,
    Selection,
    SelectionAttachment,
    TextInput,
)
from remit_server.transports.lsp.buffers.edits import split_lines
from remit_server.transports.lsp.commands.command_params import (
    LINES_COUNT,
    About,
    Asked,
    check_options,
    find_place,
    one_object,
    read_asked,
    text_and,
    wrong_arguments,
)
from remit_server.transports.lsp.commands.command_turn import run_turn, show
from remit_server.transports.lsp.commands.tasks import TASKS, describe_task, lines_of, problem_at
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection
    from remit_server.transports.lsp.connection.folders import FolderDocument


EDIT_SHAPE = "[text, {uri, first_line?, last_line?, session_id?}]"
"""The object may also be a URI, or be left out."""


async def ask(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.ask [text, {session_id?, workspace_folder?, uri?}]`: `uri` is a document in the folder."""
    shape = "[text, {session_id?, workspace_folder?, uri?}]"
    text, options = text_and(params, shape)
    given = check_options({} if options is None else options, params, shape)
    place = find_place(connection, given, params, shape)
    return await _asked(connection, params, text, place, given.get("session_id"))


async def edit(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.edit [text, uri | {uri, first_line?, last_line?, session_id?}]`: like `remit.ask`, for a request
    about a document or some of its lines, which are attached as a selection (LSP-13).
    """
    text, about = text_and(params, EDIT_SHAPE)
    if isinstance(about, str | None):
        document = connection.document(about) if about else None
        return await _asked(connection, params, text, About.of(document))
    given = check_options(about, params, EDIT_SHAPE)
    asked = Asked(params, EDIT_SHAPE, given, About())
    document = connection.document(asked.need("uri"))
    if document is None:
        raise wrong_arguments(params, "`uri` names no open document of a workspace folder", EDIT_SHAPE)
    attached = [selection] if (selection := select_lines(asked, document)) is not None else []
    part = TextInput(text=text, attachments=tuple(attached))
    ended = await run_turn(connection, params, part, About.of(document), asked.text("session_id"))
    return ended.result.model_dump(mode="json")


def select_lines(asked: Asked, document: FolderDocument) -> SelectionAttachment | None:
    """Returns the named lines of a document, or None if none are named. Raises the error for invalid params."""
    first, last = asked.number("first_line"), asked.number("last_line")
    if first is None:
        return None
    last = first if last is None else last
    if not 1 <= first <= last:
        raise wrong_arguments(asked.params, LINES_COUNT, asked.shape)
    text = "".join(split_lines(document.text)[first - 1 : last])
    if len(text) > MOST_SELECTED:
        why = f"the lines have {len(text)} characters, and {MOST_SELECTED} can be selected"
        raise wrong_arguments(asked.params, why, asked.shape)
    range_ = Selection(start=Position(line=first - 1, character=0), end=Position(line=last - 1, character=0))
    return SelectionAttachment(path=document.path, range=range_, text=text)


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
    """Runs `remit.audit.verify [{workspace_folder?, uri?}]`. Returns whether the folder's audit chain is intact, and a
    message about it.

    Without a folder, the chains of all folders are verified.
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


KEYS = "first_line?, last_line?, problem?, session_id?, "


async def run_task(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.fix [{uri, first_line?, last_line?, problem?, session_id?}]`, or another task, and returns the
    RunResult.

    Lines count from 1; without lines, the task is about the whole file. With `problem`, and always for `remit.fix`, the
    task is about the diagnostics that the editor shows there, which are attached as data.
    """
    asked = read_asked(connection, params, KEYS)
    path, problem = _document_of(asked), asked.flag("problem") or params.command == "remit.fix"
    text = describe_task(TASKS[params.command], _piece(asked, path, problem=problem))
    part = TextInput(text=text, attachments=(DiagnosticsAttachment(path=path),) if problem else ())
    ended = await run_turn(connection, params, part, asked.about, asked.text("session_id"))
    return ended.result.model_dump(mode="json")


def _document_of(asked: Asked) -> str:
    if asked.about.document is None:
        raise wrong_arguments(asked.params, "`uri` names no open document of a workspace folder", asked.shape)
    return asked.about.document


def _piece(asked: Asked, path: str, *, problem: bool) -> str:
    first, last = asked.number("first_line"), asked.number("last_line")
    if first is None:
        return f"what the editor shows in {path}" if problem else path
    last = first if last is None else last
    if not 1 <= first <= last:
        raise wrong_arguments(asked.params, LINES_COUNT, asked.shape)
    return (problem_at if problem else lines_of)(path, first, last)
