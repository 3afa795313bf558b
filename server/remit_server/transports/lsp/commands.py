"""The server's commands, for editors that do not know Remit: work-done progress, questions by message, the result as a
message and as the command's value (LSP-05).
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lsprotocol import types as lsp

from remit_server.contract import ContextPayload, Event, RunRequest, RunResult, TextInput
from remit_server.runtime.ports import Asker, NobodyToAsk
from remit_server.transports.lsp.buffers.policy_files import settings_here
from remit_server.transports.lsp.client_requests.approval_messages import MessageAsker
from remit_server.transports.lsp.client_requests.progress import progress_line, work_done
from remit_server.transports.lsp.command_output import ProgramRuns
from remit_server.transports.lsp.rpc.custom_methods import Json
from remit_server.transports.lsp.rpc.refusals import from_validation, invalid_params

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection import Connection
    from remit_server.transports.lsp.folders import FolderDocument

SESSION = "editor"
"""The session of commands that name none."""


async def ask(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.ask [text, {session_id?, workspace_folder?, uri?}]`: `uri` is a document of the folder."""
    shape = "[text, {session_id?, workspace_folder?, uri?}]"
    text, options = _text_and(params, shape)
    given = _check_options({} if options is None else options, params, shape)
    return await _turn(
        connection, params, text, _find_place(connection, given, params, shape), given.get("session_id", SESSION)
    )


