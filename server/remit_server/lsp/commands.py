"""The server's commands, for editors that know nothing of Remit: progress by work-done progress, questions by message,
the result as a message and as the command's value (protocol.md §3, Commands)."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, cast

from lsprotocol import types as lsp

from remit_server.contract import ContextPayload, Event, RunRequest, RunResult, TextInput
from remit_server.lsp.asking import MessageAsker
from remit_server.lsp.progress import progress_line, work_done
from remit_server.lsp.refusals import from_validation, invalid_params
from remit_server.lsp.types import Json
from remit_server.runtime.ports import Asker, NobodyToAsk

if TYPE_CHECKING:
    from remit_server.lsp.server import RemitServer

SESSION = "editor"
"""The session of commands that name none."""


async def ask(ls: RemitServer, params: lsp.ExecuteCommandParams) -> Json:
    """`remit.ask [text, {session_id?}]`."""
    text, options = _text_and(params, "[text, {session_id?}]")
    if not isinstance(options, dict | None):
        raise _wrong(params, "the second argument is no object", "[text, {session_id?}]")
    session = cast("dict[str, Json]", options or {}).get("session_id", SESSION)
    return await _turn(ls, params, text, session=session)


async def edit(ls: RemitServer, params: lsp.ExecuteCommandParams) -> Json:
    """`remit.edit [text, uri?]`: as `remit.ask`, with the document that the request is about."""
    text, uri = _text_and(params, "[text, uri?]")
    if not isinstance(uri, str | None):
        raise _wrong(params, "the second argument is no URI", "[text, uri?]")
    buffer = ls.documents.at(uri) if uri and ls.documents else None
    return await _turn(ls, params, text, document=buffer.relative if buffer else None)


async def rename(ls: RemitServer, params: lsp.ExecuteCommandParams) -> Json:
    """`remit.rename [{path, name, new_name}]`."""
    shape = "[{path, name, new_name}]"
    given = _object(params, shape)
    path, name, new_name = (given.get(key) for key in ("path", "name", "new_name"))
    if not isinstance(path, str) or not isinstance(name, str):
        raise _wrong(params, "`path` or `name` is missing", shape)
    if not isinstance(new_name, str) or not new_name.isidentifier():
        raise _wrong(params, "`new_name` is missing or no identifier: LSP has no way to ask for it", shape)
    return await _turn(ls, params, f"rename {name} to {new_name} in {path}", document=path)


async def cancel(ls: RemitServer, params: lsp.ExecuteCommandParams) -> Json:
    """`remit.cancel [{session_id?, turn_id?}]`: how many running turns were cancelled."""
    shape = "[{session_id?, turn_id?}]"
    given = _object(params, shape) if params.arguments else {}
    session, turn = given.get("session_id"), given.get("turn_id")
    if not isinstance(session, str | None) or not isinstance(turn, str | None):
        raise _wrong(params, "an id is no string", shape)
    runtime = ls.opened_runtime
    return {"cancelled": runtime.cancel(session, turn) if runtime else 0}


async def verify_audit(ls: RemitServer, params: lsp.ExecuteCommandParams) -> Json:
    """`remit.audit.verify`: whether the audit chain holds, in words."""
    del params
    ok, message = await (await ls.runtime()).verify_audit()
    _show(ls, lsp.MessageType.Info if ok else lsp.MessageType.Error, message)
    return {"ok": ok, "message": message}


async def _turn(
    ls: RemitServer,
    params: lsp.ExecuteCommandParams,
    text: str,
    *,
    session: Json = SESSION,
    document: str | None = None,
) -> Json:
    from pydantic import ValidationError

    try:
        request = RunRequest(
            session_id=session,
            turn_id=str(uuid.uuid4()),
            input=TextInput(text=text),
            context=ContextPayload(open_document=document) if document else None,
        )
    except ValidationError as error:
        raise from_validation(params.command, error) from error
    runtime = await ls.runtime()

    def stop() -> int:
        return runtime.cancel(request.session_id, request.turn_id)

    async with work_done(ls, "Remit", params.work_done_token, stop) as report:

        def emit(event: Event) -> None:
            line = progress_line(event)
            if line is not None:
                report(line)

        result = await runtime.run(request, emit, _asker(ls))
    _show_result(ls, result)
    return result.model_dump(mode="json")


def _asker(ls: RemitServer) -> Asker:
    """A command has no stream: even a client that reads streams is asked by message."""
    return NobodyToAsk() if ls.client.asking == "never" else MessageAsker(ls)


def _show_result(ls: RemitServer, result: RunResult) -> None:
    if result.error is not None:
        _show(ls, lsp.MessageType.Error, f"{result.error.what}: {result.error.why} ({result.error.fix})")
    else:
        done = result.status == "completed"
        kind = lsp.MessageType.Info if done else lsp.MessageType.Warning
        _show(ls, kind, result.final_output or f"the turn ended: {result.status}")


def _show(ls: RemitServer, kind: lsp.MessageType, message: str) -> None:
    if not ls.client.draws_results:
        ls.window_show_message(lsp.ShowMessageParams(type=kind, message=message))


def _text_and(params: lsp.ExecuteCommandParams, shape: str) -> tuple[str, Json]:
    match params.arguments:
        case [str() as text, *rest] if text.strip() and len(rest) <= 1:
            return text, rest[0] if rest else None
        case _:
            raise _wrong(params, "the arguments have the wrong shape", shape)


def _object(params: lsp.ExecuteCommandParams, shape: str) -> dict[str, Json]:
    match params.arguments:
        case [dict()]:
            return cast("dict[str, Json]", params.arguments[0])
        case _:
            raise _wrong(params, "the arguments have the wrong shape", shape)


def _wrong(params: lsp.ExecuteCommandParams, why: str, shape: str) -> Exception:
    return invalid_params(params.command, why, f"send arguments like `{shape}`")