async def edit(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.edit [text, uri?]`: as `remit.ask`, with the document that the request is about."""
    text, uri = _text_and(params, "[text, uri?]")
    if not isinstance(uri, str | None):
        raise _wrong(params, "the second argument is not a URI", "[text, uri?]")
    document = connection.document(uri) if uri else None
    return await _turn(connection, params, text, About.of(document))


async def rename(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.rename [{path, name, new_name, workspace_folder?, uri?}]`."""
    shape = "[{path, name, new_name, workspace_folder?, uri?}]"
    given = _object(params, shape)
    path, name, new_name = (given.get(key) for key in ("path", "name", "new_name"))
    if not isinstance(path, str) or not isinstance(name, str):
        raise _wrong(params, "`path` or `name` is missing", shape)
    if not isinstance(new_name, str) or not new_name.isidentifier():
        raise _wrong(params, "`new_name` is missing or not an identifier: LSP has no way to ask for it", shape)
    about = About(path, _find_place(connection, given, params, shape).folder)
    return await _turn(connection, params, f"rename {name} to {new_name} in {path}", about)


async def cancel(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.cancel [{session_id?, turn_id?}]`. Returns the number of cancelled turns."""
    shape = "[{session_id?, turn_id?}]"
    given = _object(params, shape) if params.arguments else {}
    session, turn = given.get("session_id"), given.get("turn_id")
    if not isinstance(session, str | None) or not isinstance(turn, str | None):
        raise _wrong(params, "an id is not a string", shape)
    return {"cancelled": sum(runtime.cancel(session, turn) for runtime in connection.opened_runtimes)}


async def verify_audit(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.audit.verify [{workspace_folder?, uri?}]`. Returns whether a folder's audit chain is intact, in
    words.

    Without a folder the chains of all folders are verified.
    """
    shape = "[{workspace_folder?, uri?}]"
    given = _object(params, shape) if params.arguments else {}
    folder = _find_place(connection, given, params, shape).folder
    roots = [str(each.root) for each in connection.folders] if folder is None else [folder]
    if not roots:
        raise connection.folders.none_open()
    found = {root: await (await connection.runtime(root)).verify_audit() for root in roots}
    ok = all(holds for holds, _ in found.values())
    message = "\n".join(f"{root}: {said}" if len(found) > 1 else said for root, (_, said) in found.items())
    _show(connection, lsp.MessageType.Info if ok else lsp.MessageType.Error, message)
    return {"ok": ok, "message": message}


@dataclass(frozen=True, slots=True)
class About:
    """The subject of a command: the open document, and its workspace folder's root, where they are known."""

    document: str | None = None
    folder: str | None = None

    @classmethod
    def of(cls, document: FolderDocument | None) -> About:
        """Returns the subject for a document."""
        return cls() if document is None else cls(document.path, str(document.folder.root))


def _find_place(connection: Connection, given: dict[str, Json], params: lsp.ExecuteCommandParams, shape: str) -> About:
    """Returns the named folder, or the named file's. A file elsewhere has none."""
    folder, uri = given.get("workspace_folder"), given.get("uri")
    if not isinstance(folder, str | None) or not isinstance(uri, str | None):
        raise _wrong(params, "`workspace_folder` or `uri` is not a string", shape)
    if folder is not None or uri is None:
        return About(folder=None if folder is None else str(connection.folders.named(folder).root))
    document = connection.document(uri)
    around = connection.folders.around(uri) if document is None else None
    return About.of(document) if around is None else About(folder=str(around.root))


async def _turn(
    connection: Connection,
    params: lsp.ExecuteCommandParams,
    text: str,
    about: About,
    session: Json = SESSION,
) -> Json:
    from pydantic import ValidationError

    try:
        request = RunRequest(
            session_id=session,
            turn_id=str(uuid.uuid4()),
            input=TextInput(text=text),
            context=ContextPayload(open_document=about.document, workspace_folder=about.folder),
        )
    except ValidationError as error:
        raise from_validation(params.command, error) from error
    runtime = await connection.runtime(about.folder)
    programs = ProgramRuns()

    def stop() -> int:
        return runtime.cancel(request.session_id, request.turn_id)

    async with work_done(connection, "Remit", params.work_done_token, stop) as report:

        def emit(event: Event) -> None:
            programs.take(event)
            line = progress_line(event)
            if line is not None:
                report(line)

        result = await runtime.run(request, emit, _choose_asker(connection))
    _show_result(connection, result, programs)
    return result.model_dump(mode="json")


def _choose_asker(connection: Connection) -> Asker:
    """Returns the asker of a command, which has no stream: even a client that reads streams is asked by message."""
    return NobodyToAsk() if connection.client.asking == "never" else MessageAsker(connection)


def _show_result(connection: Connection, result: RunResult, programs: ProgramRuns) -> None:
    if connection.client.draws_results:
        return
    settings = settings_here(connection.folders.first_root)
    printed = programs.report(settings.state if settings else None)
    if result.error is not None:
        kind = lsp.MessageType.Error
        said = f"{result.error.what}: {result.error.why} ({result.error.fix})"
    else:
        plain = result.status == "completed" and result.reason is None and not programs.failed
        kind = lsp.MessageType.Info if plain else lsp.MessageType.Warning
        said = describe_ending(result)
    _show(connection, kind, "\n".join(filter(None, [said, printed])))


def describe_ending(result: RunResult) -> str:
    """Returns a turn's result as one message: its answer, and the ending where something was not done."""
    text = result.final_output or f"the turn ended: {result.status}"
    if result.reason is None:
        return text
    how = "not all was done" if result.status == "completed" else result.status
    return f"{text} ({how}: {result.reason})"


def _show(connection: Connection, kind: lsp.MessageType, message: str) -> None:
    if not connection.client.draws_results:
        connection.show(kind, message)


def _text_and(params: lsp.ExecuteCommandParams, shape: str) -> tuple[str, Json]:
    match params.arguments:
        case [str() as text, *rest] if text.strip() and len(rest) <= 1:
            return text, rest[0] if rest else None
        case _:
            raise _wrong(params, "the arguments have the wrong shape", shape)


def _object(params: lsp.ExecuteCommandParams, shape: str) -> dict[str, Json]:
    match params.arguments:
        case [dict()]:
            return _check_options(params.arguments[0], params, shape)
        case _:
            raise _wrong(params, "the arguments have the wrong shape", shape)


def _check_options(given: Json, params: lsp.ExecuteCommandParams, shape: str) -> dict[str, Json]:
    """Returns the options where all of them are keys of `shape`. Raises the error for invalid params."""
    if not isinstance(given, dict):
        raise _wrong(params, "the options are not an object", shape)
    options = cast("dict[str, Json]", given)
    known = re.findall(r"\w+", shape)
    if unknown := [key for key in options if key not in known]:
        raise _wrong(params, f"`{unknown[0][:100]}` is not known", shape)
    return options


def _wrong(params: lsp.ExecuteCommandParams, why: str, shape: str) -> Exception:
    return invalid_params(params.command, why, f"send arguments like `{shape}`")
